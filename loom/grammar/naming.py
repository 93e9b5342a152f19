"""The address or slice that one token is. A ref of several tokens is put together in refs."""

import re

from loom.grammar.bad import Bad, short, unread
from loom.grammar.shapes import PREFIXES, SLICES, WORDS, WRITTEN, Kind, Ref, Slice
from loom.grammar.tokens import Token

_DIGITS = 9  # longer numbers name nothing, and fit in no column
_ID = re.compile(r"[a-z0-9]+")
_BARE = re.compile(r"([a-z0-9]+)(?:-([a-z0-9]+)|('))?")
_NUMBER = re.compile(r"[0-9]+")
_TASK = re.compile(r"t[0-9]+")
_SPAN = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def ref_of(token: Token) -> Ref | None:
    """The ref that a token is; None where it has not the form of one. Raises Bad on a
    form that is begun and wrong, such as `doc:""`."""
    head = token.head
    if ":" in head:
        prefix, _, word = head.partition(":")
        kind = PREFIXES.get(prefix.lower())
        return None if kind is None else _prefixed(kind, word, token)
    if token.quoted is not None or token.mixed:
        return None
    return _bare(head)


def _bare(written: str) -> Ref | None:
    word = written.lower()
    if word[:1] == "#":
        return Ref("window", id=_number(word[1:], written)) if _is_number(word[1:]) else None
    if word[:1] == "[" and word[-1:] == "]":
        inside = None if word[1:2] == "[" else _bare(written[1:-1])
        return inside if inside is not None and inside.kind in ("node", *WORDS) else None
    match = _BARE.fullmatch(word) if written.isascii() else None
    if match is None or word == "all":
        return None
    first, end, prime = match.groups()
    if end is not None:
        return Ref("range", id=first, end=end)
    if prime:
        return None if first in WORDS or _TASK.fullmatch(first) else Ref("node", first, prime=True)
    if first in WORDS:
        return Ref(WORDS[first])
    if _TASK.fullmatch(first):
        return Ref("task", id=_number(first[1:], written))
    return Ref("node", first)


def _is_number(word: str) -> bool:
    return _NUMBER.fullmatch(word) is not None


def _number(digits: str, written: str) -> str:
    number = digits.lstrip("0") or "0"
    if len(number) > _DIGITS:
        raise Bad(
            "NOT_FOUND",
            f"{short(written)} does not exist.",
            "numbers of windows, tasks and steps are shorter",
        )
    return number


def _prefixed(kind: Kind, word: str, token: Token) -> Ref:
    name = token.quoted or ""
    if token.mixed or (word and token.quoted is not None) or not (word or name):
        raise unread(
            f"{short(token.raw)} is no reference.", f'write {WRITTEN[kind]}:"name" or an id'
        )
    if kind in ("node", "branch", "turn", "step"):
        return _by_id(kind, word, token)
    if kind in ("stash", "augment"):
        return Ref(kind, name=name or word)
    named = name or ("" if word.isascii() and _ID.fullmatch(word.lower()) else word)
    id_ = "" if named else word.lower()
    return Ref(kind, tree_id=id_, tree_name=named) if kind == "tree" else Ref(kind, id_, named)


def _by_id(kind: Kind, word: str, token: Token) -> Ref:
    if kind == "step" and _is_number(word):
        return Ref(kind, id=_number(word, token.raw))
    if kind in ("branch", "turn") and word.isascii() and _ID.fullmatch(word.lower()):
        return Ref(kind, id=word.lower())
    if kind == "node":
        ref = _bare(word)
        if ref is not None and ref.kind in ("node", "range", "here", "root", "parent"):
            return ref
    raise unread(f"{short(token.raw)} is no id.", f"write {WRITTEN[kind]}: and an id")


def slice_of(token: Token) -> Slice | None:
    """The slice that a token is; None where it has not the form of one. Raises Bad."""
    head = token.head
    if head[:1] == "§":
        return _section(head[1:], token)
    key, colon, word = head.partition(":")
    kind = SLICES.get(key.lower()) if colon else None
    if kind is None:
        return None
    if kind == "section":
        return _section(word, token)
    span = _SPAN.fullmatch(word) if token.quoted is None and not token.mixed else None
    if span is None or (span[2] is not None and kind in ("head", "tail")):
        raise unread(f"{short(token.raw)} is no slice.", "write lines:3-9, para:2 or head:200")
    first, last = (_count(number, token) for number in (span[1], span[2] or span[1]))
    if first > last:
        raise unread(f"{short(token.raw)} ends before it begins.", f"use {key}:{last}-{first}")
    return Slice(kind, last=last) if kind in ("head", "tail") else Slice(kind, first, last)


def _count(digits: str, token: Token) -> int:
    if len(digits.lstrip("0")) > _DIGITS:
        raise Bad(
            "LIMIT_EXCEEDED", f"{short(token.raw)} has too large a number.", "use a smaller one"
        )
    number = int(digits)
    if number < 1:
        raise unread(f"{short(token.raw)} counts from 0.", "count from 1")
    return number


def _section(word: str, token: Token) -> Slice:
    name = token.quoted or ""
    if token.mixed or (word and token.quoted is not None) or not (word or name):
        raise unread(f"{short(token.raw)} names no section.", 'write §word or §"several words"')
    return Slice("section", name=name or word)
