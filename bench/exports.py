"""Exports: seconds, bytes and the memory they add at their peak, for every format that is written.

Run: python -m bench.exports [nodes] [format…]

Each format is written by a process of its own, piece by piece, as the API sends it. `jsonl` repeats
the path in the line of each leaf, so its file grows faster than the tree.
"""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from bench.installation import open_installation

SLOW = ("jsonl", "preferences")  # larger than the tree by nature


def _peak() -> float:
    """The most memory that this process has used, in MB. Not from getrusage: a process that was
    started by a larger one has the other's figure there."""
    [line] = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(line) / 1024


def write(tree_uid: str, name: str) -> dict[str, float]:
    """Writes one format in this process."""
    from loom.access import get_actor
    from loom.transfer.exporting import FORMATS
    from loom.transfer.selection import ExportSelection
    from loom.trees.models import Tree

    tree = Tree.objects.select_related("grove").get(uid=tree_uid)
    owner = tree.maker.user
    assert owner is not None
    end = tree.nodes.order_by("-depth", "id")[0] if FORMATS[name].scope == "path" else None
    wanted = ExportSelection(
        get_actor(owner, tree.grove), tree, None, end, calls=name in ("heddle", "zip")
    )
    before, started, size = _peak(), time.perf_counter(), 0
    for piece in FORMATS[name].pieces(wanted):
        size += len(piece)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "bytes": size, "added_mb": _peak() - before}


def main(count: int, names: list[str]) -> None:
    """Grows a tree and prints a line for each format."""
    from bench.trees import grow, make_owner
    from loom.transfer.exporting import FORMATS

    actor = make_owner("bench")
    tree, _ = grow(actor, count=count, chain=min(2000, count // 2))
    length = sum(tree.nodes.values_list("length", flat=True))
    print(f"{tree.nodes.count():,} nodes, {length:,} characters")
    for name in names or [name for name in FORMATS if name not in SLOW]:
        words = [sys.executable, "-m", "bench.exports", "--one", tree.uid, name]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
        measured = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{name:12} {measured['seconds']:7.2f} s  {measured['bytes'] / 1e6:8.2f} MB  "
            f"peak +{measured['added_mb']:.0f} MB"
        )


if __name__ == "__main__":
    if "--one" in sys.argv:
        import django

        django.setup()
        print(json.dumps(write(*sys.argv[2:4])))
    else:
        open_installation()
        main(int(sys.argv[1]) if sys.argv[1:] else 100_000, sys.argv[2:])
