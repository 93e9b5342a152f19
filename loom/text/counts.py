"""Numbers with their nouns, in replies."""

MOST_COUNTED = 1000  # texts below one that are counted; of more it is only said that they are


def at_most(number: int) -> str:
    """`12`; `1000+` if there are more than are counted."""
    return f"{MOST_COUNTED}+" if number > MOST_COUNTED else str(number)


def folded(number: int) -> str:
    """`[12+]`: so many texts of an outline are not shown, or more if there are MOST_COUNTED."""
    return f"[{min(number, MOST_COUNTED)}+]"


def counted(number: int, thing: str, things: str = "", *, most: int | None = None) -> str:
    """`1 continuation`, `3 continuations`, `more than 1,000 continuations`: they were counted up to
    `most`."""
    if most is not None and number > most:
        return f"more than {most:,} {things or thing + 's'}"
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
