"""The text of a document: its sections and their stable ids, edits, front matter, embeds. Pure."""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from loom.language.ids import looks_like_id
from loom.language.refs import DocumentPlace, ParseError, Slice, short, unread
from loom.language.slices import Cut, get, headings_in
from loom.text.edits import Edit, gaps, stayed
from loom.text.front_matter import body_start

MAX_BYTES = 4 * 1024 * 1024  # of a text in UTF-8, the same as for a node

_EMBED = re.compile(r"!\[\[([^\[\]\n]{1,300})\]\]")


@dataclass(frozen=True)
class Section:
    """A heading: its id, which it keeps from revision to revision, its level 1 to 6, its text, and
    its line from 0."""

    id: str
    level: int
    text: str
    line: int


def count_words(text: str) -> int:
    """The number of words, without front matter."""
    return len(text[body_start(text) :].split())


MOST_EMBEDS = 100  # embeds of one document that are shown; further ones stay text
_WORD = re.compile(r"[A-Za-z0-9]+")


def embeds_of(text: str, *, most: int = MOST_EMBEDS) -> list[str]:
    """The first refs that the text embeds, in order, each once: `a7x2` for `![[a7x2]]`."""
    refs: dict[str, None] = {}
    for match in _EMBED.finditer(text):
        refs.setdefault(match[1].strip())
        if len(refs) == most:
            break
    return list(refs)


def has_more_embeds(text: str) -> bool:
    """Whether a text has more embeds than are shown, equal ones counted as often as they occur."""
    embeds = enumerate(_EMBED.finditer(text), 1)
    return any(number > MOST_EMBEDS for number, _ in embeds)


def ids_embedded(text: str) -> list[str]:
    """The local ids of nodes that the first embeds of a text name, each once, in lower case."""
    written = embeds_of(text)
    words = (word.lower() for heading in written for word in _WORD.findall(heading))
    return list(dict.fromkeys(word for word in words if looks_like_id(word)))


def split_at_embeds(line: str) -> list[str]:
    """A line in pieces that alternate between text and embeds, beginning and ending with text."""
    return _EMBED.split(line)


# Sections. A heading keeps its id when it is moved, and when it is reworded in its place.


MOST_SECTIONS = 2000  # headings of one document that have an id; further ones are only text
LONGEST_HEADING = 200  # characters of a heading by which it is found and named


def sections_of(text: str, before: Sequence[Section] = ()) -> list[Section]:
    """The first MOST_SECTIONS sections of a text. Headings that `before` had keep their ids: those
    with the same words, and those whose words were changed between headings that stayed. No id
    names two. The time is proportional to the length of the text."""
    headings = headings_in(text, most=MOST_SECTIONS)
    ids = _kept([(item.level, item.text[:LONGEST_HEADING]) for item in headings], before)
    taken = {uid for uid in ids if uid} | {section.id for section in before}
    numbers: Counter[str] = Counter()
    sections = []
    for heading, kept in zip(headings, ids, strict=True):
        own = kept or _free(heading.id[:LONGEST_HEADING] or "section", taken, numbers)
        taken.add(own)
        sections.append(Section(own, heading.level, heading.text[:LONGEST_HEADING], heading.line))
    return sections


def _kept(now: list[tuple[int, str]], before: Sequence[Section]) -> list[str]:
    old = [(section.level, section.text) for section in before]
    ids = [""] * len(now)
    pairs = stayed(old, now)
    for was, place in pairs:
        ids[place] = before[was].id
    left = set(range(len(old))) - {was for was, _ in pairs}
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for was in sorted(left):
        waiting[old[was][1]].append(was)
    for place, (_, words) in enumerate(now):  # moved
        if not ids[place] and waiting[words]:
            was = waiting[words].popleft()
            ids[place] = before[was].id
            left.discard(was)
    for were, places in gaps(pairs, len(old), len(now)):  # reworded
        free = [place for place in places if not ids[place]]
        for was, place in zip([was for was in were if was in left], free, strict=False):
            ids[place] = before[was].id
    return ids


def _free(wanted: str, taken: set[str], numbers: Counter[str]) -> str:
    """The wanted id, or the first with a number that is not taken; `numbers` are the last ones
    that were tried, so that many equal headings do not try them all again."""
    own = wanted
    while own in taken:
        numbers[wanted] = max(numbers[wanted], 1) + 1
        own = f"{wanted}-{numbers[wanted]}"
    return own


