"""A viewer of a tree: hears what is sent to its group, as a web process does."""

import asyncio
import threading
from types import TracebackType
from typing import Any

from channels.layers import get_channel_layer

from agents.providers.transport import the_loop
from loom.engine.announcements import group_of
from loom.engine.streams import name_of
from loom.trees.models import Tree
from tests.patience import PATIENCE_S


class Watcher:
    """Gathers the messages of a tree's group while its block runs."""

    def __init__(self, tree: Tree) -> None:
        self.messages: list[dict[str, Any]] = []
        self._group = group_of(name_of(tree))
        self._came = threading.Condition()

    def __enter__(self) -> "Watcher":
        self._task = the_loop().run(self._begin())
        return self

    async def _begin(self) -> "asyncio.Task[None]":
        layer = get_channel_layer()
        assert layer is not None
        channel = await layer.new_channel()
        await layer.group_add(self._group, channel)
        return asyncio.create_task(self._listen(layer, channel))

    async def _listen(self, layer: Any, channel: str) -> None:
        while True:
            message = await layer.receive(channel)
            with self._came:
                self.messages.append(message)
                self._came.notify_all()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        the_loop().run(self._end())

    async def _end(self) -> None:
        self._task.cancel()
        layer = get_channel_layer()
        assert layer is not None
        await layer.flush()  # its own listening task would outlive the test's broker

    @property
    def deltas(self) -> list[dict[str, Any]]:
        """The pieces of running answers, in order."""
        return [message for message in self.messages if message["type"] == "delta"]

    def wait_for(self, count: int, timeout: float = PATIENCE_S) -> list[dict[str, Any]]:
        """The deltas, once there are `count` of them."""
        with self._came:
            if not self._came.wait_for(lambda: len(self.deltas) >= count, timeout):
                raise AssertionError(f"{len(self.deltas)} of {count} deltas came")
            return self.deltas

    def wait_for_text(self, text: str, timeout: float = PATIENCE_S) -> None:
        """Waits until the deltas together are `text`."""
        with self._came:
            if not self._came.wait_for(
                lambda: "".join(delta["text"] for delta in self.deltas) == text, timeout
            ):
                raise AssertionError(f"{self.deltas} is not {text!r}")
