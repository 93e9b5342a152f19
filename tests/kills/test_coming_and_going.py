"""People who reload, look on, close the laptop and stop, while a model writes: over real
sockets of real processes, nobody misses or doubles anything."""

import json
import time
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.kills.heddle import Heddle, until
from tests.kills.test_kills import USING, ended, generation, say
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import HOLD, cuts, holds

pytestmark = pytest.mark.kill


class Page:
    """What one open page knows: the last seq, events by seq, the text of each candidate."""

    def __init__(self, heddle: Heddle, client: httpx.Client, tree: str) -> None:
        self._address = heddle.url.replace("http", "ws") + f"/ws/trees/{tree}"
        self._headers = {"Authorization": client.headers["Authorization"]}
        self.seq = 0
        self.kinds: dict[int, str] = {}
        self.texts: dict[str, str] = {}
        self._line: ClientConnection | None = None
        self._open = ExitStack()

    def __enter__(self) -> "Page":
        socket = connect(f"{self._address}?since={self.seq}", additional_headers=self._headers)
        self._line = self._open.enter_context(socket)
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def hear_until(self, uid: str, text: str = "", kind: str = "") -> None:
        """Hears frames until the candidate's text is `text`, or an event of `kind` came."""
        assert self._line is not None
        end = time.monotonic() + PATIENCE_S
        while (self.texts.get(uid, "") != text) if text else (kind not in self.kinds.values()):
            if time.monotonic() > end:
                raise AssertionError(f"heard {self.texts} and {self.kinds}")
            self._take(json.loads(self._line.recv(timeout=PATIENCE_S)))

    def _take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "delta":
            known = "" if frame.get("whole") else self.texts.get(frame["generation"], "")
            self.texts[frame["generation"]] = known + frame["text"]
        elif frame["type"] == "event":
            event = frame["event"]
            assert event["seq"] == self.seq + 1
            self.seq = event["seq"]
            self.kinds[self.seq] = event["kind"]


def test_whoever_reloads_and_whoever_comes_second_see_the_same_text_go_on(
    heddle: Heddle, client: httpx.Client, tree: str, provider: ScriptedProvider
) -> None:
    provider.script(holds("One, ", HOLD, "two, ", HOLD, "three."))
    with Page(heddle, client, tree) as first:
        uid = say(client, tree, f"continue from root {USING}")["generations"][0]
        first.hear_until(uid, "One, ")
    first.texts.clear()  # a reload: the page knows nothing but where it was
    with first, Page(heddle, client, tree) as second:
        first.hear_until(uid, "One, ")
        second.hear_until(uid, "One, ")
        provider.release()
        first.hear_until(uid, "One, two, ")
        second.hear_until(uid, "One, two, ")
        provider.release()
        for page in (first, second):
            page.hear_until(uid, kind="generation.ended")
    row = until(lambda: ended(client, uid), what="the end")
    assert (row["status"], row["text"]) == ("done", "One, two, three.")


def test_a_laptop_that_was_closed_is_told_what_it_missed(
    heddle: Heddle, client: httpx.Client, tree: str, provider: ScriptedProvider
) -> None:
    provider.script(holds("One, ", HOLD, "two."))
    with Page(heddle, client, tree) as laptop:
        uid = say(client, tree, f"continue from root {USING}")["generations"][0]
        laptop.hear_until(uid, "One, ")
    provider.release()
    until(lambda: ended(client, uid), what="the end, with nobody looking")
    say(client, tree, 'respond root "written meanwhile"')
    with laptop:
        laptop.hear_until(uid, kind="generation.ended")
        head = client.get(f"/trees/{tree}/events").json()["head"]
        while laptop.seq < head:
            laptop._take(json.loads(laptop._line.recv(timeout=PATIENCE_S)))  # type: ignore[union-attr]
    assert list(laptop.kinds) == list(range(1, head + 1))
    assert list(laptop.kinds.values()).count("generation.ended") == 1


def test_what_is_stopped_after_a_reload_keeps_its_text(
    heddle: Heddle, client: httpx.Client, tree: str, provider: ScriptedProvider
) -> None:
    provider.script(holds("Kept. ", HOLD, "Never."))
    with Page(heddle, client, tree) as page:
        uid = say(client, tree, f"continue from root {USING}")["generations"][0]
        page.hear_until(uid, "Kept. ")
    with page:
        assert client.post(f"/generations/{uid}/stop").status_code in (200, 202)
        page.hear_until(uid, kind="generation.ended")
    row = generation(client, uid)
    assert (row["status"], row["text"], row["finish"]) == (
        "stopped", "Kept. ", "interrupted:stopped",
    )  # fmt: skip
    assert client.get(f"/trees/{tree}/nodes/{row['node']}").json()["text"] == "Kept. "


def test_a_provider_that_breaks_off_leaves_what_was_seen_with_the_reason(
    heddle: Heddle, client: httpx.Client, tree: str, provider: ScriptedProvider
) -> None:
    provider.script(cuts("Half a "))
    with Page(heddle, client, tree) as page:
        uid = say(client, tree, f"continue from root {USING}")["generations"][0]
        page.hear_until(uid, kind="generation.ended")
    row = generation(client, uid)
    node = client.get(f"/trees/{tree}/nodes/{row['node']}").json()
    assert node["text"] == row["text"] == "Half a "
    assert node["finish"].startswith("interrupted:")
    assert row["error"]["message"]
