"""Numbers with their nouns, in replies."""


def counted(number: int, thing: str, things: str = "") -> str:
    """`1 continuation`, `3 continuations`."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"
