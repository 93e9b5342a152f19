"""The client without asyncio, made from `async_client.py` by `manage.py client`."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal, Self

import httpx2

from heddle_client import types
from heddle_client.errors import ConnectionFailed, HeddleError
from heddle_client.requests import (
    LIMITS,
    STREAM_LIMITS,
    Frames,
    Progress,
    Request,
    agent,
    demand_id,
    frame_of,
    lines_of,
    may_retry,
    opened,
    pause,
    refused,
    value_of,
)

Mode = Literal["dialogue", "buffer"]
OnProgress = Callable[[Progress], object]


class Heddle:
    """A Heddle at an address, as the person or agent whose API key is given. Close it, or use it in
    a `with`."""

    def __init__(
        self, url: str, key: str, *, transport: httpx2.BaseTransport | None = None
    ) -> None:
        self._http = httpx2.Client(
            base_url=f"{url.rstrip('/')}/api/",
            headers={"authorization": f"Bearer {key}"},
            timeout=LIMITS,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    # Any address.

    def request(self, method: str, path: str, json: Any = None, **params: Any) -> Any:
        """The JSON of one request below `/api/`; raises what it is refused by. A request that only
        reads, or whose body has a `key`, is sent again when no answer comes."""
        return value_of(self._answer(Request(method, path, params, json)))

    def _answer(self, request: Request) -> httpx2.Response:
        tries = 0
        while True:
            answer = None
            try:
                answer = self._http.request(**request.options())
            except httpx2.TransportError as error:
                if not may_retry(request, None, tries):
                    raise ConnectionFailed(str(error) or type(error).__name__) from error
            if answer is not None and not may_retry(request, answer, tries):
                return answer
            time.sleep(pause(answer, tries))
            tries += 1

    def pages(self, path: str, **params: Any) -> Iterator[Any]:
        """All results of a list, a page at a time: by its `next`, else by `offset`."""
        offset = 0
        while True:
            page = self.request("GET", path, **params)
            for result in page["results"]:
                yield result
            if page.get("next") is not None:
                params = {**params, "after": page["next"]}
                continue
            offset += len(page["results"])
            if "next" in page or not page["results"] or offset >= page["count"]:
                return
            params = {**params, "offset": offset}

    # What there is.

    def me(self) -> types.Me:
        """Who the key belongs to."""
        person: types.Me = self.request("GET", "me")
        return person

    def groves(self) -> Iterator[types.Grove]:
        """The groves of the caller."""
        for grove in self.pages("groves"):
            yield grove

    def participants(self, grove: str = "") -> Iterator[types.Participant]:
        """The people and models of a grove; without one, of the caller's first."""
        for participant in self.pages("participants", grove=grove):
            yield participant

    def new_participant(self, sent: types.ParticipantSent) -> types.Participant:
        """Adds a model, for owners."""
        participant: types.Participant = self.request("POST", "participants", dict(sent))
        return participant

    def trees(self, grove: str = "") -> Iterator[types.Tree]:
        """The trees of the caller's groves, or of one, the last used first."""
        for tree in self.pages("trees", grove=grove):
            yield tree

    def tree(self, id: str) -> "Tree":
        """A tree by its id; nothing is asked for before its methods are called."""
        return Tree(self, demand_id(id))

    def new_tree(self, title: str, *, mode: Mode = "dialogue", **more: Any) -> "Tree":
        """Makes a tree; `more` are its other fields, such as `grove` or `system_context`."""
        body = {"title": title, "mode": mode, **more}
        return Tree(self, (self.request("POST", "trees", body))["id"])

    # Streams.

    def _stream(self, path: str, frames: Frames) -> AbstractContextManager[httpx2.Response]:
        return self._http.stream("GET", path, headers=frames.headers(), timeout=STREAM_LIMITS)

    def frames(self, path: str, since: int = 0) -> Iterator[dict[str, Any]]:
        """The frames of a stream of events, such as `trees/ID/events`, without end: a connection
        that is lost is made again, after the last event that came."""
        state = Frames(since)
        while True:
            try:
                with self._stream(path, state) as answer:
                    if answer.status_code in (429, 503):
                        raise httpx2.ReadError("The server is full.")
                    if answer.status_code >= 400:
                        answer.read()
                        raise refused(answer)
                    for piece in answer.iter_text():
                        for frame in state.read(piece):
                            if frame["type"] == "close" and frame["code"] in (4401, 4404):
                                raise HeddleError("The caller may no longer read this stream.")
                            yield frame
            except httpx2.TransportError:
                pass
            time.sleep(state.again_s)
            yield {"type": "reconnected", "since": state.since}

    def download(self, path: str, file: IO[bytes], **params: Any) -> None:
        """Writes the bytes of an address into a file, as they come."""
        options = Request("GET", path, params).options()
        try:
            with self._http.stream(**options) as answer:
                if answer.status_code >= 400:
                    answer.read()
                    raise refused(answer)
                for piece in answer.iter_bytes():
                    file.write(piece)
        except httpx2.TransportError as error:
            raise ConnectionFailed(str(error) or type(error).__name__) from error


