"""GBNF read as llama.cpp reads it, and strings drawn from it."""

import re
from functools import cache
from random import Random
from typing import Any

from hypothesis import strategies as st

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*")|(?P<class>\[(?:[^\]\\]|\\.)*\])"""
    r"""|(?P<name>[a-zA-Z][a-zA-Z0-9-]*)|(?P<times>\{[0-9]+,[0-9]*\})|(?P<mark>[()|?*+]))"""
)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t"}
MARKS = '"\\→←->`~# §:,[]'
REACHES = (0x80, 0x250, 0x3000, 0x110000)
MOST = 3  # repetitions of what has no upper bound

Node = tuple[Any, ...]


def _unescaped(text: str) -> str:
    def sign(match: re.Match[str]) -> str:
        escape = match[1]
        return chr(int(escape[1:], 16)) if len(escape) == 3 else _PLAIN.get(escape, escape)

    return _ESCAPE.sub(sign, text)


def rules_of(grammar: str) -> dict[str, Node]:
    """The rules by name. Fails for what is no GBNF, and for a rule that is not there."""
    rules = {}
    for line in filter(None, grammar.split("\n")):
        name, arrow, right = line.partition(" ::= ")
        assert arrow, line
        assert name not in rules, name
        rules[name] = _Reader(right).whole()
    for tree in rules.values():
        assert _names(tree) <= rules.keys()
    return rules


def _names(tree: Node) -> set[str]:
    if tree[0] == "name":
        return {tree[1]}
    names = [_names(part) for part in tree[1:] if isinstance(part, tuple)]
    return set().union(*names)


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            assert match is not None, text[at:]
            assert match.lastgroup is not None
            self.tokens.append((match.lastgroup, match[match.lastgroup]))
            at = match.end()
        self.at = 0

    def whole(self) -> Node:
        tree = self._either()
        assert self.at == len(self.tokens), self.tokens[self.at :]
        return tree

    def _next(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("", "")

    def _either(self) -> Node:
        ways = [self._row()]
        while self._next()[1] == "|" and self._next()[0] == "mark":
            self.at += 1
            ways.append(self._row())
        return ("either", *ways)

    def _row(self) -> Node:
        parts: list[Node] = []
        while self.at < len(self.tokens) and self._next() not in (("mark", "|"), ("mark", ")")):
            parts.append(self._times(self._one()))
        assert parts, "an empty alternative"
        return ("row", *parts)

    def _one(self) -> Node:
        kind, token = self._next()
        self.at += 1
        if kind == "mark":
            assert token == "(", token
            tree = self._either()
            assert self._next() == ("mark", ")")
            self.at += 1
            return tree
        if kind == "class":
            return ("class", token[1:-1])
        return (kind, _unescaped(token[1:-1]) if kind == "text" else token)

    def _times(self, part: Node) -> Node:
        kind, token = self._next()
        bounds = {"?": (0, 1), "*": (0, MOST), "+": (1, MOST)}.get(token)
        if kind == "times":
            low, high = token[1:-1].split(",")
            bounds = (int(low), int(high) if high else int(low) + MOST)
        elif kind != "mark" or bounds is None:
            return part
        self.at += 1
        return ("times", part, *bounds)


def _chars(inner: str) -> set[str]:
    """The characters that a class such as `a-z0-9` lists."""
    chars: set[str] = set()
    for match in re.finditer(r"((?:\\x..|\\.|[^\\]))(?:-((?:\\x..|\\.|[^\\])))?", inner, re.DOTALL):
        low = _unescaped(match[1])
        high = _unescaped(match[2]) if match[2] else low
        chars |= {chr(code) for code in range(ord(low), ord(high) + 1)}
    return chars


@cache
def _class(text: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """What a class draws from, and what it never draws: the characters that it lists, or for
    `^\\n` those that are likely to be read as something, beside any other character."""
    if not text.startswith("^"):
        return tuple(sorted(_chars(text))), frozenset()
    excluded = frozenset(_chars(text[1:]))
    return tuple(mark for mark in MARKS if mark not in excluded), excluded


def _char(text: str, dice: Random) -> str:
    """A character of the class. One of a negative class is a mark, of ASCII, of Latin and other
    alphabets, or any at all."""
    listed, excluded = _class(text)
    if not text.startswith("^") or dice.random() < 0.4:
        return dice.choice(listed)
    while True:
        char = chr(dice.randrange(dice.choice(REACHES)))
        if char not in excluded and not "\ud800" <= char <= "\udfff":
            return char


@st.composite
def strings(draw: st.DrawFn, rules: dict[str, Node], start: str = "root") -> str:
    """A string that the rule makes. Hypothesis draws one seed for it, and not each character:
    that takes a twentieth of the time, and a failure is found again by its seed."""
    dice = Random(draw(st.integers(0, 2**64 - 1)))

    def written(tree: Node) -> str:
        kind = tree[0]
        if kind == "text":
            return str(tree[1])
        if kind == "class":
            return _char(tree[1], dice)
        if kind == "name":
            return written(rules[tree[1]])
        if kind == "either":
            return written(dice.choice(tree[1:]))
        if kind == "times":
            times = dice.randint(tree[2], min(tree[3], tree[2] + MOST))
            return "".join(written(tree[1]) for _ in range(times))
        return "".join(written(part) for part in tree[1:])

    return written(rules[start])
