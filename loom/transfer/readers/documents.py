"""Plain text and Markdown: one path of nodes, whose texts in a row are the document; and Markdown
made of paragraphs."""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import NamedTuple

from loom.text.images import WEB
from loom.transfer.inputs import Input, Put, TreeInFile
from loom.transfer.node_collector import as_text
from loom.transfer.records import (
    Head,
    NodeRecord,
    Report,
    is_too_long,
    too_long,
    unreadable,
)

SPLITS = ("sections", "paragraphs", "whole")
_HEADING = re.compile(r"^ {0,3}#{1,6}(?:[ \t].*)?$", re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_GAP = re.compile(r"(?:\r?\n[ \t]*){2,}")
_TITLE = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t#]*$")
_MOST = 64 * 1024 * 1024


def each_document(file: Input) -> Iterator[TreeInFile]:
    """The one path of a text."""
    if file.path.stat().st_size > _MOST:
        raise unreadable(f"A text has at most {_MOST:,} bytes.", "split the file")
    text = file.raw().decode("utf-8")
    yield document(text, file.options.get("split", ""))


def document(text: str, split: str, title: str = "") -> TreeInFile:
    """The part of a text; `asks` names the ways in which it can be split, if there are several.
    Without a title the first heading is the title."""
    starts = _headings(text)
    title = title or _title(text, starts)
    ways = [way for way in SPLITS if len(_pieces(text, way, starts)) > 1 or way == "whole"]
    if len(ways) == 2 and "sections" in ways:
        ways = ["sections", "whole"]
    pieces = partial(_pieces, text, split or ways[0], starts)
    part = TreeInFile(title, "", 0, partial(_read, title, pieces))
    part.asks = tuple(ways) if len(ways) > 1 and not split else ()
    return part


def _title(text: str, starts: list[int]) -> str:
    """The first heading, if the text begins with it."""
    if not starts or text[: starts[0]].strip():
        return ""
    match = _TITLE.match(text[starts[0] :].partition("\n")[0].rstrip("\r"))
    return match[1][:300] if match else ""


def _headings(text: str) -> list[int]:
    """Where headings start that are not in a block of code."""
    fences: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match.start(), match[1]
        elif match[1].startswith(opened[1]):
            fences.append((opened[0], match.end()))
            opened = None
    if opened is not None:
        fences.append((opened[0], len(text)))
    starts, at = [], 0
    for match in _HEADING.finditer(text):
        while at < len(fences) and fences[at][1] <= match.start():
            at += 1
        if at == len(fences) or match.start() < fences[at][0]:
            starts.append(match.start())
    return starts


def _pieces(text: str, split: str, starts: list[int]) -> list[str]:
    """The text in pieces; joined, they are the text again."""
    if split == "sections":
        cuts = starts
    elif split == "paragraphs":
        cuts = [match.end() for match in _GAP.finditer(text)]
    else:
        cuts = []
    pieces, before = [], 0
    for cut in [*cuts, len(text)]:
        if text[before:cut].strip():
            pieces.append(text[before:cut])
            before = cut
    if before < len(text) and pieces:
        pieces[-1] += text[before:]
    return pieces


def _read(title: str, pieces: Callable[[], list[str]], put: Put, report: Report) -> Head:
    number, texts = -1, pieces()
    for number, piece in enumerate(texts):
        if is_too_long(piece):
            part = f"Part {number + 1} of the file" if len(texts) > 1 else "The text of the file"
            raise too_long(part, "divide it by headings or paragraphs")
        put(NodeRecord(number=number, parent=number - 1, text=as_text(piece, f"{number}")))
    return Head(title=title, current=number)


# -- Markdown made of paragraphs and their styles


class ReadRun(NamedTuple):
    """A piece of a paragraph; `styles` are some of strong, em, s, code; `href` is of a link."""

    text: str
    styles: frozenset[str] = frozenset()
    href: str = ""


class Block(NamedTuple):
    """A paragraph as Markdown; `kind` is p, h, li, quote, pre or row (of a table)."""

    kind: str
    text: str


_SIGNS = (("strong", "**"), ("em", "*"), ("s", "~~"))
_BETWEEN = {"li": "\n", "row": "\n", "quote": "\n>\n", "pre": "\n"}


def line_of(runs: Iterable[ReadRun]) -> str:
    """A paragraph with its styles as Markdown. Blanks at the ends of a style stay outside of it,
    because Markdown knows no other."""
    line = ""
    for (styles, href), group in groupby(runs, key=lambda run: (run.styles, run.href)):
        text = "".join(run.text for run in group)
        core = text.strip()
        if not core:
            line += text
            continue
        start = text.index(core)
        sign = "".join(sign for name, sign in _SIGNS if name in styles)
        if "code" in styles and not set(core) & {"`", "\n"}:
            sign = "`"
        shown = f"{sign}{core}{sign[::-1]}"
        if href.startswith(WEB) and not set(href) & set(" ()<>"):
            shown = f"[{shown}]({href})"
        line += text[:start] + shown + text[start + len(core) :]
    return line


def row_of(cells: list[str], is_first: bool) -> Block:
    """A row of a table; a line below the first makes it the head."""
    line = "".join(f"| {cell} " for cell in cells) + "|"
    return Block("row", line + ("\n" + "|---" * len(cells) + "|" if is_first else ""))


def cell_of(text: str) -> str:
    """A text in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def text_of_blocks(blocks: Iterable[Block]) -> str:
    """The blocks as one text: items of a list, rows and lines of code stay together."""
    parts: list[str] = []
    for kind, group in groupby(blocks, key=lambda block: block.kind):
        texts = [block.text for block in group if block.text]
        if not texts:
            continue
        if kind == "quote":
            texts = ["> " + text.replace("\n", "\n> ") for text in texts]
        joined = _BETWEEN.get(kind, "\n\n").join(texts)
        if kind == "pre":
            fence = "`" * max(3, *(len(ticks) + 1 for ticks in re.findall("`+", joined)), 3)
            joined = f"{fence}\n{joined}\n{fence}"
        parts.append(joined)
    return "\n\n".join(parts)
