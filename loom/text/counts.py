"""Numbers with their nouns, in replies."""

MOST_COUNTED = 1000  # texts below one that are counted; of more it is only said that they are


def counted(number: int, thing: str, things: str = "", *, most: int | None = None) -> str:
    """`1 continuation`, `3 continuations`, `more than 1,000 continuations`: they were counted up to
    `most`."""
    if most is not None and number > most:
        return f"more than {most:,} {things or thing + 's'}"
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
