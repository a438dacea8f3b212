"""Tools of the structured-output suite: a shop's stock and its suppliers."""

from __future__ import annotations

STOCK = {
    "kettle": (14, 39.5, "V-21"),
    "toaster": (6, 54.0, "V-33"),
    "mixer": (22, 89.0, "V-21"),
    "scale": (9, 24.5, "V-48"),
    "grinder": (3, 119.0, "V-33"),
    "press": (17, 31.0, "V-48"),
}
SUPPLIERS = {"V-21": ("Halden", 5), "V-33": ("Ostrava", 12), "V-48": ("Leiria", 8)}


def stock(item: str) -> str:
    """Tell how many of an item there are, what one costs, and the number of its supplier."""
    if item not in STOCK:
        raise ValueError(f"no item {item!r}; there are: {', '.join(STOCK)}")
    count, price, supplier = STOCK[item]
    return f"{item}: {count} pieces at {price} EUR, supplier {supplier}"


def supplier(number: str) -> str:
    """Tell where a supplier is and how many days a delivery takes."""
    if number not in SUPPLIERS:
        raise ValueError(f"no supplier {number!r}; there are: {', '.join(SUPPLIERS)}")
    town, days = SUPPLIERS[number]
    return f"{number}: {town}, {days} days"
