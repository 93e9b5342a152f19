"""Imports of big files: seconds of the processor and peak memory, against `json.load` of the file.

    python -m bench.importing [--nodes 100000] [--archive MEGABYTES [--whole]] [--sample FILE]
        [FORMAT …]

Each measurement runs in a process of its own: its peak is the resident memory of that process,
less that of one that imports nothing. `list` is the time until the trees of an archive can be
chosen from, `some` imports twelve of them from all over the file, and `--whole` all.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TEXT = 200
FORMATS = ("pyloom", "loomsidian", "exoloom", "miniloom", "chatgpt", "sillytavern", "openai")


def _parents(count: int) -> Iterator[tuple[int, int]]:
    dice = random.Random(7)
    for number in range(1, count):
        yield number, dice.randrange(max(0, number - 50), number)


def _text(number: int) -> str:
    return (f" {number} the river came down from the hills" * 9)[:TEXT]


def _pyloom(count: int) -> Iterator[Any]:
    nodes: list[dict[str, Any]] = [{"id": "0", "text": "", "children": []}]
    for number in range(1, count):
        meta = {"source": "AI", "creation_timestamp": "2026-01-01-00.00.00"}
        node = {"id": str(number), "text": _text(number), "children": [], "meta": meta}
        nodes[(number - 1) // 4]["children"].append(node)
        nodes.append(node)
    yield {"root": nodes[0]}


def _loomsidian(count: int) -> Iterator[Any]:
    nodes: dict[str, Any] = {"0": {"text": "", "parentId": None}}
    for number, parent in _parents(count):
        nodes[str(number)] = {"text": _text(number), "parentId": str(parent), "unread": False}
    yield {"current": "0", "hoisted": [], "nodes": nodes}


def _exoloom(count: int) -> Iterator[Any]:
    nodes: dict[str, Any] = {"0": {"content": "", "authorType": "USER", "parentId": None}}
    for number, parent in _parents(count):
        fields = {"content": _text(number), "authorType": "LLM", "authorName": "m"}
        nodes[str(number)] = {**fields, "parentId": parent, "createdAt": "2026-01-01T00:00:00Z"}
    yield {"loomType": "Exoloom", "tree": {"rootNodeId": 0, "nodes": nodes}, "lens": {}}


def _miniloom(count: int) -> Iterator[Any]:
    nodes: dict[str, Any] = {"1": {"id": "1", "type": "root", "patch": "", "parent": None}}
    ends = [0]
    for number in range(1, count):
        above = number - 1 if number % 20 else 0
        patch = [{"diffs": [[1, _text(number)]], "start1": ends[above], "start2": ends[above]}]
        ends.append(ends[above] + TEXT)
        uid = str(number + 1)
        nodes[uid] = {"id": uid, "type": "gen", "patch": patch, "parent": str(above + 1)}
    yield {"loomTree": {"nodeStore": nodes}}


def _chat(first: int, count: int) -> dict[str, Any]:
    mapping: dict[str, Any] = {"r": {"id": "r", "message": None, "parent": None}}
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        content = {"content_type": "text", "parts": [_text(first + number)]}
        message = {"author": {"role": role}, "create_time": 1700000000.5, "content": content}
        message["metadata"] = {"model_slug": "m", "request_id": f"{first}-{number}"}
        above = f"n{number - 1}" if number else "r"
        mapping[f"n{number}"] = {"id": f"n{number}", "message": message, "parent": above}
    return {"title": f"Chat {first}", "create_time": 1700000000, "mapping": mapping}


def _chatgpt(count: int) -> Iterator[Any]:
    yield [_chat(first, 100) for first in range(0, count, 100)]


def _sillytavern(count: int) -> Iterator[Any]:
    yield {"user_name": "A", "character_name": "B", "chat_metadata": {}}
    for number in range(count):
        yield {"name": "B", "is_user": number % 2 == 0, "mes": _text(number), "send_date": number}


def _openai(count: int) -> Iterator[Any]:
    for first in range(0, count, 10):
        pairs = [("user" if at % 2 == 0 else "assistant", _text(first + at)) for at in range(10)]
        yield {"messages": [{"role": role, "content": text} for role, text in pairs]}


MAKERS: dict[str, Callable[[int], Iterator[Any]]] = {
    "pyloom": _pyloom,
    "loomsidian": _loomsidian,
    "exoloom": _exoloom,
    "miniloom": _miniloom,
    "chatgpt": _chatgpt,
    "sillytavern": _sillytavern,
    "openai": _openai,
}


def make(path: Path, form: str, nodes: int) -> None:
    """Writes a file of a format."""
    with path.open("w") as out:
        for value in MAKERS[form](nodes):
            out.write(json.dumps(value, separators=(",", ":")) + "\n")


def make_archive(path: Path, megabytes: int) -> None:
    """Writes an archive of ChatGPT of about this size."""
    with path.open("w") as out:
        out.write("[")
        for number in range(10**9):
            out.write("," * (number > 0) + json.dumps(_chat(100 * number, 100)))
            if out.tell() > megabytes * 1_000_000:
                break
        out.write("]")


def _load(path: Path) -> float:
    start = time.process_time()
    with path.open() as file:
        kept = [json.loads(line) for line in file]
    return (time.process_time() - start) * bool(kept)


def _nothing(path: Path) -> float:
    _ready()
    return 0.0


def _ready() -> Any:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from bench.trees import make_owner

    return make_owner("bench")


def _some(total: int) -> list[int]:
    """Numbers of trees from all over an archive, the first and the last among them."""
    return sorted({place * (total - 1) // 11 for place in range(12)})


def _import(path: Path, *, choose: bool, some: bool = False) -> float:
    import shutil

    actor = _ready()
    from loom.transfer import importing
    from loom.transfer.models import Import

    row = Import(grove=actor.grove, participant=actor.participant, name=path.name)
    copied = importing.folder() / row.uid
    shutil.copy(path, copied)
    row.file = str(copied)
    row.save()
    start = time.process_time()
    importing.run(row.uid)
    row.refresh_from_db()
    if row.status == "waiting":
        print(f"listed in {time.process_time() - start:.1f} s", file=sys.stderr)
        if choose:
            importing.choose(row, _some(row.parts.count()) if some else None, "")
            importing.run(row.uid)
            row.refresh_from_db()
    if row.status == "failed":
        raise SystemExit(str(row.error))
    return time.process_time() - start


MODES: dict[str, Callable[[Path], float]] = {
    "nothing": _nothing,
    "json.load": _load,
    "import": lambda path: _import(path, choose=True),
    "list": lambda path: _import(path, choose=False),
    "some": lambda path: _import(path, choose=True, some=True),
}


def measure(mode: str, path: Path) -> tuple[float, float]:
    """Seconds and peak MB of one mode in a process of its own."""
    with tempfile.TemporaryDirectory() as data:
        command = [sys.executable, "-m", "bench.importing", "--run", mode, str(path)]
        env = {**os.environ, "HEDDLE_DATA": data}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    for line in done.stderr.splitlines():
        if line.startswith("listed"):
            print(f"  {line}")
    seconds, peak = json.loads(done.stdout.splitlines()[-1])
    return seconds, peak


def _run(mode: str, path: Path) -> None:
    seconds = MODES[mode](path)
    print(json.dumps([seconds, _peak()]))


def _peak() -> float:
    """The most memory of this process in MB. (getrusage would count what the process had that
    started it.)"""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1000
    raise SystemExit("this system does not say how much memory a process had")


def report(name: str, path: Path, modes: tuple[str, ...], base: float) -> None:
    """Prints one line for each mode."""
    size = path.stat().st_size / 1e6
    print(f"{name}: {size:.1f} MB")
    loaded = 0.0
    for mode in modes:
        seconds, peak = measure(mode, path)
        line = f"  {mode:10} {seconds:7.2f} s  {peak:6.0f} MB"
        if mode == "json.load":
            loaded = seconds
            print(f"{line}, {peak / size:.1f} times the file", flush=True)
            continue
        above = peak - base
        line += f", {above:.0f} above nothing: {above / size:.1f} times the file"
        print(f"{line}; {seconds / loaded:.0f} times json.load" if loaded else line, flush=True)


def main() -> None:
    """Measures the formats that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", default=FORMATS)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--archive", type=int, default=0, help="an archive of so many megabytes")
    parser.add_argument("--whole", action="store_true", help="import all of the archive")
    parser.add_argument("--sample", type=Path)
    parser.add_argument("--run", choices=MODES)
    asked = parser.parse_args()
    if asked.run:
        _run(asked.run, Path(asked.formats[0]))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text("{}")
        _, base = measure("nothing", path)
        print(f"nothing: {base:.0f} MB")
        if asked.sample:
            report(asked.sample.name, asked.sample, ("import",), base)
        elif asked.archive:
            make_archive(path, asked.archive)
            modes = ("list", "some", "import") if asked.whole else ("list", "some")
            report("archive of ChatGPT", path, modes, base)
        else:
            for form in asked.formats:
                make(path, form, asked.nodes)
                report(f"{form}, {asked.nodes:,} nodes", path, ("json.load", "import"), base)


if __name__ == "__main__":
    main()
