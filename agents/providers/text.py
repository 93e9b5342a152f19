"""From bytes to text that may be kept: half characters, NUL and lone surrogates become U+FFFD."""

import codecs
import re

_LINES = re.compile(r"\r\n|\n|\r")
_LONE = re.compile("[\x00\ud800-\udfff]")
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")
REPLACEMENT = "\ufffd"


class Cleaner:
    """Cleans the text of one candidate, piece by piece. Half a pair of surrogates at the end
    of a piece waits for the other half."""

    def __init__(self) -> None:
        self._half = ""

    def clean(self, text: str) -> str:
        """The piece, with what was held back before it."""
        text = self._half + text
        self._half = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return whole(text)

    def rest(self) -> str:
        """What is still held back, once nothing more comes."""
        half, self._half = self._half, ""
        return whole(half)


def whole(text: str) -> str:
    """The text without what no database keeps: half characters and NUL become U+FFFD."""
    if not _LONE.search(text):
        return text
    text = _PAIR.sub(lambda pair: _joined(pair[1], pair[2]), text)
    return _LONE.sub(REPLACEMENT, text)


def _joined(high: str, low: str) -> str:
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))


class TooLong(ValueError):
    """A line or an event that never ends."""


class Events:
    """The `data` of server-sent events out of bytes cut anywhere.

    Lines end by LF, CR LF or CR; broken UTF-8 becomes U+FFFD; an event that the end of the
    stream cuts off is given by `rest`. Source: HTML standard, "event stream interpretation".
    """

    def __init__(self, limit: int = 4 * 1024 * 1024) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._limit = limit
        self._line: list[str] = []  # joined once it ends: it may come byte by byte
        self._data: list[str] = []
        self._size = 0  # characters in both, and one for each line
        self._held = ""

    def feed(self, chunk: bytes, *, final: bool = False) -> list[str]:
        """The events that `chunk` completes. Raises TooLong."""
        text = self._held + self._decoder.decode(chunk, final)
        # A CR at the very end may be the first half of CR LF.
        self._held = "\r" if text.endswith("\r") and not final else ""
        *ends, rest = _LINES.split(text.removesuffix(self._held))
        found = []
        for end in ends:
            event = self._take("".join([*self._line, end]))
            self._line = []
            if event is not None:
                found.append(event)
            self._size = 0 if not self._data else self._size + len(end) + 1
        self._line.append(rest)
        self._size += len(rest)
        if self._size > self._limit:
            raise TooLong
        return found

    def rest(self) -> list[str]:
        """The last event, where the stream ended without the blank line after it."""
        found = self.feed(b"", final=True)
        for line in ("".join(self._line), ""):
            event = self._take(line)
            if event is not None:
                found.append(event)
        self._line = []
        return found

    def _take(self, line: str) -> str | None:
        """Reads one line; the event it ends, if it does."""
        if not line:
            data, self._data = self._data, []
            return "\n".join(data) if data else None
        name, _, value = line.partition(":")
        if name == "data":
            self._data.append(value.removeprefix(" "))
        return None
