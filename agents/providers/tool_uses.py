"""What a provider reports about tools that it ran itself: content blocks of the Anthropic-shaped
API, annotations of the OpenAI-shaped one. Only what people can read is kept; what is encrypted, and
what has another form, stays in the bytes of the call."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agents.providers.values import ToolUsed

MOST_INPUT = 64 * 1024  # characters of what a tool is asked that are read
MOST_LEVELS = 8  # of a result that are read
COUNTED = "server_tool_use"  # what the usage of an answer calls the counts of tools
MOST_COUNTED = 1_000_000  # a higher count is not plausible
CITED = "citations"  # the name of pages that an answer of the OpenAI-shaped API names
# What a tool was asked, by the first of these that its input has.
_ASKED = ("query", "url", "code", "command", "path")
# Fields of a result that people can read, each with the label of its line.
_READABLE = (
    *(("text", ""), ("stdout", ""), ("stderr", "stderr"), ("return_code", "return code")),
    *(("error_code", "error"), ("error_message", "error"), ("file_id", "file")),
    *(("tool_name", ""),),
)


@dataclass
class _Use:
    """A tool that runs: its name, and its input, of which the JSON arrives in pieces."""

    name: str
    given: Any
    pieces: list[str] = field(default_factory=list)
    length: int = 0


class ToolBlocks:
    """Reads the content blocks of tools in one answer. A block of another kind says nothing."""

    def __init__(self) -> None:
        self._uses: dict[str, _Use] = {}
        self._at: dict[int, _Use] = {}

    def begin(self, at: Any, block: Any) -> Iterator[ToolUsed]:
        """Reads a block that begins at the place `at` of the answer; a result ends its use."""
        kind = _text(block.get("type")) if isinstance(block, dict) else ""
        if kind.endswith("_tool_use"):
            server = _text(block.get("server_name"))
            name = _text(block.get("name"))
            use = _Use(f"{server}.{name}" if server else name, block.get("input"))
            self._uses[_text(block.get("id"))] = use
            if isinstance(at, int):
                self._at[at] = use
        elif kind.endswith("_tool_result"):
            known = self._uses.pop(_text(block.get("tool_use_id")), None)
            use = known or _Use(kind.removesuffix("_tool_result"), None)
            yield ToolUsed(use.name, _asked(use), "\n".join(_lines(block.get("content"))))

    def grow(self, at: Any, delta: Any) -> None:
        """Reads a piece of the input of the tool at a place of the answer."""
        piece = delta.get("partial_json") if isinstance(delta, dict) else None
        use = self._at.get(at) if isinstance(at, int) else None
        if use is not None and isinstance(piece, str) and use.length < MOST_INPUT:
            use.pieces.append(piece)
            use.length += len(piece)

    def end(self) -> Iterator[ToolUsed]:
        """The uses of which no result has come, in their order."""
        uses, self._uses = self._uses, {}
        for use in uses.values():
            yield ToolUsed(use.name, _asked(use), "")


class Citations:
    """Gathers the pages that one candidate names (`url_citation`), each once."""

    def __init__(self) -> None:
        self._pages: dict[str, Mapping[str, Any]] = {}

    def read(self, annotations: Any) -> None:
        """Notes the pages of a piece of the answer."""
        for annotation in annotations if isinstance(annotations, list) else ():
            page = annotation.get("url_citation") if isinstance(annotation, dict) else None
            if isinstance(page, dict) and _text(page.get("url")):
                self._pages.setdefault(page["url"], page)

    def end(self, index: int) -> Iterator[ToolUsed]:
        """The pages as one use, if there are any."""
        pages, self._pages = list(self._pages.values()), {}
        if pages:
            yield ToolUsed(CITED, "", "\n".join(_lines(pages)), index)


def tools_counted(usage: Mapping[str, Any]) -> dict[str, int]:
    """What the usage of an answer counts of tools, in the provider's names."""
    counted = usage.get(COUNTED)
    return {
        name: count
        for name, count in (counted.items() if isinstance(counted, dict) else ())
        if isinstance(count, int) and 0 <= count <= MOST_COUNTED and name.isidentifier()
    }


def _asked(use: _Use) -> str:
    given = use.given
    if use.pieces:
        given = _value("".join(use.pieces))
    if not isinstance(given, dict):
        return ""
    words = next((text for name in _ASKED if (text := _text(given.get(name)))), "")
    return words or (json.dumps(given, ensure_ascii=False) if given else "")


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _lines(content: Any, level: int = 0) -> Iterator[str]:
    """The lines of a result: pages numbered, as those of a search are, other texts as they are."""
    if level > MOST_LEVELS:
        return
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        pages = 0
        for part in content:
            is_page = isinstance(part, dict) and bool(_text(part.get("url")))
            pages += is_page
            yield from _page(part, pages) if is_page else _lines(part, level + 1)
            if is_page:
                yield from _lines(part.get("content"), level + 1)
    elif isinstance(content, dict):
        yield from _of_object(content, level)


def _page(page: Mapping[str, Any], number: int) -> Iterator[str]:
    """`1. title`, the address and the age of a page."""
    url = " ".join(_text(page.get("url")).split())
    yield f"{number}. {' '.join(_text(page.get('title')).split()) or url}"
    yield f"   {url}"
    if age := " ".join(_text(page.get("page_age")).split()):
        yield f"   {age}"


def _of_object(value: Mapping[str, Any], level: int) -> Iterator[str]:
    if url := _text(value.get("url")):
        yield url
    if title := _text(value.get("title")):
        yield title
    for name, label in _READABLE:
        text = value.get(name)
        if isinstance(text, int) and not isinstance(text, bool):
            text = str(text)
        if isinstance(text, str) and text:
            yield f"{label}: {text}" if label else text
    source = value.get("source")
    if isinstance(source, dict) and source.get("type") == "text":
        yield _text(source.get("data"))
    yield from _lines(value.get("content"), level + 1)
    yield from _lines(value.get("tool_references"), level + 1)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
