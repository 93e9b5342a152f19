"""By what a tag is known: its name in any case. Kept beside the name, as SQLite folds only ASCII
letters."""


def tag_key(name: str) -> str:
    """The name, folded: Ärger and ÄRGER are one tag."""
    return name.casefold()
