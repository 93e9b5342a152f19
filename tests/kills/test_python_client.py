"""The Python client and its notebook, spoken to a running Heddle: lines, candidates as they come,
events that go on after the server was killed, tables, files."""

import asyncio
import io
import json
import subprocess
import sys
import threading
import zipfile
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import pytest

from heddle_client import AsyncHeddle, NotFound, Progress
from heddle_client import Heddle as Client
from tests.kills.heddle import ROOT, Heddle, until
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import tokens

pytestmark = [pytest.mark.kill, pytest.mark.sqlite]
NOTEBOOK = ROOT / "clients" / "python" / "examples" / "three_models.ipynb"


@pytest.fixture
def speaking(heddle: Heddle, owner_key: str, client: httpx.Client) -> Any:
    """A client of the owner."""
    with Client(heddle.url, owner_key) as connected:
        yield connected


def test_a_tree_is_written_and_read(
    speaking: Client, tree: str, provider: ScriptedProvider
) -> None:
    told = speaking.tree(tree)
    first = told.respond("Tell me a story.", key="one")
    assert told.respond("Tell me a story.", key="one") == first  # the server knows it again
    seen: list[tuple[dict[str, str], int]] = []

    def watch(progress: Progress) -> None:
        seen.append((dict(progress.texts), len(progress.ended)))

    provider.script(*(tokens(20, rate=200, word=f"w{number}-") for number in range(3)))
    answers = told.fan_out(["Scripted"], n=3, at=first, on_progress=watch)
    assert [answer["status"] for answer in answers] == ["done"] * 3
    texts = {answer["id"]: answer["text"] for answer in answers}
    assert seen[-1] == (texts, 3) and all(texts.values())
    nodes = [answer["node"] for answer in answers]
    assert [told.node(str(node))["text"] for node in nodes] == list(texts.values())
    assert len(list(told.nodes())) == 5 and told.path(first)[-1]["text"] == "Tell me a story."
    choices = told.rows("choices")
    assert [choice["node"] for choice in choices] == nodes and choices[0][
        "model"
    ] == "openai:scripted"
    file = io.BytesIO()
    told.export(file, "parquet")
    manifest = json.loads(zipfile.ZipFile(file).read("manifest.json"))
    assert manifest["tables"]["choices"]["rows"] == 3
    with pytest.raises(NotFound):
        told.node("z9z9z9z9")


def test_events_go_on_after_the_server_was_killed(
    speaking: Client, tree: str, heddle: Heddle
) -> None:
    told, came = speaking.tree(tree), Queue[dict[str, Any]]()

    def listen() -> None:
        for event in told.events():
            came.put(dict(event))
            if event["kind"] == "node.added" and event["payload"]["node"].get("text") == "end":
                return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    told.respond("before")
    assert came.get(timeout=PATIENCE_S)["seq"] == 1
    heddle.kill("uvicorn")
    until(heddle.is_well, what="every process is well")
    told.respond("end")
    thread.join(PATIENCE_S)
    seqs = [1, *(event["seq"] for event in came.queue)]
    assert not thread.is_alive() and seqs == list(range(1, len(seqs) + 1))


def test_asyncio_runs_several_at_once(
    heddle: Heddle, owner_key: str, tree: str, provider: ScriptedProvider
) -> None:
    async def talk() -> list[str]:
        async with AsyncHeddle(heddle.url, owner_key) as client:
            told = client.tree(tree)
            places = [await told.respond(f"Part {number}") for number in range(3)]
            every = await asyncio.gather(
                *(told.fan_out(["Scripted"], at=place) for place in places)
            )
            assert {listed["mode"] async for listed in client.trees()} >= {"dialogue"}
            return [answer["status"] for answers in every for answer in answers]

    assert asyncio.run(talk()) == ["done"] * 3


def test_the_notebook_runs(
    heddle: Heddle, owner_key: str, client: httpx.Client, provider: ScriptedProvider, tmp_path: Path
) -> None:
    """Its cells, one after the other in a fresh Python, as a notebook runs them."""
    provider.forget()
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] for cell in cells if cell["cell_type"] == "code")
    script = tmp_path / "cells.py"
    script.write_text("\n\n".join(code))
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(ROOT / "clients" / "python" / "src"),
            "HEDDLE_URL": heddle.url,
            "HEDDLE_KEY": owner_key,
            "MODEL_URL": provider.url,
        },
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "3 answers" in done.stdout and (tmp_path / "sea.parquet.zip").exists()
