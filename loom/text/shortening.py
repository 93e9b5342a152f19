"""Short forms of texts, for replies, stored lines and excerpts. Pure."""

import re

from loom.text.hashes import digest_of


def plain(text: str) -> str:
    """A name or title on one line."""
    return " ".join(text.split())


# -- stored lines: a long text that a node holds is named there.

STORED_WHOLE = 240  # characters of content that a stored line keeps; longer ones are named
FIRST_WORDS = 8
FIRST_CHARACTERS = 60
# The name of a text in a stored line. No form parses it: such a line cannot be run again.
_NAMED = re.compile(r'[ \n]"[^"\n]*…" \([\d,]+ characters, sha256 ([0-9a-f]{64})\)')


def named(text: str) -> str:
    """The name of a long text in a stored line: its first words, its length and its hash. `"It
    was…" (100,000 characters, sha256 …)`."""
    words = text[: FIRST_CHARACTERS * 4].replace('"', "'").replace("\\", "/").split()
    first = " ".join(words[:FIRST_WORDS])[:FIRST_CHARACTERS].rstrip()
    return f'"{first}…" ({len(text):,} characters, sha256 {digest_of(text)})'


def block_of(canonical: str) -> str:
    """The content of a canonical line that is written as a block; "" if it has none."""
    _, _, block = canonical.partition("\n")
    return block.removesuffix("\n←")


def shortened(canonical: str) -> str:
    """A canonical line as it is stored if a node holds its content: a long block is replaced by
    its name. `→ respond [a7x2] "It was…" (100,000 characters, sha256 …)`. Lines without a long
    block are returned unchanged. Content with a closing line (`←`) is in quotes, not in a block,
    and stays.
    """
    block = block_of(canonical)
    if len(block) <= STORED_WHOLE:
        return canonical
    return f"{canonical.partition(chr(10))[0]} {named(block)}"


def digest_named(line: str) -> str:
    """The SHA-256 of the text that a stored line only names; "" if it names none."""
    match = _NAMED.search(line)
    return match[1] if match else ""


def with_quoted_name(line: str) -> str:
    """A stored line with three dots in quotes in place of its text, which its form parses."""
    return _NAMED.sub(' "…"', line)


def without_name(line: str) -> str:
    """A stored line without the name of its text; any other line as it is."""
    return _NAMED.sub(" …", line)


def in_one_line(canonical: str) -> str:
    """A line without its block of content: `→ respond a7x2 …`."""
    first, block, _ = without_name(canonical).partition("\n")
    return f"{first} …" if block else first


# -- ages and excerpts in replies.

MINUTE_S, HOUR_S, DAY_S = 60, 3600, 86400
SUMMARY_WORDS = 30
SUMMARY_CHARACTERS = 300


def excerpt(text: str, words: int = SUMMARY_WORDS) -> str:
    """The first words in quotes, on one line; `…` says that there are more. A text of at most that
    many words is its own summary. In scripts without blanks between words, 300 characters count as
    enough.
    """
    return f'"{_first(text, words)}"'


def summary_or_excerpt(summary: str, text: str, words: int = SUMMARY_WORDS) -> str:
    """`summary: …` where there is a summary: it is not the text's own words, so it does not stand
    in quotes. Else the first words of the text."""
    return f"summary: {_first(summary, words)}" if summary else excerpt(text, words)


def _first(text: str, words: int) -> str:
    head = text[: SUMMARY_CHARACTERS * 8]
    parts = head.split(None, words)
    line = " ".join(parts[:words])
    cut = len(parts) > words or (len(head) < len(text) and bool(text[len(head) :].strip()))
    if len(line) > SUMMARY_CHARACTERS:
        line, cut = line[:SUMMARY_CHARACTERS].rstrip(), True
    return f"{line}…" if cut else line


AROUND = 240  # characters that are kept on each side of a change


def near_changes(text: str, *, is_first: bool, is_last: bool) -> str:
    """A stretch of a text that did not change, between changes: if it is long, only what is next to
    them. `is_first`, `is_last`: no change comes before or after it."""
    if len(text) <= AROUND * 3:
        return text
    head = "" if is_first else text[:AROUND]
    tail = "" if is_last else text[-AROUND:]
    return f"{head} … {tail}" if head or tail else f"{text[:AROUND]} …"
