"""By what a tag is known: its name in any case. Kept beside the name, as SQLite folds only ASCII
letters."""


def tag_key(name: str) -> str:
    """The name, folded: Ärger and ÄRGER are one tag."""
    return name.casefold()


def plain_tag(name: str) -> str:
    """The name as it is kept, on one line: without line breaks, the mark # or blanks around it."""
    return " ".join(name.split()).lstrip("# ")


def is_tag_name(name: str) -> bool:
    """Whether a tag may have the name, as `plain_tag` returns it: it has a letter."""
    return any(map(str.isalpha, name)) and "\0" not in name