def packed(sections: Sequence[Section]) -> list[list[object]]:
    """Sections as a revision stores them."""
    return [[section.id, section.level, section.text, section.line] for section in sections]


def unpacked(stored: Sequence[Sequence[object]]) -> list[Section]:
    """The sections that a revision has stored."""
    return [Section(str(a), int(str(b)), str(c), int(str(d))) for a, b, c, d in stored]


MOST_NAMED = 10  # sections that a refusal names


def _nearest(sections: Sequence[Section], wanted: str) -> list[Section]:
    """The sections, those whose heading or id is most like `wanted` first."""
    if len(sections) > MOST_COMPARED:
        return list(sections)

    def likeness(section: Section) -> float:
        names = (section.id, " ".join(section.text.casefold().split()))
        return max(_likeness(wanted[:LONGEST_NAME], name[:LONGEST_NAME]) for name in names)

    return sorted(sections, key=likeness, reverse=True)


MOST_COMPARED = 2000  # sections whose names are compared with an unknown one
LONGEST_NAME = 80  # characters of a name that are compared


def _likeness(wanted: str, name: str) -> float:
    whole = SequenceMatcher(None, wanted, name, autojunk=False).ratio()
    shared = set(wanted.replace("-", " ").split()) & set(name.replace("-", " ").split())
    return whole + len(shared)


def section_named(sections: Sequence[Section], name: str) -> Section:
    """The section with that id or heading, in any case. Raises ParseError: NOT_FOUND, or
    INVALID_SYNTAX if several have the heading."""
    wanted = " ".join(name[:LONGEST_HEADING].casefold().split())
    by_id = [section for section in sections if section.id == wanted]
    matching = by_id or [
        section for section in sections if " ".join(section.text.casefold().split()) == wanted
    ]
    if not matching:
        known = ", ".join(f"§{section.id}" for section in _nearest(sections, wanted)[:MOST_NAMED])
        raise ParseError(
            "NOT_FOUND",
            f"There is no section §{short(name)}.",
            f"there are {known}" if known else "there are no headings; use part:1 or lines:1-9",
        )
    if len(matching) > 1:
        raise unread(
            f"{len(matching)} sections are called §{short(name)}.",
            "write " + " or ".join(f"§{section.id}" for section in matching[:10]),
        )
    return matching[0]


def lines_of(text: str, sections: Sequence[Section], section: Section) -> tuple[int, int]:
    """The first and last line of a section, from 1: to the next heading of its level or above,
    without blank lines at its end. For those of several sections: `spans_of`."""
    following = next(
        (
            other.line
            for other in sections
            if other.line > section.line and other.level <= section.level
        ),
        None,
    )
    return _without_blank_end(text.split("\n"), section, following)


def spans_of(
    text: str, sections: Sequence[Section], *, most: int = MOST_SECTIONS
) -> list[tuple[int, int]]:
    """The first and last lines of the first `most` sections, as `lines_of`, in one pass."""
    following: list[int | None] = [None] * len(sections)
    open_: list[int] = []  # sections that have not ended yet, their levels rising
    for number, section in enumerate(sections):
        while open_ and sections[open_[-1]].level >= section.level:
            following[open_.pop()] = section.line
        open_.append(number)
    lines = text.split("\n")
    return [
        _without_blank_end(lines, section, line)
        for section, line in zip(sections[:most], following, strict=False)
    ]


def _without_blank_end(
    lines: Sequence[str], section: Section, following: int | None
) -> tuple[int, int]:
    last = len(lines) if following is None else following
    while last > section.line + 1 and not lines[last - 1].strip():
        last -= 1
    return section.line + 1, last


def left_out(text: str) -> list[str]:
    """Sentences for people about what of a text is shown as text only, because it has too much of
    it; [] for nearly every text."""
    lines = []
    if len(headings_in(text, most=MOST_SECTIONS + 1)) > MOST_SECTIONS:
        lines.append(
            f"Only the first {MOST_SECTIONS:,} headings have a section id; "
            "further ones are part of the last section. Split the document to name them."
        )
    if has_more_embeds(text):
        lines.append(
            f"Only the first {MOST_EMBEDS} embeds are shown; further ones stay as they are "
            "written. Split the document to show them."
        )
    return lines


