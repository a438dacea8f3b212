"""What the agent may look up."""

SHELVES = {"tea": "shelf 4, 17 tins", "rice": "shelf 2, 9 bags", "salt": "shelf 7, 30 packs"}


def shelf(item: str) -> str:
    """Tell on which shelf an item lies, and how much of it there is."""
    if item not in SHELVES:
        raise ValueError(f"there is no {item!r}; there are: {', '.join(SHELVES)}")
    return SHELVES[item]
