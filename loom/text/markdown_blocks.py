"""Where the tasks and the code of a text are, as its Markdown is drawn (`loom.site.markdown`).
Pure, and linear in the length of the text."""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.reference import reference
from markdown_it.token import Token

from loom.text.code_spans import code_spans
from loom.text.images import WEB

# Every row of a table is as wide as its head, however short the row: a wide head with many rows
# would make the HTML the square of the text. Such texts are shown without tables.
MAX_CELLS = 20_000

_MARK = re.compile(r"\[([ xX])\] (?=[ \t]*\S)")
_TITLE = r"""(?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))?[ \t]*\Z"""
_NOTE_OR_DEFINITION = re.compile(rf"\[\^[^\[\]]+\]:|\[[^\[\]]+\]:[ \t]+[^\s<>]+{_TITLE}")
_LEADING = re.compile(
    rf"\[(?!\^)[^\[\]]+\]:[ \t]+<?(?:{'|'.join(map(re.escape, (*WEB, 'image:')))})"
    rf"[^\s<>]*>?{_TITLE}"
)
_NOTES = "notes"  # in the env: of which paragraph, up to which line they are, and whether no more
_IN_PARAGRAPHS: RuleOptionsType = {"alt": ["paragraph"]}
_LINE_END = re.compile(r"\r\n?|\n")


def blocks_parser(*, tables: bool, **options: Any) -> MarkdownIt:
    """The Markdown of Heddle: without raw HTML; each line end is one."""
    given = {"html": False, "breaks": True, "linkify": False}
    parser = with_shown_definitions(MarkdownIt("commonmark", given, **options))
    return parser.enable(["table", "strikethrough"] if tables else ["strikethrough"])


def with_shown_definitions(parser: MarkdownIt) -> MarkdownIt:
    """The parser, which takes definitions of links out of a text only if they lead to a page or an
    image: in CommonMark `[^1]: Ibid.` is one, too, and its word would be shown nowhere. One that
    leads somewhere is taken out below one that does not, too, which is a paragraph then."""
    parser.block.ruler.at("reference", _definition)
    parser.block.ruler.before("reference", "definition_below", _ends_paragraph, _IN_PARAGRAPHS)
    return parser


def _definition(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if state.src.startswith("[^", state.bMarks[first] + state.tShift[first]):
        return False
    line, known = state.line, state.env.get("references", {})
    # An empty one for this definition alone: a label that is known already would not be added.
    fresh: dict[str, Any] = {}
    state.env["references"] = fresh
    is_definition = reference(state, first, last, silent)
    state.env["references"] = known
    if any(not entry["href"].startswith((*WEB, "image:")) for entry in fresh.values()):
        state.line = line
        return False
    for label, entry in fresh.items():
        known.setdefault(label, entry)
    return is_definition


def _ends_paragraph(state: StateBlock, first: int, _last: int, silent: bool) -> bool:
    """Whether a paragraph that consists of notes and definitions so far ends before one that leads
    to a page or an image. Looks at single lines: definitions of several lines stay in the
    paragraph."""
    if not silent or state.line >= first or not _LEADING.match(_line_of(state, first)):
        return False
    # Each line is looked at once for its paragraph, however many definitions it has.
    start, until, is_end = state.env.get(_NOTES, (-1, -1, False))
    if start != state.line:
        until, is_end = state.line, False
    while until < first and not is_end:
        if _NOTE_OR_DEFINITION.match(_line_of(state, until)):
            until += 1
        else:
            is_end = True
    state.env[_NOTES] = state.line, until, is_end
    return bool(until >= first)


def _line_of(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


_with_tables, _without_tables = blocks_parser(tables=True), blocks_parser(tables=False)


def may_have_tables(text: str) -> bool:
    """Whether tables of a text are drawn as such."""
    lines = text.split("\n")
    return max(line.count("|") + 1 for line in lines) * len(lines) <= MAX_CELLS


def is_task(tokens: Sequence[Token], at: int, env: Mapping[str, Any]) -> bool:
    """Whether the list item that begins at a token begins with the mark of a task, `[ ] ` or
    `[x] `, with words after it."""
    words = at + 2  # after the start of its first paragraph
    if tokens[at].type != "list_item_open" or words >= len(tokens):
        return False
    mark = _MARK.match(tokens[words].content) if tokens[words].type == "inline" else None
    if mark is None or tokens[words - 1].type != "paragraph_open":
        return False
    return mark[1].upper() not in env.get("references", {})  # then it is drawn as a link


@dataclass(frozen=True)
class TaskItem:
    """A task as it is drawn: its line from `first` up to `last`, where its mark is (the place
    between the brackets), and `until`, where its list item ends with all its parts."""

    first: int
    last: int
    mark: int
    until: int


@dataclass(frozen=True)
class TextBlocks:
    """The tasks of a text in order, and the pieces of code in it (first character, the one after
    the last)."""

    tasks: tuple[TaskItem, ...]
    code: tuple[tuple[int, int], ...]

    def is_code(self, place: int) -> bool:
        """Whether a character is in code."""
        at = bisect_right(self.code, place, key=itemgetter(0)) - 1
        return at >= 0 and place < self.code[at][1]


def blocks_of(text: str) -> TextBlocks:
    """The tasks and the code of a text."""
    parser = _with_tables if may_have_tables(text) else _without_tables
    env: dict[str, Any] = {}
    tokens: list[Token] = []
    parser.block.parse(_LINE_END.sub("\n", text).replace("\0", "\ufffd"), parser, env, tokens)
    ends = [match.span() for match in _LINE_END.finditer(text)]
    starts = [0, *(end for _, end in ends), len(text)]
    stops = [*(start for start, _ in ends), len(text)]

    def start(line: int) -> int:
        return starts[min(line, len(starts) - 1)]

    tasks, code = [], []
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        if token.type in ("fence", "code_block"):
            code.append((start(token.map[0]), start(token.map[1])))
        elif token.type == "inline" and "`" in token.content:
            code += code_spans(text, start(token.map[0]), start(token.map[1]))
        elif is_task(tokens, at, env):
            line = (tokens[at + 2].map or token.map)[0]
            mark = text.index("[", start(line)) + 1  # no sign of a quote or an item has one
            tasks.append(TaskItem(start(line), stops[line], mark, start(token.map[1])))
    return TextBlocks(tuple(tasks), tuple(sorted(set(code))))
