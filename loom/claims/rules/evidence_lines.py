"""The evidence of a claim as lines, and what an edited copy of them asks for. Pure.

A line is `+ [a7x2] lines:3-9 (strong, by check) "the exact words" · why · addressed: how`; it
begins with `+` for the claim, `-` against it, `~` for what undercuts other evidence
(`~ [a7x2] undercuts [b3k9]`), and `* [k3m8] Ada: words` is a note. Records are only ever added: a
line that is changed asks for a new one, and the old one stays."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loom.language.refs import quote
from loom.text.shortening import excerpt

SIGNS = {"+": "for", "-": "against", "~": "undercuts"}
_SIGN_OF = {side: sign for sign, side in SIGNS.items()}
ANSWERED = "addressed: "
MOST_QUOTED = 60  # characters of a line that a refusal quotes

_NAME = (
    r'\[([^\[\]]{1,200})\]|((?:tree:(?:"[^"]{1,200}"|\w{1,40}) node:)?[a-z0-9]{4,8}'
    r'|(?:doc|trail):(?:"[^"]{1,200}"|\w{1,40}))(?!\w)'
)
_REF = re.compile(_NAME)
_PART = re.compile(r'(§(?:"[^"]{1,200}"|[\w-]{1,80})|[a-z]{4,5}:[0-9][0-9-]{0,20})(?= |$)')
_UNDERCUTS = re.compile(r"undercuts (?:" + _NAME + ")")
_STRENGTH = re.compile(r"\(((?:strong|moderate|weak)\b[^()]{0,80})\)")
_WORDS = re.compile(r'"((?:[^"\\]|\\.)*)"')
_NOTE = re.compile(r"\* ?(?:\[[a-z0-9]{4,8}\] [^:\n]{1,100}: )?")
_BREAKS = re.compile(r" *· *")


@dataclass(frozen=True)
class EvidenceLine:
    """A piece of evidence as a line has it: `ref` and `part` as a line names them, `other` is what
    it undercuts, `strength` with what it is by."""

    side: str
    ref: str
    part: str = ""
    other: str = ""
    strength: str = ""
    words: str = ""
    why: str = ""
    answer: str = ""

    def __str__(self) -> str:
        parts = [
            _SIGN_OF[self.side],
            f"[{self.ref}]",
            self.part,
            f"undercuts [{self.other}]" if self.other else "",
            f"({self.strength})" if self.strength else "",
            quote(self.words) if self.words else "",
        ]
        tail = [part for part in (_on_one_line(self.why), _answered(self.answer)) if part]
        return " · ".join([" ".join(part for part in parts if part), *tail])


def shortened(words: str, most: int) -> str:
    """The first words of a quote, on one line, without quotation marks."""
    return excerpt(words, most)[1:-1]


def sign_of(side: str) -> str:
    """`+`, `-` or `~`."""
    return _SIGN_OF[side]


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _answered(answer: str) -> str:
    return f"{ANSWERED}{_on_one_line(answer)}" if answer else ""


def read_line(text: str) -> EvidenceLine | None:
    """The piece of evidence that a line has; None if it has none."""
    line = text.strip()
    side = SIGNS.get(line[:1])
    rest = line[1:].lstrip()
    named = _REF.match(rest)
    if side is None or named is None:
        return None
    ref = named[1] or named[2]
    rest = rest[named.end() :].lstrip()
    fields = {"part": "", "strength": "", "words": "", "other": ""}
    patterns = (
        ("part", _PART),
        ("other", _UNDERCUTS),
        ("strength", _STRENGTH),
        ("words", _WORDS),
    )
    for name, pattern in patterns:
        if match := pattern.match(rest):
            fields[name] = next(group for group in match.groups() if group is not None)
            rest = rest[match.end() :].lstrip()
    if rest and not rest.startswith("·"):
        return None
    fields["words"] = re.sub(r"\\(.)", lambda it: "\n" if it[1] == "n" else it[1], fields["words"])
    tail = [part for part in _BREAKS.split(rest) if part]
    answer = ""
    if tail and tail[-1].startswith(ANSWERED.rstrip()):
        answer = tail.pop().removeprefix(ANSWERED.rstrip()).strip()
    return EvidenceLine(side=side, ref=ref.strip(), why=" · ".join(tail), answer=answer, **fields)


@dataclass(frozen=True)
class Shown:
    """A line that a window shows; `whole` is the record with all of its words, None for a note and
    for what is said about the rest."""

    text: str
    whole: EvidenceLine | None = None


@dataclass(frozen=True)
class Wanted:
    """What an edited copy asks for: pieces of evidence to give, to address (`answer`), and notes,
    each with the number of its line; and what cannot be a record, in sentences."""

    cites: tuple[tuple[int, EvidenceLine], ...] = ()
    answers: tuple[tuple[int, EvidenceLine], ...] = ()
    notes: tuple[tuple[int, str], ...] = ()
    refused: tuple[str, ...] = ()


def wanted(shown: Sequence[Shown], text: str) -> Wanted:
    """What an edited copy of the lines of a window, or lines that are added to them, ask for."""
    left = list(shown)
    fresh: list[tuple[int, str]] = []
    kept = 0
    for number, line in enumerate(text.split("\n"), start=1):
        same = next((old for old in left if _alike(old.text, line)), None)
        if same is not None:
            left.remove(same)
            kept += 1
        elif line.strip():
            fresh.append((number, line.strip()))
    asked = _Asked(left)
    for number, line in fresh:
        asked.read(number, line)
    gone = [old.whole.ref for old in asked.left if old.whole is not None]
    if gone and (kept or asked.changed):
        names = ", ".join(f"[{ref}]" for ref in gone[:5]) + (" …" if len(gone) > 5 else "")
        asked.refused.append(
            f"Evidence is never deleted: {names} stays. A line with ~ undercuts it."
        )
    return Wanted(
        tuple(asked.cites), tuple(asked.answers), tuple(asked.notes), tuple(asked.refused)
    )


def _alike(old: str, new: str) -> bool:
    return old.split() == new.split()


class _Asked:
    """Reads the lines that are new or changed; `left` are the old ones that are not there."""

    def __init__(self, left: list[Shown]) -> None:
        self.left = left
        self.changed = 0
        self.cites: list[tuple[int, EvidenceLine]] = []
        self.answers: list[tuple[int, EvidenceLine]] = []
        self.notes: list[tuple[int, str]] = []
        self.refused: list[str] = []

    def read(self, number: int, line: str) -> None:
        if line[:1] not in SIGNS:
            self._note(number, line[match.end() :] if (match := _NOTE.match(line)) else line)
            return
        new = read_line(line)
        if new is None:
            self.refused.append(
                f'line {number}: "{line[:MOST_QUOTED]}" names no evidence; write '
                f'{line[0]} [a7x2] "the exact words" · why.'
            )
            return
        old = self._old(new)
        if old is not None:
            self._changed(number, old, new)
        elif new.side == "undercuts" and not new.other:
            self.refused.append(
                f"line {number}: say what [{new.ref}] undercuts: ~ [{new.ref}] undercuts [b3k9]."
            )
        else:
            self.cites.append((number, new))

    def _old(self, new: EvidenceLine) -> EvidenceLine | None:
        """The record that a line was made from: of the same item, best of the same side."""
        same = [line for line in self.left if line.whole is not None and line.whole.ref == new.ref]
        if not same:
            return None
        shown = next((line for line in same if line.whole and line.whole.side == new.side), same[0])
        self.left.remove(shown)
        self.changed += 1
        return shown.whole

    def _changed(self, number: int, old: EvidenceLine, new: EvidenceLine) -> None:
        """What a changed line asks for, beside the record that it was made from."""
        if new.words and _begins(old.words, new.words):
            new = replace(new, words=old.words)  # the window shows the first words of a long quote
        is_same = (new.side, new.part, new.words) == (old.side, old.part, old.words)
        if not is_same or (new.other and new.other != old.other):
            why = "" if new.why == old.why else new.why
            other = new.other or (old.ref if new.side == "undercuts" else "")
            self.cites.append((number, replace(new, why=why, other=other, answer="")))
            return
        if new.answer and new.answer != old.answer:
            if old.side == "for" or old.answer:
                what = "is addressed already" if old.answer else "speaks for the claim"
                self.refused.append(
                    f"line {number}: [{old.ref}] {what}; a line without a sign is a note."
                )
            else:
                self.answers.append((number, new))
        if new.why != _on_one_line(old.why) and new.why:
            self._note(number, f"[{old.ref}]: {new.why}")
        elif not new.answer and new.strength != old.strength:
            self.refused.append(
                f"line {number}: the strength of [{old.ref}] is computed, never declared; a "
                "passing check, or a person who cites the same, raises it."
            )

    def _note(self, number: int, text: str) -> None:
        if self.notes and self.notes[-1][0] == number - 1:  # one note of several lines
            _, before = self.notes.pop()
            text = f"{before}\n{text}"
        if text.strip():
            self.notes.append((number, text))


def _begins(whole: str, words: str) -> bool:
    """Whether words are a quote, or its beginning with `…`."""
    one_line = _on_one_line(whole)
    return words == whole or (words.endswith("…") and one_line.startswith(words[:-1].rstrip()))
