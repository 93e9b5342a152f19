"""Each bench is run small: it starts, ends and prints the figures that it is for. What they are is
not looked at."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

# Each makes an installation of its own, on SQLite.
pytestmark = [pytest.mark.kill, pytest.mark.sqlite]
ROOT = Path(__file__).resolve().parents[2]
# The words that make it small, and what it prints at last.
SMALL = {
    "path": ("120 50", r"GET / bare +× +[\d.]+"),
    "respond": ("30 60", r"large / small +× +[\d.]+"),
    "storage": ("10 200", r"all +[\d.]+"),
    "fanout": ("3 3", r"p95 / p95 × [\d.]+"),
    "wording": ("", r"wordings fresh: \d+, "),
    "lines_or_tools": ("", r"sent in 4 rounds +\d+"),
    "interleavings": ("--seeds 3", r"3 of 3 seeds ended equal"),
    "strangers": ("0.1 /ws/groves", r"\d+ rows, \d+ above"),
}


@pytest.mark.parametrize("name", SMALL)
def test_it_runs_small_and_prints_its_figures(name: str) -> None:
    words, figures = SMALL[name]
    foreign = ("HEDDLE_", "DJANGO_", "REDIS_", "DATABASE_", "PYTEST_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(foreign)}
    done = subprocess.run(
        [sys.executable, "-m", f"bench.{name}", *words.split()],
        cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=2 * PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3_000:]
    assert re.search(figures, done.stdout), done.stdout[-3_000:]
