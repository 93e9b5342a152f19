"""Lore: texts that are part of a request while one of their keys occurs near its end
(docs/model.md §6.2). An entry is a document whose front matter names keys:

    ---
    keys: Thomas, "the old house"
    order: 20
    ---
    Thomas is Marie's brother.

Pure."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

MOST_LORE_KEYS = 50
LONGEST_KEY = 100
USUAL_ORDER = 100
MOST_ORDER = 10_000
FENCE = "---"
# Above this code point scripts put no blanks between words (Thai, Chinese, Japanese) or join
# endings to them (Korean), except for the additional letters of Latin and Greek.
_UNSPACED = 0x0E00
_FURTHER = range(0x1E00, 0x2000)
_ONE_KEY = re.compile(r'\s*"([^"]*)"|\s*\'([^\']*)\'|([^,]+)')
_FIELD = re.compile(r"([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*)")

Counted = Callable[[str], int]


@dataclass(frozen=True)
class LoreEntry:
    """A text with its keys. `uid` is its document's, `title` names it; lower `order`s come
    first."""

    uid: str
    title: str
    keys: tuple[str, ...]
    text: str
    order: int = USUAL_ORDER


@dataclass(frozen=True)
class FoundLore:
    """The entries that are used, in order, and those that have a key there but are not; each with
    the reason in words."""

    entered: tuple[tuple[LoreEntry, str], ...] = ()
    left: tuple[tuple[LoreEntry, str], ...] = ()

    @property
    def taken(self) -> tuple[LoreEntry, ...]:
        """The entries that are used, without the reasons."""
        return tuple(entry for entry, _ in self.entered)


def divided(text: str) -> tuple[dict[str, str], str]:
    """(the fields of a text's front matter, the text below it); ({}, text) where it has none.
    Items of a list (`- Thomas`) are joined by commas."""
    lines = text.split("\n")
    if lines[0].rstrip() != FENCE:
        return {}, text
    end = next((at for at, line in enumerate(lines) if at and line.rstrip() == FENCE), 0)
    if not end:
        return {}, text
    fields: dict[str, str] = {}
    name = ""
    for line in lines[1:end]:
        match = _FIELD.fullmatch(line.rstrip())
        item = line.strip()
        if match:
            name = match[1].lower()
            fields[name] = match[2].strip()
        elif name and item.startswith("- "):
            fields[name] = ", ".join(part for part in (fields[name], item[2:].strip()) if part)
    body = "\n".join(lines[end + 1 :])
    return fields, body


def keys_of(field: str) -> tuple[str, ...]:
    """The keys that a field of front matter names: `a, "b, c"` or `[a, b]`; at most
    MOST_LORE_KEYS."""
    given = field.strip()
    if given.startswith("[") and given.endswith("]"):
        given = given[1:-1]
    keys = (next(filter(None, match.groups()), "") for match in _ONE_KEY.finditer(given))
    named = (" ".join(key.split()).strip("\"'") for key in keys)
    kept = dict.fromkeys(key[:LONGEST_KEY] for key in named if key)
    return tuple(kept)[:MOST_LORE_KEYS]


def entry_of(uid: str, title: str, document: str) -> LoreEntry | None:
    """The lore entry for a document; None if its front matter names no key, or there is no text
    below."""
    fields, body = divided(document)
    keys = keys_of(fields.get("keys", ""))
    text = body.strip("\n")
    if not keys or not text.strip():
        return None
    return LoreEntry(uid, title, keys, text, _order(fields.get("order", "")))


def _order(given: str) -> int:
    digits = given.strip()
    if not digits.isascii() or not digits.isdigit() or len(digits) > len(str(MOST_ORDER)):
        return USUAL_ORDER
    return min(int(digits), MOST_ORDER)


def occurs(key: str, text: str) -> bool:
    """Whether a key occurs in a text as a whole word, in any case. In scripts without blanks
    between words it may be anywhere."""
    wanted, within = _folded(key), _folded(text)
    at = within.find(wanted) if wanted else -1
    while at >= 0:
        end = at + len(wanted)
        if not _joined(within[at - 1 : at], wanted[0]) and not _joined(
            wanted[-1], within[end : end + 1]
        ):
            return True
        at = within.find(wanted, at + 1)
    return False


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _joined(before: str, after: str) -> bool:
    """Whether two characters belong to one word."""
    return _in_a_word(before) and _in_a_word(after)


def _in_a_word(char: str) -> bool:
    if not char:
        return False
    is_letter = char.isalnum() or char == "_" or unicodedata.combining(char) > 0
    return is_letter and (ord(char) < _UNSPACED or ord(char) in _FURTHER)


def chosen_lore(entries: Iterable[LoreEntry], end: str, budget: int, counted: Counted) -> FoundLore:
    """The entries with a key in `end`, the last characters of a text: by `order`, then by title,
    while all of them together have at most `budget` tokens. An entry that is too long is left out,
    and a shorter one after it may still be used."""
    entered: list[tuple[LoreEntry, str]] = []
    left: list[tuple[LoreEntry, str]] = []
    room = budget
    for entry in sorted(
        entries, key=lambda entry: (entry.order, entry.title.casefold(), entry.uid)
    ):
        key = _first(entry.keys, end)
        if key is None:
            continue
        tokens = counted(entry.text)
        if tokens > room:
            why = f"left out: {tokens:,} tokens, and {room:,} of {budget:,} are left for lore"
            left.append((entry, f"“{key}” occurs; {why}"))
            continue
        room -= tokens
        entered.append((entry, f"because “{key}” occurs near the end"))
    return FoundLore(tuple(entered), tuple(left))


def _first(keys: Sequence[str], text: str) -> str | None:
    return next((key for key in keys if occurs(key, text)), None)