class Tree:
    """One tree, by its id."""

    def __init__(self, heddle: Heddle, id: str) -> None:
        self.heddle, self.id = heddle, id

    def __repr__(self) -> str:
        return f"Tree({self.id!r})"

    def _get(self, path: str, **params: Any) -> Any:
        return self.heddle.request("GET", f"trees/{self.id}/{path}".rstrip("/"), **params)

    def read(self) -> types.Tree:
        """The tree itself: title, sizes, the caller's workspace."""
        tree: types.Tree = self._get("")
        return tree

    def node(self, id: str) -> types.Node:
        """One node in full."""
        node: types.Node = self._get(f"nodes/{demand_id(id)}")
        return node

    def nodes(self) -> Iterator[types.NodeLine]:
        """All nodes without their texts, the oldest first."""
        for line in self.heddle.pages(f"trees/{self.id}/nodes", limit=1000):
            yield line

    def path(self, node: str = "") -> list[types.Node]:
        """The nodes from the root to `node`, or to the caller's position."""
        path: types.Path = self._get("path", node=node)
        return path["nodes"]

    # Lines and commands.

    def run(
        self, line: str, *, at: str = "", wait: float = 0, key: str = "", dry_run: bool = False
    ) -> types.Answer:
        """Runs a line, such as `prune a7x2`. With a `key` it is safe to send twice: the server
        keeps the answer, so it is sent again when none comes."""
        return self._ran({"line": line}, at=at, wait=wait, key=key, dry_run=dry_run)

    def do(
        self,
        command: str,
        args: Mapping[str, Any] | None = None,
        *,
        at: str = "",
        wait: float = 0,
        key: str = "",
    ) -> types.Answer:
        """Runs a command by name with its arguments, as `GET /api/commands` describes them."""
        body = {"command": command, "args": dict(args or {})}
        return self._ran(body, at=at, wait=wait, key=key)

    def _ran(self, body: dict[str, Any], **more: Any) -> types.Answer:
        given = {name: value for name, value in more.items() if value}
        path = f"trees/{self.id}/commands"
        answer: types.Answer = self.heddle.request("POST", path, {**body, **given})
        return answer

    def respond(self, text: str, *, at: str = "", key: str = "") -> str:
        """Adds a text below `at`, or the position; returns the id of its node."""
        return (self.do("respond", {"content": text}, at=at, key=key))["refs"][0]

    def fan_out(
        self,
        models: Sequence[str],
        *,
        n: int = 1,
        at: str = "",
        key: str = "",
        on_progress: OnProgress | None = None,
        seconds: float = 600,
    ) -> list[types.GenerationBody]:
        """Asks each of these models (by name or id) for `n` continuations, and waits for them."""
        args = {"n": n, "using": [agent(model) for model in models]}
        answer = self.do("continue", args, at=at, key=key)
        return self.wait(answer, on_progress=on_progress, seconds=seconds)

    def wait(
        self,
        answer: types.Answer,
        *,
        on_progress: OnProgress | None = None,
        seconds: float = 600,
    ) -> list[types.GenerationBody]:
        """Waits for the generations that an answer started, and returns them. `on_progress` is
        called whenever one has more text or has ended. Raises TimeoutError after `seconds`."""
        progress = Progress(dict.fromkeys(answer["generations"], ""))
        end = time.monotonic() + seconds
        since = max(answer["events"], default=0)
        if progress.texts:
            for frame in self.frames(since=since):
                if progress.take(frame) and on_progress is not None:
                    on_progress(progress)
                if progress.is_over:
                    break
                if time.monotonic() > end:
                    raise TimeoutError("The answers have not ended; they go on in the server.")
        answers = []
        for key in progress.texts:
            answers.append(self.heddle.request("GET", f"generations/{key}"))
        if progress.complete(answers) and on_progress is not None:
            on_progress(progress)
        return answers

    # Live.

    def frames(self, since: int = 0) -> Iterator[dict[str, Any]]:
        """Everything that happens in the tree: frames `event`, `delta`, `presence`, `heartbeat`."""
        for frame in self.heddle.frames(f"trees/{self.id}/events", since):
            yield frame

    def events(self, since: int = 0) -> Iterator[types.Event]:
        """The events after seq `since` and all that follow, each once and in order, however often
        the connection is lost."""
        for frame in self.frames(since):
            if frame["type"] == "event":
                yield frame["event"]

    # Tables and files.

    def rows(self, table: str) -> list[dict[str, Any]]:
        """The rows of `nodes`, `versions`, `calls`, `choices`, `events` or `links`."""
        request = Request("GET", f"trees/{self.id}/tables/{table}")
        answer = self.heddle._answer(request)
        if answer.status_code >= 400:
            raise refused(answer)
        return list(lines_of(answer.content))

    def frame(self, table: str) -> Any:
        """A table as a pandas data frame."""
        listed: types.TablesOfTree = self._get("tables")
        rows = self.rows(table)
        columns = next(entry["columns"] for entry in listed["results"] if entry["name"] == table)
        return frame_of(table, [dict(entry) for entry in columns], rows)

    def export(
        self, file: str | Path | IO[bytes], format: str = "heddle", **params: Any
    ) -> None:
        """Writes the tree into a file: `heddle`, `zip`, `parquet`, `markdown`, …"""
        path = f"trees/{self.id}/export"
        with opened(file) as out:
            self.heddle.download(path, out, format=format, **params)
