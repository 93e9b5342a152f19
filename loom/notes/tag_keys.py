"""By what a tag is known: its name in any case. Kept beside the name, as SQLite folds only ASCII
letters."""


def tag_key(name: str) -> str:
    """The name, folded: Ärger and ÄRGER are one tag."""
    return name.casefold()


def plain_tag(name: str) -> str:
    """The name as it is kept: on one line, without the mark # or blanks around it."""
    return " ".join(name.split()).lstrip("# ")


def is_tag_name(name: str) -> bool:
    """Whether a line can write the name, as `plain_tag` returns it: it has a letter, and neither
    quotation marks nor U+0000."""
    return any(map(str.isalpha, name)) and not any(letter in '"\0' for letter in name)
