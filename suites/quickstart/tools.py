"""Tools of the quickstart suite: plain functions; what they raise is what the model reads."""

import ast
import operator

PRICES = {"desk": 180, "chair": 75, "lamp": 42}
TERMS = {
    "C-17": "C-17: desks 10 % off; VAT 8 % on the sum",
    "C-71": "C-71: nothing off; VAT 20 % on the sum",
}
OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}


def terms(customer: str) -> str:
    """Tell what a customer has been promised."""
    if customer not in TERMS:
        raise ValueError(f"no customer {customer!r}; there are: {', '.join(TERMS)}")
    return TERMS[customer]


def price(item: str) -> str:
    """Tell what one piece of an item costs, in euros."""
    if item not in PRICES:
        raise ValueError(f"no item {item!r}; there are: {', '.join(PRICES)}")
    return f"one {item} costs {PRICES[item]} EUR"


def calculate(expression: str) -> str:
    """Work out a sum of numbers with + - * / and brackets."""
    try:
        value = _value(ast.parse(expression, mode="eval").body)
    except (SyntaxError, TypeError, ZeroDivisionError, RecursionError, OverflowError) as error:
        raise ValueError(f"expression {expression!r}: {error}") from None
    return f"{expression} = {round(value, 2)}"


def _value(node):
    """Evaluate a node of numbers and operators; anything else is refused."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.operand))
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_value(node.left), _value(node.right))
    raise TypeError("only numbers, + - * / and brackets")
