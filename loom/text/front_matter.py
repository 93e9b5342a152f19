"""Front matter: the lines between two lines of dashes at the start of a text; and titles. Pure."""

import re

MAX_TITLE = 200
MOST_KEYS = 40
_FRONT = re.compile(r"---[ \t]*\r?\n(.*?)(?:^|\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_ENTRY = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")


def title_key(title: str) -> str:
    """The title in the form in which titles of a grove must differ."""
    return title.casefold()[: MAX_TITLE * 2]


def body_start(text: str) -> int:
    """The place after the front matter; 0 if there is none."""
    match = _FRONT.match(text)
    return match.end() if match else 0


def front_matter(text: str) -> dict[str, tuple[str, ...]]:
    """The entries of the front matter, by name in lower case: `keys: a, b`, `keys: [a, b]`, or a
    list of lines that begin with `- `. {} if there is none."""
    match = _FRONT.match(text)
    entries: dict[str, tuple[str, ...]] = {}
    last = ""
    for line in (match[1] if match else "").splitlines():
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry and len(entries) < MOST_KEYS:
            last = entry[1].lower()
            entries[last] = _values(entry[2])
        elif last and line.lstrip().startswith("- "):
            entries[last] = (*entries[last], _unquoted(line.lstrip()[2:]))
    return entries


def _values(written: str) -> tuple[str, ...]:
    written = written.strip()
    if written[:1] == "[" and written[-1:] == "]":
        written = written[1:-1]
    return tuple(value for part in written.split(",") if (value := _unquoted(part)))


def _unquoted(written: str) -> str:
    word = written.strip()
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] and word[0] in "\"'" else word
