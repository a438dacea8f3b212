"""Tools of the quickstart suite: plain functions. Their docstrings, types and errors are what the model reads."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

PRICES = {"desk": 180, "chair": 75, "lamp": 42}
TERMS = {
    "C-17": "C-17: desks 10 % off; VAT 8 % on the sum",
    "C-71": "C-71: nothing off; VAT 20 % on the sum",
}
BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
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
    """Work out a sum of numbers with + - * / and brackets, such as (2 + 3) * 1.5."""
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ArithmeticError, RecursionError, MemoryError) as error:
        raise ValueError(f"expression {expression!r} cannot be worked out: {error}") from None
    return f"{expression} = {round(value, 2)}"


def _value(node: ast.expr) -> float:
    """Evaluate a node of numbers and operators; anything else is refused."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return float(str(node.value))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
        return float(BINARY[type(node.op)](_value(node.left), _value(node.right)))
    raise ValueError("only numbers, + - * / and brackets")
