"""What an operator waits for in a large tree, in tables: requests, search, pruning, exports, lists,
backup and the move to PostgreSQL. Makes the trees by itself.

    python -m bench.tables [--nodes 100000] [--rounds 20] [--folder FOLDER] [PART …]

DATABASE_URL chooses PostgreSQL. With FOLDER the tree (bench.million) is kept there, made only if it
is missing. Without a PART all are shown. Each line has the median, the 95th percentile, the
processor time, which tells more where others use the machine, and the aim. The processor time is
that of this process and, on a PostgreSQL of this machine, of the backend that it asks.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from bench import million, search
from tests.kills.postgres import Postgres, is_able

MOST_S = 20.0  # for all rounds of one case
SLOW_MS = 100.0  # what the aims of a search and of one line are
TREES = 5_000
NUMBERS = count()

Case = Callable[[], object]
Row = tuple[str, Case, float | None]  # name, case, the aim in ms at the 95th percentile


def resident_mb(word: str = "VmRSS") -> float:
    """The memory of this process now, or with `VmHWM` at its peak."""
    sizes = re.findall(rf"{word}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(sizes[0]) / 1024


def backend_ns() -> int:
    """The processor time of the backend that this thread asks, without parallel workers; 0 where
    it is on another machine, and on SQLite, which runs in this process."""
    from django.db import connection

    if connection.vendor != "postgresql" or connection.connection is None:
        return 0
    file = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat")
    return int(file.read_text().split()[0]) if file.exists() else 0


def used_ms() -> float:
    """The processor time so far of what answers: this process, what it started and has ended, and
    PostgreSQL's backend."""
    ended = os.times()
    children = ended.children_user + ended.children_system
    return (time.process_time() + children) * 1000 + backend_ns() / 1e6


def show(name: str, case: Case, rounds: int, aim: float | None) -> None:
    """Runs a case so often, less if that takes long, and prints its line."""
    case()
    taken: list[float] = []
    cpu: list[float] = []
    while len(taken) < rounds and (sum(taken) < MOST_S * 1000 or not taken):
        began, used = time.perf_counter(), used_ms()
        case()
        taken.append((time.perf_counter() - began) * 1000)
        cpu.append(used_ms() - used)
    high = sorted(taken)[max(0, round(len(taken) * 0.95) - 1)]
    told = "" if aim is None else f"   aim ≤ {aim:g} {'met' if high <= aim else 'MISSED'}"
    print(
        f"  {name:<44} {statistics.median(taken):9.1f} {high:9.1f} ms"
        f"   processor {statistics.median(cpu):8.1f} ms{told}",
        flush=True,
    )


def once(name: str, case: Callable[[], str]) -> None:
    """Runs something long once; the case returns what else is to be told."""
    began, used = time.perf_counter(), used_ms()
    told = case()
    seconds, own = time.perf_counter() - began, (used_ms() - used) / 1000
    print(f"  {name:<44} {seconds:9.1f} s   processor {own:8.1f} s   {told}", flush=True)


