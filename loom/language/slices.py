"""Parts of a text: slices parsed from a line, what a slice shows, a text with a slice replaced,
headings, and long replies in parts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches

from loom.language.refs import (
    MAX_DIGITS,
    SLICES,
    ParseError,
    Ref,
    Slice,
    Token,
    in_tree,
    print_ref,
    print_slice,
    read_ref,
    refuse_controls,
    says_tree,
    short,
    tokens_of,
    tree_of,
    unread,
)

# Parsing of a slice, and the ref that it belongs to.

_SPAN = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def slice_of(token: Token) -> Slice | None:
    """The slice in a token; None if it does not have the form of one. Raises ParseError."""
    head = token.head
    if head[:1] == "§":
        return _section_named(head[1:], token)
    key, colon, word = head.partition(":")
    kind = SLICES.get(key.lower()) if colon else None
    if kind is None:
        return None
    if kind == "section":
        return _section_named(word, token)
    span = _SPAN.fullmatch(word) if token.quoted is None and not token.mixed else None
    if span is None or (span[2] is not None and kind in ("head", "tail")):
        raise unread(f"{short(token.raw)} is not a slice.", "write lines:3-9, para:2 or head:200")
    first, last = (_counted(number, token) for number in (span[1], span[2] or span[1]))
    if first > last:
        raise unread(f"{short(token.raw)} ends before it begins.", f"use {key}:{last}-{first}")
    return Slice(kind, last=last) if kind in ("head", "tail") else Slice(kind, first, last)


def _counted(digits: str, token: Token) -> int:
    if len(digits.lstrip("0")) > MAX_DIGITS:
        raise ParseError(
            "LIMIT_EXCEEDED", f"The number in {short(token.raw)} is too large.", "use a smaller one"
        )
    number = int(digits)
    if number < 1:
        raise unread(f"{short(token.raw)} counts from 0.", "count from 1")
    return number


def _section_named(word: str, token: Token) -> Slice:
    name = token.quoted or ""
    if token.mixed or (word and token.quoted is not None) or not (word or name):
        raise unread(
            f"{short(token.raw)} does not name a section.", 'write §word or §"several words"'
        )
    return Slice("section", name=name or word)


def with_slice(ref: Ref, part: Slice) -> Ref:
    """The ref with a slice. Raises ParseError if it already has one."""
    if ref.slice is not None:
        raise unread(
            f"{short(print_ref(ref))} already has a slice.", "give only one slice per reference"
        )
    return replace(ref, slice=part)


def parse_ref(text: str) -> Ref:
    """The one ref in `text`, with its tree and its slice. Raises ParseError."""
    refuse_controls(text)
    tokens = tokens_of(text)
    ref, at = read_ref(tokens, 0)
    while at < len(tokens):
        part = slice_of(tokens[at])
        if part is not None:
            ref = with_slice(ref, part)
        elif says_tree(tokens, at):
            at += 1
            ref = in_tree(ref, tree_of(tokens[at]))
        else:
            raise unread(f"{short(text)} is more than one reference.", "name one")
        at += 1
    return ref


# The headings of a text.

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
    return _headings(enumerate(lines), len(lines))


def headings_in(text: str, *, most: int) -> list[Heading]:
    """The first `most` headings of a text. Only lines that may be one are looked at, and none
    after the last."""
    return _headings(_marked_lines(text), most)


_MARKED = re.compile(r"^ {0,3}(?:#|```|~~~)[^\n]*", re.MULTILINE)


def _marked_lines(text: str) -> Iterator[tuple[int, str]]:
    number = at = 0
    for match in _MARKED.finditer(text):
        number += text.count("\n", at, match.start())
        at = match.start()
        yield number, match[0]


def _headings(lines: Iterable[tuple[int, str]], most: int) -> list[Heading]:
    headings: list[tuple[int, int, str]] = []
    fence = ""
    for number, line in lines:
        if len(headings) == most:
            break
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
            fence = mark[1]
        elif match := _HEADING.fullmatch(line.rstrip("\r")):
            text = _CLOSING.sub("", (match[2] or "").rstrip()).strip()
            headings.append((number, len(match[1]), text))
    ids = _ids([text for _, _, text in headings])
    return [Heading(*heading, id=id_) for heading, id_ in zip(headings, ids, strict=True)]


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


# Slices as lenses: what a slice shows, and the text with the slice replaced.

PART_LINES = 100
_NAMES = {"lines": "line", "para": "paragraph", "part": "part"}


@dataclass(frozen=True)
class Cut:
    """A slice of a text: its words, its lines from 1 (both included; `last` < `first` if it is
    empty), and what was clipped, as a sentence, or nothing."""

    text: str
    first: int
    last: int
    clipped: str = ""

    @property
    def shown(self) -> str:
        """The words, followed by a line that says what was clipped."""
        if not self.clipped:
            return self.text
        return f"{self.text}\n({self.clipped})" if self.text else f"({self.clipped})"


@dataclass(frozen=True)
class Placed:
    """A text after a replacement, and the slice that now shows the new words."""

    text: str
    slice: Slice


def get(text: str, part: Slice) -> Cut:
    """The slice of `text`. What is past the end is clipped, and the result says so. Raises
    ParseError: NOT_FOUND for a section that does not exist, INVALID_SYNTAX for a name that several
    sections have.
    """
    lines = text.split("\n")
    first, last, clipped = _lines(lines, part)
    return Cut("\n".join(lines[first - 1 : last]), first, last, clipped)


def put(text: str, part: Slice, new: str) -> str:
    """`text` with the slice replaced by `new`. Raises ParseError as `placed` does."""
    return placed(text, part, new).text


def placed(text: str, part: Slice, new: str) -> Placed:
    """The text with the slice replaced by `new`, and the slice that shows `new` in it: of the same
    kind if possible, else of lines.

    Raises ParseError as `get` does; REJECTED for `head:` and `tail:`, which are read-only;
    NOT_FOUND if the slice is past the end.
    """
    if part.kind in ("head", "tail"):
        raise ParseError("REJECTED", f"{part.kind}: is read-only.", "use lines:a-b")
    lines = text.split("\n")
    first, last, clipped = _lines(lines, part)
    if last < first:
        raise ParseError(
            "NOT_FOUND", f"{print_slice(part)} does not exist: {clipped}.", "look at the text"
        )
    put_lines = new.split("\n")
    whole = "\n".join([*lines[: first - 1], *put_lines, *lines[last:]])
    shown = Slice("lines", first, first + len(put_lines) - 1)
    return Placed(whole, _same_kind(whole, part, shown, new) or shown)


def _same_kind(text: str, part: Slice, shown: Slice, new: str) -> Slice | None:
    """The original slice, if it shows exactly the new words; else None."""
    if part.kind == "lines":
        return None
    try:
        part_now = get(text, part)
    except ParseError:
        return None
    same = (part_now.text, part_now.first, part_now.last) == (new, shown.first, shown.last)
    return part if same and not part_now.clipped else None


def _lines(lines: list[str], part: Slice) -> tuple[int, int, str]:
    """First and last line of a slice, from 1, and what was clipped."""
    total = _count(lines)
    if part.kind == "section":
        return (*_section(lines, part.name), "")
    if part.kind == "head":
        return 1, min(part.last, total), ""
    if part.kind == "tail":
        return max(1, total - part.last + 1), total, ""
    if part.kind == "lines":
        return _span(lines, part)
    pieces = _paragraphs(lines) if part.kind == "para" else _parts(total)
    inside = pieces[part.first - 1 : part.last]
    clipped = _clipped(len(pieces), part) if part.last > len(pieces) else ""
    if not inside:
        return len(lines) + 1, len(lines), clipped
    return inside[0][0], inside[-1][1], clipped


def _count(lines: list[str]) -> int:
    """How many lines a reader counts: a line break at the very end begins none."""
    return len(lines) - (len(lines) > 1 and not lines[-1])


def _span(lines: list[str], part: Slice) -> tuple[int, int, str]:
    """The named lines. The empty line after a last line break may be named, so that text that ends
    with a line break can be read back; clipping stops before it."""
    if part.last <= len(lines):
        return part.first, part.last, ""
    total = _count(lines)
    clipped = _clipped(total, part)
    return (
        (len(lines) + 1, len(lines), clipped)
        if part.first > total
        else (part.first, total, clipped)
    )


def _clipped(total: int, part: Slice) -> str:
    name = _NAMES[part.kind]
    return f"clipped: there is 1 {name}" if total == 1 else f"clipped: there are {total} {name}s"


def _paragraphs(lines: list[str]) -> list[tuple[int, int]]:
    """First and last line of every run of lines that are not blank."""
    paragraphs: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        if paragraphs and paragraphs[-1][1] == number - 1:
            paragraphs[-1] = (paragraphs[-1][0], number)
        else:
            paragraphs.append((number, number))
    return paragraphs


def _parts(count: int) -> list[tuple[int, int]]:
    return [
        (first, min(first + PART_LINES - 1, count)) for first in range(1, count + 1, PART_LINES)
    ]


def _section(lines: list[str], name: str) -> tuple[int, int]:
    """From a heading to the next of its level or above, blank lines at the end left out."""
    headings = headings_of(lines)
    section = _named(headings, name)
    first = section.line
    last = next(
        (
            heading.line
            for heading in headings
            if heading.line > first and heading.level <= section.level
        ),
        len(lines),
    )
    while last > first + 1 and not lines[last - 1].strip():
        last -= 1
    return first + 1, last


def _named(headings: list[Heading], name: str) -> Heading:
    wanted = " ".join(name.casefold().split())
    sections = [
        heading
        for heading in headings
        if wanted in (" ".join(heading.text.casefold().split()), heading.id)
    ]
    if not sections:
        raise ParseError(
            "NOT_FOUND", f"There is no section §{short(name)}.", _near(wanted, headings)
        )
    if len(sections) > 1:
        raise unread(
            f"{len(sections)} sections are called §{short(name)}.",
            "write " + " or ".join(f"§{section.id}" for section in sections[:10]),
        )
    return sections[0]


SHOWN_HEADINGS = 10
COMPARED = 200  # headings that are compared with a name; more cost time


def _near(name: str, headings: list[Heading]) -> str:
    """The sections of which one was probably meant, else the first ones."""
    ids = [heading.id for heading in headings if heading.id]
    wanted = _NO_WORD.sub("-", name[:200]).strip("-")
    near = get_close_matches(wanted, ids[:COMPARED], n=3, cutoff=0.7)
    words = {word for word in wanted.split("-") if len(word) > 2}
    near += [slug for slug in ids[:COMPARED] if words & set(slug.split("-")) and slug not in near]
    if near:
        return f"did you mean {' or '.join(f'§{slug}' for slug in near[:3])}"
    if ids:
        return f"there are {', '.join(f'§{slug}' for slug in ids[:SHOWN_HEADINGS])}"
    return "there are no headings; use part:1 or lines:1-9"


# A long reply is sent in parts.


def words(count: int) -> str:
    """`1 word`, `1,247 words`."""
    return f"{count:,} {'word' if count == 1 else 'words'}"


PART_CHARACTERS = 12_000  # characters of a part of a long reply: about 3,000 tokens
LEAST_PART = 1_000  # the same for a model with a very small context
LEAST_RESULT = 150  # tokens of a result that are sent, however little room is left
_LAST_LINE = 100  # characters of the line below a part, which names the next one
_NEAR = 2_000  # characters before the end of a part in which a line or word end is looked for


def part_size(context_limit: int, sent_whole: int = 0) -> int:
    """How many characters the parts of a long reply have for a model that reads so many tokens:
    an eighth of them, so that a part fits beside the path and other results. Where its grove has a
    number of tokens up to which results are sent whole, a part with its last line has no more."""
    size = min(PART_CHARACTERS, max(context_limit // 2, LEAST_PART))
    return min(size, 4 * max(sent_whole, LEAST_RESULT) - _LAST_LINE) if sent_whole else size


def parts_of(text: str, size: int = PART_CHARACTERS) -> list[str]:
    """A long reply in parts of at most `size` characters, which joined are the text; each ends
    after a line if one ends nearby, else after a word."""
    parts, start = [], 0
    while len(text) - start > size:
        end = start + size
        for mark in ("\n", " "):
            at = text.rfind(mark, end - min(_NEAR, size // 6), end)
            if at >= 0:
                end = at + 1
                break
        parts.append(text[start:end])
        start = end
    return [*parts, text[start:]]
