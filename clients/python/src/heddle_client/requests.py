"""What both clients share: a request as data, when it may be sent again, how an answer is read, and
the frames of a stream."""

import json
import random
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import httpx2

from heddle_client.errors import refusal

LIMITS = httpx2.Timeout(150, connect=5)  # `wait` is at most 120 seconds
# A stream sends a heartbeat every 20 seconds; without one for this long its connection is lost.
STREAM_LIMITS = httpx2.Timeout(60, connect=5)
RETRIES = 3
LONGEST_S = 30.0  # between two tries
TRANSIENT = (502, 503, 504)
_ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Request:
    """One request: `is_safe` if it may be sent twice, because it only reads, or has a key by which
    the server knows it again."""

    method: str
    path: str
    params: dict[str, Any] = field(default_factory=dict)
    json: Any = None

    @property
    def is_safe(self) -> bool:
        """Whether it may be sent again when no answer came."""
        has_key = isinstance(self.json, dict) and bool(self.json.get("key"))
        return self.method in ("GET", "HEAD") or has_key

    @property
    def is_line(self) -> bool:
        """Whether it runs a line, which a model may fail: a 502 is then an answer."""
        return self.path.endswith("/commands")

    def options(self) -> dict[str, Any]:
        """The arguments of a call of httpx."""
        params = {
            name: _word(param) for name, param in self.params.items() if param not in (None, "")
        }
        body = {} if self.json is None else {"json": self.json}
        return {"method": self.method, "url": self.path, "params": params, **body}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def demand_id(value: str) -> str:
    """An id as it may stand in an address. Raises ValueError: anything else would lead to another
    address."""
    if not _ID.fullmatch(value):
        raise ValueError(f"{value!r} is no id.")
    return value


def may_retry(request: Request, answer: httpx2.Response | None, tries: int) -> bool:
    """Whether to send a request again after this answer (None: none came)."""
    if tries >= RETRIES or not request.is_safe:
        return False
    if answer is None:
        return True
    if answer.status_code == 429:
        # Too many requests a minute: it says when to come again. A number that is too large, which
        # has the same status, says nothing, and stays too large.
        return "retry-after" in answer.headers
    return answer.status_code in TRANSIENT and not (answer.status_code == 502 and request.is_line)


def pause(answer: httpx2.Response | None, tries: int) -> float:
    """Seconds before the next try: what the server asks for, else twice as long each time, with a
    quarter of chance, so that many clients do not come at once."""
    asked = answer.headers.get("retry-after", "") if answer is not None else ""
    if asked.isdigit():
        return min(float(asked), LONGEST_S)
    longest: float = min(0.5 * 2**tries, 8.0)
    return longest * (1 - 0.25 * random.random())  # noqa: S311


def value_of(answer: httpx2.Response) -> Any:
    """The JSON of an answer; raises the refusal that it is."""
    if answer.status_code >= 400:
        raise refused(answer)
    return answer.json()


def refused(answer: httpx2.Response) -> Exception:
    """The refusal that an answer is; its body must have been read."""
    try:
        body = answer.json()
    except ValueError:
        body = None
    return refusal(answer.status_code, body, answer.headers.get("retry-after"))


# Frames of a stream.


class Frames:
    """Cuts a stream of server-sent events into frames, line by line, and remembers the seq of the
    last event, from which another connection goes on. `again_s` is what the server asks clients to
    wait before that."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.again_s = 2.0
        self._kind, self._data, self._line = "", "", ""

    def headers(self) -> dict[str, str]:
        """What a new connection says, so that nothing is sent twice or left out. A frame that the
        last one broke off is dropped."""
        self._kind = self._data = self._line = ""
        last = {"last-event-id": str(self.since)} if self.since else {}
        return {"accept": "text/event-stream", **last}

    def read(self, piece: str) -> Iterator[dict[str, Any]]:
        """The frames that end within this piece of the stream, which may be cut anywhere. Lines end
        with a line feed alone: texts may hold U+2028 and others, at which `iter_lines` cuts too."""
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            frame = self.add(line.removesuffix("\r"))
            if frame is not None:
                yield frame

    def add(self, line: str) -> dict[str, Any] | None:
        """The frame that ends with this line; None before."""
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                self._kind = value
            elif name == "data":
                self._data += value
            elif name == "retry" and value.isdigit():
                self.again_s = int(value) / 1000
            return None
        kind, data = self._kind, self._data
        self._kind = self._data = ""
        if not data:
            return None
        frame: dict[str, Any] = json.loads(data)
        if kind == "close":
            return {"type": "close", **frame}
        if frame.get("type") == "event":
            self.since = frame["event"]["seq"]
        return frame


def agent(name: str) -> str:
    """The ref of a model by its name or id."""
    return "agent:" + '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass
class Progress:
    """How far running answers have come: the text so far of each, and which have ended, by the ids
    of their generations."""

    texts: dict[str, str]
    ended: set[str] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        """Whether all have ended."""
        return len(self.ended) >= len(self.texts)

    def complete(self, answers: Sequence[Any]) -> bool:
        """Takes the texts of ended generations; returns whether that told something new: those
        that ended before the stream began were never in it."""
        whole = {answer["id"]: answer["text"] for answer in answers}
        is_new = whole != self.texts
        self.texts = whole
        return is_new

    def take(self, frame: dict[str, Any]) -> bool:
        """Takes a frame of the tree in; returns whether it told something new."""
        if frame["type"] == "delta" and frame["generation"] in self.texts:
            before = "" if frame.get("whole") else self.texts[frame["generation"]]
            self.texts[frame["generation"]] = before + frame["text"]
            return True
        if frame["type"] == "event" and frame["event"]["kind"] == "generation.ended":
            key = frame["event"]["payload"]["generation"]["id"]
            if key in self.texts and key not in self.ended:
                self.ended.add(key)
                return True
        return False


def opened(file: str | Path | IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    """A file to write into: one that is open already stays so."""
    return Path(file).open("wb") if isinstance(file, (str, Path)) else nullcontext(file)


def lines_of(content: bytes) -> Iterator[Any]:
    """The values of JSON lines."""
    for line in content.splitlines():
        if line:
            yield json.loads(line)


def frame_of(table: str, columns: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> Any:
    """A pandas data frame of the rows of a table, with times as times and numbers that may be
    missing as such. Raises ImportError if pandas is not there."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("Data frames need pandas: pip install heddle-client[frames]") from error
    frame = pandas.DataFrame(rows, columns=[column["name"] for column in columns])
    types = {"integer": "Int64", "real": "Float64", "truth": "boolean"}
    for column in columns:
        name, kind = column["name"], column["type"]
        if kind == "time":
            frame[name] = pandas.to_datetime(frame[name], utc=True, format="ISO8601")
        elif kind in types:
            frame[name] = frame[name].astype(types[kind])
    frame.attrs["heddle"] = table
    return frame
