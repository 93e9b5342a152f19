"""The web server killed while somebody types: what it said it keeps, it keeps."""

import threading

import httpx
import pytest

from tests.kills.heddle import Heddle, until

pytestmark = pytest.mark.kill


def test_a_killed_web_server_has_every_draft_it_acknowledged(
    heddle: Heddle, client: httpx.Client, tree: str
) -> None:
    tree_json = client.get(f"/trees/{tree}").json()
    home = f"/workspaces/{tree_json['workspace']['id']}/drafts"
    acknowledged = [""]
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            body = {"kind": "buffer", "text": acknowledged[-1] + "x"}
            try:
                answer = client.put(f"{home}/{tree_json['root']}", json=body)
            except httpx.TransportError:
                stop.wait(0.1)
                continue
            if answer.status_code == 200:
                acknowledged.append(body["text"])

    writer = threading.Thread(target=write)
    writer.start()
    until(lambda: len(acknowledged) > 20, what="twenty keys")
    heddle.kill("uvicorn")
    before = len(acknowledged)
    until(lambda: len(acknowledged) > before + 5, what="keys after the kill")
    stop.set()
    writer.join()
    (draft,) = client.get(home).json()["results"]
    assert draft["text"] == acknowledged[-1]