class Kept:
    """The kept installation and its tree, with a client who is signed in."""

    def __init__(self, nodes: int, rounds: int, folder: Path) -> None:
        from rest_framework.test import APIClient

        import config.asgi  # noqa: F401 (the collector is set up there as in a web process)
        from loom.language.ids import ORDINAL_BITS

        self.nodes, self.rounds, self.folder = nodes, rounds, folder
        self.actor, self.tree = million.kept()
        self.base = self.tree.pk << ORDINAL_BITS
        self._client: Any = APIClient()
        self._client.force_login(self.actor.user)

    def named(self, ordinal: int) -> str:
        """The local id of a node."""
        from loom.trees.models import Node

        return str(Node.objects.get(pk=self.base + ordinal).local_id)

    def widest(self) -> list[tuple[str, int]]:
        """The nodes with the most and with a tenth as many continuations, as (local id, count)."""
        from django.db.models import Count

        from loom.trees.models import Node

        rows = Node.objects.filter(tree=self.tree).values_list("parent_slot_id")
        most = list(rows.annotate(n=Count("pk")).order_by("-n")[:12])
        names = dict(
            Node.objects.filter(pk__in=[key for key, _ in most]).values_list("pk", "local_id")
        )
        return [(names[key], many) for key, many in (most[0], most[-1])]

    def below(self, local_id: str) -> str:
        """The local id of the text in the middle of those below a node."""
        from loom.trees.models import Node
        from loom.trees.queries.lookup import slots_below

        rows = slots_below(Node.objects.get(tree=self.tree, local_id=local_id).slot_id)
        return rows[rows.count() // 2].local_id

    def deepest(self) -> tuple[str, int]:
        """The deepest node, as (local id, depth)."""
        from loom.trees.models import Node

        node = Node.objects.filter(tree=self.tree, kind="text").order_by("-depth", "pk")[0]
        return node.local_id, node.depth

    def get(self, address: str) -> Case:
        """A request for an address; its answer is read whole."""

        def ask() -> int:
            answer = self._client.get(address)
            assert answer.status_code == 200, (address, answer.status_code)
            if answer.streaming:
                return sum(len(piece) for piece in answer.streaming_content)
            return len(answer.content)

        return ask

    def line(self, text: str) -> None:
        """Runs a line."""
        from loom.engine.context import Request
        from loom.engine.execute import execute_line

        execute_line(self.actor, self.tree, Request(line=text))

    def run(self, line: Callable[[], str]) -> Case:
        """A line that is another one each time."""
        return lambda: self.line(line())


def requests(kept: Kept) -> Iterator[Row]:
    """What pages and programs ask for."""
    api, uid = f"/api/trees/{kept.tree.uid}", kept.tree.uid
    deep, depth = kept.deepest()
    page = f"/trees/{uid}"
    yield "GET /api/me", kept.get("/api/me"), None
    yield "GET tree", kept.get(api), None
    yield "GET path, depth 1", kept.get(f"{api}/path?node={kept.named(2)}"), None
    yield f"GET path, depth {depth:,}", kept.get(f"{api}/path?node={deep}"), None
    for local_id, many in kept.widest():
        yield (
            f"GET node with {many:,} continuations",
            kept.get(f"{api}/nodes/{local_id}"),
            SLOW_MS,
        )
        yield f"page at {many:,} continuations", kept.get(f"{page}?node={local_id}"), SLOW_MS
        beside = kept.below(local_id)
        yield f"page at one of {many:,} siblings", kept.get(f"{page}?node={beside}"), SLOW_MS
    yield (
        "GET node, descendants, big branch",
        kept.get(f"{api}/nodes/{kept.named(million.BIG)}?descendants=1"),
        SLOW_MS,
    )
    yield "GET provenance, deepest node", kept.get(f"{api}/nodes/{deep}/provenance"), None
    yield "GET events, 200 from the first", kept.get(f"{api}/events?since=0&limit=200"), None
    yield "GET overview of the map", kept.get(f"{api}/overview"), 500.0
    yield "GET a tile of the map", kept.get(f"{api}/skeleton/0"), 500.0
    yield "page of the tree", kept.get(page), 500.0
    yield "page at the deepest node", kept.get(f"{page}?node={deep}"), 500.0
    yield "panel of bookmarks", kept.get(f"{page}/bookmarks"), 500.0


def lines(kept: Kept) -> Iterator[Row]:
    """What people and agents write."""
    deep, depth = kept.deepest()
    near = kept.named(3)

    def texts(verb: str) -> Callable[[], str]:
        return lambda: f'{verb} "number {next(NUMBERS)} of {time.time_ns()}"'

    yield "respond", kept.run(texts(f"respond {near}")), SLOW_MS
    yield f"respond at depth {depth:,}", kept.run(texts(f"respond {deep}")), SLOW_MS
    yield "annotate", kept.run(texts(f"annotate {near}")), SLOW_MS
    yield "edit", kept.run(texts(f"edit {near}")), SLOW_MS
    yield "tag", kept.run(lambda: f"tag {near} #measured{next(NUMBERS)}"), SLOW_MS
    yield "view", kept.run(lambda: f"view {near}"), SLOW_MS
    for local_id, many in kept.widest():
        yield f"view, {many:,} continuations", kept.run(f"view {local_id}".format), SLOW_MS


def flags(kept: Kept) -> None:
    """Pruning and restoring two thirds of the tree, and its search while they are pruned."""
    big = kept.named(million.BIG)
    taken: dict[str, list[float]] = {"prune": [], "restore": []}
    for _ in range(min(kept.rounds, 5)):
        for verb, times in taken.items():
            began = time.perf_counter()
            kept.line(f"{verb} {big}")
            times.append((time.perf_counter() - began) * 1000)
    for verb, times in taken.items():
        told = f"aim ≤ {SLOW_MS:g} {'met' if max(times) <= SLOW_MS else 'MISSED'}"
        print(f"  {verb:<44} {statistics.median(times):9.1f} {max(times):9.1f} ms   {told}")
    kept.line(f"prune {big}")
    searches(kept, ", the big branch pruned")
    kept.line(f"restore {big}")


def searches(kept: Kept, suffix: str = "") -> None:
    """All of bench.search."""
    for name, case in search.cases(kept.actor, kept.tree).items():
        show(f"find {name}{suffix}", case, kept.rounds, SLOW_MS)


def exports(kept: Kept) -> None:
    """A path and the whole tree, piece by piece, as the API sends them."""
    from loom.transfer.exporting import FORMATS
    from loom.transfer.selection import ExportSelection
    from loom.trees.models import Node

    deep = Node.objects.get(tree=kept.tree, local_id=kept.deepest()[0])
    for name, format_of, end in (
        ("export of a path, Markdown", "markdown", deep),
        ("export of all, Markdown", "markdown", None),
        ("export of all, Heddle", "heddle", None),
    ):

        def case(format_of: str = format_of, end: Any = end) -> str:
            before = resident_mb("VmHWM")
            wanted = ExportSelection(kept.actor, kept.tree, None, end, calls=format_of == "heddle")
            size = sum(len(piece) for piece in FORMATS[format_of].pieces(wanted))
            return f"{size / 1e6:.1f} MB, peak +{resident_mb('VmHWM') - before:.0f} MB"

        once(name, case)


def lists(kept: Kept) -> Iterator[Row]:
    """A grove with thousands of trees."""
    from loom.people.models import Grove
    from loom.trees.commands import trees
    from loom.trees.models import Tree

    wanted = min(TREES, kept.nodes // 20)
    have = Tree.objects.filter(grove=kept.actor.grove).count()
    for number in range(have, wanted):
        trees.new_tree(kept.actor, title=f"Tree number {number}")
    many = f"{max(have, wanted):,} trees"
    grove = Grove.objects.get(pk=kept.actor.grove.pk).uid
    yield f"GET trees, {many}", kept.get(f"/api/trees?grove={grove}"), None
    last = f"/api/trees?offset={max(0, wanted - 50)}"
    yield f"GET trees, the last of {many}", kept.get(last), None
    yield (
        f"search in {many}, a word that is nowhere",
        kept.get(f"/api/groves/{grove}/search?q={million.ABSENT}"),
        SLOW_MS,
    )
    yield (
        f"search in {many}, a word in a third",
        kept.get(f"/api/groves/{grove}/search?q={million.COMMON}"),
        SLOW_MS,
    )
    yield f"page of the grove, {many}", kept.get(f"/groves/{grove}"), None
    yield "home page", kept.get("/"), None


# Runs a command of Heddle and prints the memory that it had at its peak, without what it starts.
MANAGE = """
import re, sys
from django.core.management import execute_from_command_line
execute_from_command_line(["manage.py", *sys.argv[1:]])
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())
print("peak", int(peak[1]) // 1024)
"""


def manage(*words: str, **more: str) -> str:
    """Runs a command of Heddle in a process of its own; returns its memory at its peak."""
    command = [sys.executable, "-c", MANAGE, *words]
    done = subprocess.run(
        command, env=os.environ | more, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return f"peak {done.stdout.split()[-1]} MB"


@contextmanager
def beside(kept: Kept) -> Iterator[Path]:
    """A folder on the disk of the tree, until the end."""
    kept.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="heddle-backup-", dir=kept.folder.parent) as folder:
        yield Path(folder)


@contextmanager
def empty_postgres(folder: Path) -> Iterator[str]:
    """The URL of an empty PostgreSQL, until the end."""
    server = Postgres(folder / "postgres")
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


def backed_up(file: Path) -> str:
    """Makes a backup of the tree; what it took."""
    memory = manage("backup", str(file))
    return f"{file.stat().st_size / 1e6:,.0f} MB, {memory}"


def backups(kept: Kept) -> None:
    """A backup, and its restore in a new place on the same kind of database."""
    from django.db import connection

    with beside(kept) as folder:
        file, data = folder / "one.backup", {"HEDDLE_DATA": str(folder / "new")}
        once("backup", lambda: backed_up(file))
        if connection.vendor == "sqlite":
            once("restore in a new place", lambda: manage("restore", str(file), **data))
        elif is_able():
            with empty_postgres(folder) as url:
                data["DATABASE_URL"] = url
                once("restore in a new place", lambda: manage("restore", str(file), **data))


def moves(kept: Kept) -> None:
    """From SQLite into an empty PostgreSQL."""
    from django.db import connection

    if connection.vendor != "sqlite" or not is_able():
        return
    with beside(kept) as folder:
        file, data = folder / "one.backup", {"HEDDLE_DATA": str(folder / "moved")}
        backed_up(file)
        with empty_postgres(folder) as url:
            data["DATABASE_URL"] = url
            once("move to PostgreSQL", lambda: manage("restore", str(file), **data))


def rows(of: Callable[[Kept], Iterator[Row]]) -> Callable[[Kept], None]:
    """A part that shows each of its rows."""

    def part(kept: Kept) -> None:
        for name, case, aim in of(kept):
            show(name, case, kept.rounds, aim)

    return part


PARTS: dict[str, Callable[[Kept], None]] = {
    "requests": rows(requests),
    "lines": rows(lines),
    "search": searches,
    "flags": flags,
    "exports": exports,
    "lists": rows(lists),
    "backup": backups,
    "move": moves,
}


def main(nodes: int, rounds: int, folder: Path, parts: list[str]) -> None:
    """Makes the tree if it is missing, and prints the tables."""
    began = time.perf_counter()
    million.make(str(folder), nodes)
    from django.db import connection

    kept = Kept(nodes, rounds, folder)
    print(f"{connection.vendor}, {nodes:,} nodes, ready in {time.perf_counter() - began:.0f} s")
    for name in parts or list(PARTS):
        print(name)
        PARTS[name](kept)
        print(f"  memory of the process: {resident_mb():.0f} MB", flush=True)


if __name__ == "__main__":
    reader = argparse.ArgumentParser()
    reader.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    reader.add_argument("--nodes", type=int, default=100_000)
    reader.add_argument("--rounds", type=int, default=20)
    reader.add_argument("--folder", type=Path)
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="heddle-bench-") as directory:
        main(asked.nodes, asked.rounds, asked.folder or Path(directory), asked.parts)
