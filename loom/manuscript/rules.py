"""Chapters of a story: where they begin in its text, and their order. Pure."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

DEEPEST = 3  # levels of headings that begin a chapter
MOST_CHAPTERS = 1_000  # further headings are text of the last one
LONGEST_TITLE = 200
START = "start"  # the key of what is before the first chapter
EXCERPT = 240  # characters of a chapter that a card shows
_SIGNS = re.compile(r"^ {0,3}(?:(#{1,3})(?:[ \t]|$)|(```|~~~))[^\n]*", re.MULTILINE)


@dataclass(frozen=True)
class Piece:
    """A text of the main line: the local ids of its slot and version, who wrote it, and the label
    of its bookmark, which begins a chapter."""

    slot: str
    node: str
    text: str
    by: str = ""
    label: str = ""


@dataclass(frozen=True)
class Chapter:
    """A chapter: `start` to `end` are characters of the story, its text begins at `body`. `node` is
    the version in which it begins. `key` names it as long as its text begins with its heading."""

    key: str
    title: str
    level: int
    node: str
    words: int
    beginning: str
    start: int
    body: int
    end: int


@dataclass(frozen=True)
class Story:
    """The texts of a main line as one text, with its chapters in the order of the text; `starts`
    are the places where the texts begin."""

    text: str
    starts: tuple[int, ...]
    pieces: tuple[Piece, ...]
    chapters: tuple[Chapter, ...]

    @property
    def words(self) -> int:
        """The number of words of all chapters, without their titles."""
        return sum(chapter.words for chapter in self.chapters)

    def parts(self, chapter: Chapter) -> Iterable[tuple[Piece, str, bool]]:
        """The texts of a chapter without its title: (text of the main line, the part of it that
        is in the chapter, whether that is its beginning)."""
        for at in range(self._piece_at(chapter.start), len(self.pieces)):
            start = self.starts[at]
            if start >= chapter.end:
                return
            first, last = max(start, chapter.body), start + len(self.pieces[at].text)
            part = self.text[first : min(last, chapter.end)]
            if part:
                yield self.pieces[at], part, first == start

    def _piece_at(self, place: int) -> int:
        return max(bisect_right(self.starts, place) - 1, 0)


def story_of(pieces: Sequence[Piece], *, joint: str) -> Story:
    """The chapters of texts that are joined by `joint`. A chapter begins at a heading of the first
    three levels, or where a text has a bookmark with a label. Time grows with the text alone."""
    sizes = (len(piece.text) + len(joint) for piece in pieces)
    starts = tuple(accumulate(sizes, initial=0))[:-1] if pieces else ()
    text = joint.join(piece.text for piece in pieces)
    breaks = _breaks(text, pieces, starts)
    if not breaks or text[: breaks[0][0]].strip():
        breaks.insert(0, (0, 1, "", 0))
    chapters: list[Chapter] = []
    counts: dict[str, int] = {}
    for (start, level, title, body), after in zip(
        breaks, [*breaks[1:], (len(text), 0, "", 0)], strict=True
    ):
        at = max(bisect_right(starts, start) - 1, 0)
        slot, node = (pieces[at].slot, pieces[at].node) if pieces else ("", "")
        counts[slot] = counts.get(slot, 0) + 1
        key = slot if counts[slot] == 1 else f"{slot}.{counts[slot]}"
        words = text[body : after[0]].split()
        chapters.append(
            Chapter(
                key=key if title or start else START,
                title=title,
                level=level,
                node=node,
                words=len(words),
                beginning=_beginning(words),
                start=start,
                body=body,
                end=after[0],
            )
        )
    return Story(text, starts, tuple(pieces), tuple(chapters))


def _breaks(
    text: str, pieces: Sequence[Piece], starts: Sequence[int]
) -> list[tuple[int, int, str, int]]:
    """(place, level, title, where the text begins) of each chapter with a title, in order."""
    breaks: dict[int, tuple[int, int, str, int]] = {}
    fence = ""
    for match in _SIGNS.finditer(text):
        if match[2]:
            fence = "" if fence == match[2] else fence or match[2]
        elif not fence and (title := _title_of(match[0])):
            breaks[match.start()] = (match.start(), len(match[1]), title, match.end())
    headings = sorted(breaks)
    for piece, start in zip(pieces, starts, strict=True):
        if piece.label and not _has_heading(text, headings, start):
            breaks[start] = (start, 1, piece.label[:LONGEST_TITLE], start)
    return [breaks[start] for start in sorted(breaks)][:MOST_CHAPTERS]


def _title_of(line: str) -> str:
    """The words of a heading."""
    words = line.strip().lstrip("#").strip().rstrip("#").strip()
    return " ".join(words.split())[:LONGEST_TITLE]


def _has_heading(text: str, headings: Sequence[int], start: int) -> bool:
    """Whether only blanks are between a place and the next heading."""
    at = bisect_right(headings, start - 1)
    if at == len(headings):
        return False
    return headings[at] - start < 100 and not text[start : headings[at]].strip()


def in_order(chapters: Sequence[Chapter], order: Sequence[str]) -> list[Chapter]:
    """The chapters in the order of these keys. One that is not among them follows the one that it
    follows in the text; keys without a chapter are left out."""
    by_key = {chapter.key: chapter for chapter in chapters}
    known = [key for key in dict.fromkeys(order) if key in by_key]
    after: dict[str, list[str]] = {}
    kept, before = set(known), ""
    for chapter in chapters:
        if chapter.key not in kept:
            after.setdefault(before, []).append(chapter.key)
        else:
            before = chapter.key
    keys = [*after.get("", ())]
    for key in known:
        keys += [key, *after.get(key, ())]
    return [by_key[key] for key in keys]


def moved(chapters: Sequence[Chapter], key: str, to: int) -> list[str]:
    """The keys after a chapter, with those below it, has moved to place `to` (from 1) of the list.
    It does not come between another chapter and what is below that."""
    at = next(place for place, chapter in enumerate(chapters) if chapter.key == key)
    level = chapters[at].level
    last = at + 1
    while last < len(chapters) and chapters[last].level > level:
        last += 1
    block, rest = list(chapters[at:last]), [*chapters[:at], *chapters[last:]]
    place = max(0, min(to - 1, len(rest)))
    step = -1 if place < at else 1
    while 0 < place < len(rest) and rest[place].level > level:
        place += step
    return [chapter.key for chapter in [*rest[:place], *block, *rest[place:]]]


def language_problem(language: str) -> str:
    """What is wrong with a language, "" if it can be one: a tag as in `en`, `pt-BR`, `zh-Hant`."""
    if not language or re.fullmatch(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}", language):
        return ""
    return f"{language[:20]!r} is not the tag of a language."


def _beginning(words: Sequence[str]) -> str:
    """The first words of a chapter; `…` says that there are more. No word is cut, unless it is the
    only one."""
    shown = " ".join(words[:EXCERPT])
    if len(shown) <= EXCERPT:
        return shown
    whole, blank, _ = shown[: EXCERPT + 1].rpartition(" ")
    return f"{whole if blank else shown[:EXCERPT]}…"
