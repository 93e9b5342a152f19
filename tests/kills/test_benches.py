"""Each bench is run small, half of them in a run: it starts, ends and prints the figures that it is
for. What they are is not looked at."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kills.postgres import is_able
from tests.patience import PATIENCE_S

# Each opens an installation of its own, on SQLite.
pytestmark = [pytest.mark.kill, pytest.mark.sqlite]
ROOT = Path(__file__).resolve().parents[2]
MOVED = r"[^~]*move to PostgreSQL +[\d.]+ s" if is_able() else ""
# The words that make it small, and what it prints at last.
SMALL = {
    "acting": ("1", r"grammar that acts +1 replies"),
    "beginning": ("2 12", r"12 at once: taken [\d.]+ ms"),
    "claims": ("100 3", r"seen in a second browser, p95 +[\d.]+ ms"),
    "context": ("50", r"loom-aware, with its rows +[\d.]+ ms"),
    "crowd": ("5 4", r"with 5 sockets: 4 of 4 requests answered"),
    "document_growth": ("3000 5", r"POST with headings +30,000 +[\d.]+ s"),
    "documents": ("2 2 2", r"a client that joins a room not yet open +[\d.]+ s"),
    "drawing": ("3 3", r"until drawn +p50 +[\d.]+ ms"),
    "editor": ("30 50", r"a key while \d+ changes came +[\d.]+"),
    "experience": ("", r"accepted [\d.]+%"),
    "exports": ("100", r"sillytavern +[\d.]+ s"),
    "fanout": ("3 3", r"p95 / p95 × [\d.]+"),
    "fifty": ("3", r"worker: \d+% of a core"),
    "flow": ("", r"loom/turns/api\.py"),
    "frames": ("4000", r"lines of a patch +escaped \d+ ms"),
    "gateway": ("2", r"first token, workspace +[\d.]+ ms"),
    "grammar": ("2", r"lines in replies +[\d,]+ a second"),
    "importing": ("--nodes 100", r"openai, 100 nodes"),
    "interleavings": ("--seeds 3", r"3 of 3 seeds ended equal"),
    "kills": ("2 1", r"SQLite, \d+ s: nothing lost, nothing doubled"),
    "links": ("200 2", r"frames a second, graph of \d+ items +[\d.]+"),
    "landscape": ("300", r"[\d.]+ frames a second of 60: [\d.]+ on average"),
    "linear": ("64", r"stream +[\d,]+ +[\d.]+x"),
    "lines_or_tools": ("", r"sent in 4 rounds +\d+"),
    "meaning": ("300", r"300 texts indexed in [\d.]+ s of one core"),
    "memory": ("200", r"worker +\d+ MB"),
    "middleware": ("2", r"/signin +Django's own +10 at once +[\d.]+ ms"),
    "month": ("2 12", r"day 2: [\d,]+ bytes written[^~]*all +[\d.]+"),
    "novel": ("50 50 5", r"memory before and after +[\d.]+"),
    "open_streams": ("3 5", r"3 downloads +\d+ threads"),
    "page": ("deep --nodes 2100 --moves 3", r"listeners after 3 moves / before +[\d.]+"),
    "path": ("120 50", r"GET / bare +× +[\d.]+"),
    "prefix": ("", r"turn to turn: 3 requests"),
    "prepared": ("", r"a head: once / each time +× +[\d.]+"),
    "priming": ("", r"5 candidates below 20,000 tokens"),
    "prose": ("1", r"overlap right +\d/1"),
    "providers": ("1", r"LiteLLM / own: first token × [\d.]+"),
    "pruning": ("0,20 20 20", r"what hides it, most / least pruned +× +[\d.]+"),
    "request_tokens": ("", r"of all: the requests in both trees begin alike"),
    "respond": ("30 60", r"large / small +× +[\d.]+"),
    "search": ("400 1", r"rare, since +[\d.]+ +[\d.]+ ms[^~]*restore +[\d.]+ ms"),
    "migrating": ("300", r"by one statement [^~]*longest +\d+ ms"),
    "thousand": (
        "--sockets 5 --writes 2 --generations 1 --seconds 2 --processes 1",
        r"aim ≤ 100 [^~]*5 sockets, once and in order",
    ),
    "soak": ("--minutes 0.1 --processes 1 --sqlite", r"nothing lost, nothing twice[^~]*web +\d+"),
    "storage": ("10 200", r"all +[\d.]+"),
    "strangers": ("0.1 /ws/groves", r"\d+ rows, \d+ above"),
    "streams": ("1", r"3 stream\(s\): first token bare [\d.]+ ms"),
    "tables": (
        "--nodes 2500 --rounds 1 requests lines flags lists backup move",
        rf"home page +[\d.]+[^~]*restore in a new place +[\d.]+ s{MOVED}",
    ),
    "windows": ("", r"three sections of 500 lines: \d+ tokens"),
    "wording": ("", r"wordings fresh: \d+, "),
}
# What the benches share, which measures nothing by itself; and `many`, all of which
# test_many_processes.py runs small, on both databases, one after the other.
SHARED = {
    *("many", "stamped"),
    *("__init__", "attacks", "bare", "installation", "million", "page_actions", "shapes", "trees"),
}


@pytest.mark.share(4)
@pytest.mark.parametrize("name", SMALL)
def test_it_runs_small_and_prints_its_figures(name: str) -> None:
    if name == "thousand" and not is_able():
        pytest.skip("it starts PostgreSQL, which is not here")
    words, figures = SMALL[name]
    foreign = ("HEDDLE_", "DJANGO_", "REDIS_", "DATABASE_", "PYTEST_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    # Where it copies the tables from, instead of making them.
    where = ("HEDDLE_TEST_DATA", "HEDDLE_TEST_STARTED")
    env |= {key: os.environ[key] for key in where if key in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{name}", *words.split()],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=5 * PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    assert re.search(figures, done.stdout), done.stdout[-3_000:]