def cut(text: str, sections: Sequence[Section], part: Slice) -> Cut:
    """What a slice shows of a text; a section is also found by its stable id. Raises ParseError."""
    if part.kind == "section":
        section = section_named(sections, part.name)
        first, last = lines_of(text, sections, section)
        part = replace(part, kind="lines", name="", first=first, last=last)
    return get(text, part)


# Edits for the forms of `write`.


def appended(text: str, content: str) -> list[Edit]:
    """Content at the end, as paragraphs of its own; no edit for none."""
    if not content:
        return []
    end = len(text)
    return [Edit(end, end, _gap(text) + content)]


def _gap(before: str) -> str:
    """The line breaks between a text and a paragraph after it."""
    if not before:
        return ""
    return "" if before.endswith("\n\n") else "\n" if before.endswith("\n") else "\n\n"


def put_at(
    text: str, sections: Sequence[Section], place: DocumentPlace, content: str
) -> list[Edit]:
    """Content at the start, the end, before a line, or at the end of a section. Raises
    ParseError."""
    if place.kind == "end":
        return appended(text, content)
    starts = line_starts(text)
    if place.kind == "section":
        section = section_named(sections, place.name)
        last = lines_of(text, sections, section)[1]
        end = starts[last] - 1 if last < len(starts) else len(text)
        return [Edit(end, end, f"\n\n{content}")]
    line = 1 if place.kind == "start" else place.line
    if line > len(starts):
        raise ParseError(
            "NOT_FOUND", f"There is no line {line}; the text has {len(starts)}.", "use at:end"
        )
    at = starts[line - 1]
    return [Edit(at, at, content if content.endswith("\n") else f"{content}\n")]


def replaced_section(
    text: str, sections: Sequence[Section], place: DocumentPlace, content: str
) -> list[Edit]:
    """The body of a section replaced: what is below its heading. Raises ParseError."""
    section = section_named(sections, place.name)
    first, last = lines_of(text, sections, section)
    starts = line_starts(text)
    start = starts[first] - 1 if first < len(starts) else len(text)
    end = starts[last] - 1 if last < len(starts) else len(text)
    body = content.strip("\n")
    return [Edit(start, max(start, end), f"\n\n{body}" if body else "")]


def removed_section(text: str, sections: Sequence[Section], name: str) -> list[Edit]:
    """A section taken out, with its heading and what is below it. Raises ParseError."""
    start, end = _block(text, sections, section_named(sections, name))
    return [_taken_out(text, start, end)]


def moved_section(
    text: str, sections: Sequence[Section], name: str, *, to: str, is_after: bool
) -> list[Edit]:
    """A section, with its heading and what is below it, moved before another one or behind its
    end; no edit if it is there. Raises ParseError."""
    section, other = section_named(sections, name), section_named(sections, to)
    start, end = _block(text, sections, section)
    first, last = _block(text, sections, other)
    if start <= first < end:
        raise unread(
            f"§{other.id} is §{section.id} or a part of it.", "name a section outside of it"
        )
    place = last if is_after else first
    if place in (start, end):
        return []
    block = text[start:end].rstrip("\n")
    if place == len(text):  # line breaks at the end of a text stay there
        place = len(text.rstrip("\n"))
        put = Edit(place, place, f"\n\n{block}")
    else:
        gap = text[start + len(block) : end]
        gap = gap if len(gap) > 1 and end < len(text) else "\n\n"
        put = Edit(place, place, f"{_gap(text[:place])}{block}{gap}")
    return [_taken_out(text, start, end), put]


def _block(text: str, sections: Sequence[Section], section: Section) -> tuple[int, int]:
    """Where a section begins and ends, with its heading and the blank lines at its end."""
    following = (
        other.line
        for other in sections
        if other.line > section.line and other.level <= section.level
    )
    starts, line = line_starts(text), next(following, None)
    return starts[section.line], len(text) if line is None else starts[line]


def _taken_out(text: str, start: int, end: int) -> Edit:
    """The edit that takes out a section. Of the last one the blank lines before go instead of the
    line breaks at the end of the text."""
    if end < len(text):
        return Edit(start, end, "")
    return Edit(len(text[:start].rstrip("\n")), len(text.rstrip("\n")), "")


def line_starts(text: str) -> list[int]:
    """Where each line begins."""
    starts = [0]
    starts += [match.end() for match in re.finditer("\n", text)]
    return starts
