"""The headings of a Markdown text: where its sections begin, and what they are called."""

import re
from collections import Counter
from dataclasses import dataclass

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_NO_WORD = re.compile(r"[^\w]+")


@dataclass(frozen=True)
class Heading:
    """A heading: its line from 0, its level 1 to 6, its text and its id in this text."""

    line: int
    level: int
    text: str
    id: str


def headings_of(lines: list[str]) -> list[Heading]:
    """The headings in order, none from inside fenced code.

    An id is the text in lower case with `-` between words. Where several headings have the
    same, each gets a number, so that no id names two.
    """
    found: list[tuple[int, int, str]] = []
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            fence = mark[1]
        elif match := _HEADING.fullmatch(line.rstrip("\r")):
            text = _CLOSING.sub("", (match[2] or "").rstrip()).strip()
            found.append((number, len(match[1]), text))
    ids = _ids([text for _, _, text in found])
    return [Heading(*one, id=id_) for one, id_ in zip(found, ids, strict=True)]


def _ids(texts: list[str]) -> list[str]:
    slugs = [_NO_WORD.sub("-", text.casefold()).strip("-") for text in texts]
    times = Counter(slugs)
    taken = set(slugs)
    last: Counter[str] = Counter()
    ids: list[str] = []
    for slug in slugs:
        while times[slug] > 1:
            last[slug] += 1
            numbered = f"{slug}-{last[slug]}"
            if numbered not in taken:
                break
        ids.append(slug if times[slug] == 1 else numbered)
    return ids
