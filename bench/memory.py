"""Memory in use: web, worker and embedded model after work, as script/server starts them.

Imports a tree of N nodes, opens its skeleton and a path, listens with 50 sockets, answers
three continuations. Run: python -m bench.memory [nodes]
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import websockets

AIMS_MB = {"web": 250, "worker": 450, "model": 500}
WORDS = {"web": "uvicorn", "worker": "celery", "model": "local_server", "broker": "valkey"}
SOCKETS = 50


class House:
    """A script/server on a folder of its own, its owner's key, and its processes."""

    def __init__(self, folder: Path) -> None:
        self.data = folder
        env = {n: v for n, v in os.environ.items() if not n.startswith(("HEDDLE_", "REDIS_"))}
        self.env = env | {"HEDDLE_DATA": str(folder)}
        words = ["--data", str(folder), "--port", "0", "--no-browser"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "config.supervisor", *words],
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        output = ""
        for line in self.process.stdout:
            output += line
            if match := re.match(r"ready (\S+)", line):
                self.url = match[1]
                return
        raise SystemExit(output)

    def key(self) -> str:
        """A fresh API key of the owner."""
        words = [sys.executable, "manage.py", "apikey", "owner", "bench"]
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, check=True)
        return done.stdout.split()[-1]

    def resident_mb(self) -> dict[str, float]:
        """Resident memory by process, in MB."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        sizes = {}
        for pid in children.read_text().split():
            line = Path(f"/proc/{pid}/cmdline").read_text()
            status = Path(f"/proc/{pid}/status").read_text()
            name = next((name for name, word in WORDS.items() if word in line), line)
            sizes[name] = int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024
        return sizes

    def web_has(self, module: str) -> bool:
        """Whether the web process has a file of this module open or mapped."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        for pid in children.read_text().split():
            if WORDS["web"] in Path(f"/proc/{pid}/cmdline").read_text():
                return f"/{module}/" in Path(f"/proc/{pid}/maps").read_text()
        return False


def chain_of(nodes: int) -> dict[str, Any]:
    """A simple pyloom tree: a chain of a tenth of the nodes, the others beside it."""
    top: dict[str, Any] = {"text": "root of it all", "children": []}
    at = top
    for number in range(nodes // 10):
        sentence = f" and sentence {number} says what sentences of two hundred characters say" * 3
        beside = [{"text": f"{sentence}, or {n}", "children": []} for n in range(9)]
        child: dict[str, Any] = {"text": sentence, "children": []}
        at["children"] = [child, *beside]
        at = child if number % 500 else top["children"][0]
    return top


def bring(client: httpx.Client, nodes: int, folder: Path) -> str:
    """Imports the tree; its id."""
    sys.setrecursionlimit(100_000)
    file = folder / "tree.json"
    file.write_text(json.dumps(chain_of(nodes)))
    with file.open("rb") as body:
        asked = client.post("/api/import", files={"file": ("tree.json", body)}).json()
    while True:
        state: dict[str, Any] = client.get(f"/api/imports/{asked['id']}").json()
        if state["status"] in ("done", "failed"):
            assert state["status"] == "done", state
            return str(state["tree"])
        time.sleep(0.2)


def use(client: httpx.Client, tree: str) -> None:
    """What people do: skeleton, a deep path, twenty lines, three continuations."""
    skeleton = client.get(f"/api/trees/{tree}/skeleton").json()
    deepest = skeleton["ids"][-1]
    for _ in range(5):
        client.get(f"/api/trees/{tree}/path", params={"node": deepest}).raise_for_status()
    for number in range(20):
        line = {"line": f'→ respond "said {number}"', "at": deepest}
        client.post(f"/api/trees/{tree}/commands", json=line).raise_for_status()
    line = {"line": "→ continue 3 tokens:30", "wait": 60}
    print(f"  continue: {client.post(f'/api/trees/{tree}/commands', json=line).json()['reply']}")


async def listen(url: str, key: str, tree: str) -> None:
    """Fifty sockets read the whole log."""
    headers = {"Authorization": f"Bearer {key}"}
    address = f"{url.replace('http', 'ws')}/ws/trees/{tree}?since=0"

    async def socket() -> None:
        async with websockets.connect(address, additional_headers=headers, max_size=None) as line:
            async for frame in line:
                if '"heartbeat"' in str(frame)[:40]:
                    return

    await asyncio.gather(*(socket() for _ in range(SOCKETS)))


def main(nodes: int) -> None:
    """Starts, uses, measures, stops."""
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as folder:
        house = House(Path(folder) / "data")
        try:
            key = house.key()
            with httpx.Client(
                base_url=house.url, headers={"Authorization": f"Bearer {key}"}, timeout=120
            ) as client:
                print(f"memory with a tree of {nodes:,} nodes and {SOCKETS} sockets")
                tree = bring(client, nodes, Path(folder))
                use(client, tree)
                asyncio.run(listen(house.url, key, tree))
            for name, used_mb in house.resident_mb().items():
                aim = AIMS_MB.get(name)
                told = f"aim ≤ {aim} {'met' if used_mb <= aim else 'MISSED'}" if aim else ""
                print(f"  {name:<10} {used_mb:7.0f} MB   {told}")
            print(f"  web has litellm: {house.web_has('litellm')}")
        finally:
            house.process.terminate()
            house.process.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
