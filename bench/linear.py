"""How the cost of each reader of foreign text grows: every worst kind at two sizes, eight times
apart. A reader that takes one pass costs about eight times as much; one that takes the square,
64 times.

Run: python -m bench.linear [divisor of the sizes]
"""

import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from bench.installation import open_installation

TIMES = 8
SQUARE = TIMES**1.5  # between one pass and the square
LEAST_S = 0.02  # what takes less is the clock's noise

Reader = Callable[[str], object]
MARKS = ['"', '\\"', "\\", "[", "{", "[]", "1", " ", "\n", "a", "a ", "->", "→ x\n", "(", "<", "#"]
JSON = ['"', '\\"', '"\\', "\\", "[", "{", '{"a":', "[],", '"a",', "1", "-", " ", '"\\u', '\\\\"']
PROSE = [
    "*",
    "_",
    "`",
    "~",
    "[",
    "[[",
    "![[a7x2]] ",
    "![",
    "[a](",
    "> ",
    "- ",
    "|a",
    "a|b\n-|-\n",
    "<",
    "&",
    "\\",
    "\n",
]
CODE = [" ", "\n", "\t", "x\n", "a ", "(", "{", '"', "//", "/*", "#", "<a ", "1", "_", "$("]
LINES = [
    "a",
    "a ",
    "a,",
    "a:",
    '"a" ',
    '"',
    "\\",
    "please ",
    "from:a7x2 ",
    "lines:3-9,",
    "§a ",
    "#",
]
REPLY = ["→ x\n", "→ x\nprose\n", '→ respond "\n', "→ respond\n", "->", "\\→ x\n", "```\n", "←\n"]
STREAM = ["data: {}\n\n", "data:\n", "\r", "\n", ":", "a", "data: a\n", "\r\n", "d"]
HEADER = [",", ";", "a,", "a;", "q=", 'W/"a",', '"', " ", "a=b;", "en,", "*", "=", "a/b,", "-"]


def growth(read: Reader, piece: str, size: int) -> tuple[float, float]:
    """Seconds of processor time for a text of the size, and for one TIMES as long."""
    from rest_framework.exceptions import APIException

    from loom.errors import CommandError
    from loom.language.refs import ParseError

    times = []
    for long in (size, size * TIMES):
        text = (piece * (long // len(piece) + 1))[:long]
        best = float("inf")
        for _ in range(2):
            began = time.process_time()
            with contextlib.suppress(CommandError, ParseError, APIException):
                read(text)
            best = min(best, time.process_time() - began)
        times.append(best)
    return times[0], times[1]


Readers = dict[str, tuple[Reader, list[str], int]]


def of_requests() -> Readers:
    """What reads requests and files, with its worst kinds and the smaller size."""
    from django.test import RequestFactory
    from rest_framework.negotiation import DefaultContentNegotiation
    from rest_framework.renderers import JSONRenderer
    from rest_framework.request import Request

    from loom.search.index import fold, match
    from loom.search.queries import MAX_QUERY
    from loom.site.api_requests import read_json
    from loom.transfer.files import demand_readable

    file = Path(tempfile.mkdtemp()) / "file.json"

    def a_file(text: str) -> None:
        file.write_text(f'"{text}" {"1" * 3999} {text}')
        demand_readable(file, lambda at: None)

    def headers(text: str) -> None:
        names = ("ACCEPT", "ACCEPT_LANGUAGE", "COOKIE", "AUTHORIZATION", "ORIGIN", "RANGE")
        bare = RequestFactory().get("/")
        bare.META.update({f"HTTP_{name}": text.replace("\n", " ") for name in names})
        request = Request(bare)
        _ = bare.COOKIES, bare.headers
        DefaultContentNegotiation().select_renderer(request, [JSONRenderer()])

    return {
        "body": (lambda text: read_json(text.encode()), JSON, 256 * 1024),
        "import": (a_file, JSON, 256 * 1024),
        "search": (lambda text: match(fold(text[:MAX_QUERY]), text), MARKS, 128 * 1024),
        "header": (headers, HEADER, 8 * 1024),
    }


def of_texts() -> Readers:
    """What reads lines, replies, streams and texts, likewise."""
    from agents.agent_prompt import language
    from agents.providers.attempt import Cutter, data_of, read_reply, whole
    from loom.engine import registry
    from loom.language.lines import read
    from loom.site import markdown

    def a_line(text: str) -> None:
        read(f"view {text}".replace("\n", " "), registry.language())

    def a_reply(text: str) -> None:
        cutter = Cutter(language())
        for at in range(0, len(text), 100):
            cutter.feed(text[at : at + 100])
        read_reply(text, language(), finished=True)

    def a_stream(text: str) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            for at in range(0, len(text), 100):
                yield text[at : at + 100].encode()

        async def read_all() -> None:
            async for event in data_of(pieces(), limit=1 << 30):
                whole(event)

        asyncio.run(read_all())

    def highlighted(text: str) -> None:
        for name in ("c", "cs", "java", "make", "python", "markdown", "perl"):
            markdown.coloured(f"a{text}"[: markdown.MAX_COLOURED], name)

    def rendered(text: str) -> None:
        markdown._rendered.__wrapped__(text, "/trees/a7x2", True, "en")

    return {
        "line": (a_line, LINES, 7 * 1024),
        "reply": (a_reply, [*REPLY, *MARKS], 32 * 1024),
        "Markdown": (rendered, [*PROSE, *MARKS], 5_000),
        "highlighter": (highlighted, CODE, 1_200),
        "stream": (a_stream, [*STREAM, *MARKS], 128 * 1024),
    }


def main(less: int) -> None:
    """Prints the worst kind of each reader, by how it grows and by what it costs."""
    print(f"{'reader':12} {'size':>9} {'grows':>7} {'by':14} {'longest':>9} {'by':14}")
    for name, (read, kinds, size) in {**of_requests(), **of_texts()}.items():
        rows = []
        for piece in kinds:
            short, long = growth(read, piece, size // less)
            rows.append((long / max(short, LEAST_S), long, piece))
        worst, dearest = max(rows), max(rows, key=lambda row: row[1])
        verdict = "" if worst[0] < SQUARE else "  ← NOT LINEAR"
        print(
            f"{name:12} {size // less * TIMES:9,} {worst[0]:6.1f}x {worst[2]!r:14}"
            f" {dearest[1]:8.2f}s {dearest[2]!r:14}{verdict}",
            flush=True,
        )


if __name__ == "__main__":
    open_installation()
    main(int(sys.argv[1]) if sys.argv[1:] else 1)
