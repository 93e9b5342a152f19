"""What tests ask a database, and which of them are enough to ask another one all of it.

A run with `--write-asked FOLDER` notes for each test the statements that it made the database run,
without their values, and how long it took. A run on another database with `--read-asked FOLDER`
leaves out tests whose statements others ask there: a statement that reads is asked by one test, one
that writes or was refused by two, as it is there that values matter. What concerns databases
themselves, and what runs in several threads, is all run.
"""

import heapq
import json
import os
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.thorough import THOROUGH

READ_TIMES, WRITE_TIMES = 1, 2  # so many tests ask each statement
# About what a database does by itself: locks, plans, numbers of rows, several processes.
OF_DATABASES = ("tests/queries/", "tests/kills/", "tests/machines/")
THREADS = frozenset(("threading", "Thread", "ThreadPoolExecutor"))  # imported by modules that race
LEAST_S = 0.02  # of a test, which is what setting it up takes
_WRITES = ("INSERT", "UPDATE", "DELETE")
_SAVEPOINT = ("SAVEPOINT", "RELEASE", "ROLLBACK TO")
_VALUES = re.compile(r"'(?:[^']|'')*'|\b\d+\b|\?")
_LISTS = re.compile(r"\(%s(?:, ?%s)*\)(?:, ?\(%s(?:, ?%s)*\))*")


@dataclass
class Asked:
    """What one test asked: numbers that stand for statements, and its seconds of CPU."""

    statements: set[int] = field(default_factory=set)
    cpu_s: float = LEAST_S


@lru_cache(maxsize=4096)
def statement(sql: str) -> int:
    """A number for a statement, the same whatever its values and however many, odd if it writes; 0
    for savepoints, which have names of their own."""
    if sql.startswith(_SAVEPOINT):
        return 0
    number = 2 * zlib.crc32(_LISTS.sub("(…)", _VALUES.sub("%s", sql)).encode())
    return number + 1 if sql.startswith(_WRITES) else number


def refused(number: int, error: Exception) -> int:
    """A number for a statement that the database refused."""
    return 2 * zlib.crc32(f"{number} {type(error).__name__}".encode()) + 1


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the two options, each with a folder."""
    parser.addoption("--write-asked", metavar="FOLDER", help="note what tests ask the database")
    parser.addoption("--read-asked", metavar="FOLDER", help="leave out tests that ask no more")


def pytest_configure(config: pytest.Config) -> None:
    """Begins to note, where that is asked for."""
    if folder := config.getoption("--write-asked"):
        config.pluginmanager.register(_Notes(Path(folder)))


class _Notes:
    """Writes one line for each test, into a file of this process."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / os.environ.get("PYTEST_XDIST_WORKER", "main")
        self._now: set[int] = set()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """Notes what the test and its fixtures ask."""
        from django.db import connections
        from django.db.backends.signals import connection_created

        # Connections of other threads come later.
        connection_created.connect(self._listen, dispatch_uid="tests.asked")
        for connection in connections.all(initialized_only=True):
            self._listen(connection)
        self._now.clear()
        before = os.times()
        result = yield
        after = os.times()
        cpu_s = after.user + after.system - before.user - before.system
        line = json.dumps([item.nodeid, round(cpu_s, 3), sorted(self._now)])
        with self._file.open("a") as lines:
            lines.write(f"{line}\n")
        return result

    def _listen(self, connection: Any, **_: Any) -> None:
        if self._hear not in connection.execute_wrappers:
            connection.execute_wrappers.append(self._hear)

    def _hear(
        self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any
    ) -> Any:
        number = statement(str(sql))
        self._now.add(number)
        try:
            return execute(sql, params, many, context)
        except Exception as error:
            self._now.add(refused(number, error))
            raise


def read(folder: Path) -> dict[str, Asked]:
    """What was noted, by the ids of tests; {} where nothing was."""
    tests: dict[str, Asked] = defaultdict(Asked)
    for file in sorted(folder.glob("*")) if folder.is_dir() else ():
        for line in file.read_text().splitlines():
            name, cpu_s, statements = json.loads(line)
            tests[name].statements |= {*statements} - {0}
            tests[name].cpu_s = max(tests[name].cpu_s, cpu_s)
    return dict(tests)


def enough(tests: Mapping[str, Asked], taken: Iterable[str] = ()) -> set[str]:
    """Tests that together ask each statement READ_TIMES or WRITE_TIMES, or as often as all do, and
    cost little. `taken` are run in any case, and count. Each time the one is added that asks most
    of what is missing for each second of its own."""
    missing = Counter(number for test in tests.values() for number in test.statements)
    for number, many in missing.items():
        missing[number] = min(many, WRITE_TIMES if number % 2 else READ_TIMES)
    chosen: set[str] = set()

    def worth(name: str) -> float:
        test = tests[name]
        return sum(missing[number] > 0 for number in test.statements) / test.cpu_s

    def take(name: str) -> None:
        chosen.add(name)
        missing.subtract(tests[name].statements)

    for name in sorted({*taken} & {*tests}):
        take(name)
    # What a test is worth only falls as others are taken: an old figure is asked for again.
    waiting = [(-worth(name), name) for name in sorted({*tests} - chosen)]
    heapq.heapify(waiting)
    while waiting:
        said, name = heapq.heappop(waiting)
        now = -worth(name)
        if now > said:
            if now < 0:
                heapq.heappush(waiting, (now, name))
        elif now < 0:
            take(name)
    return chosen


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests that ask nothing more. Where nothing was noted, all are run."""
    folder = config.getoption("--read-asked")
    if not folder or THOROUGH:
        return
    # A test that was not noted is not known to ask nothing: it is run.
    tests = read(Path(folder))
    all_run = {item.nodeid for item in items if item.nodeid not in tests or _is_always_run(item)}
    here = {item.nodeid: tests[item.nodeid] for item in items if item.nodeid in tests}
    wanted = all_run | enough(here, all_run)
    left_out = [item for item in items if item.nodeid not in wanted]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item.nodeid in wanted]


def _is_always_run(item: pytest.Item) -> bool:
    has_threads = not THREADS.isdisjoint(vars(getattr(item, "module", None)))
    is_marked = any(map(item.get_closest_marker, ("postgres", "broker")))
    return has_threads or is_marked or item.nodeid.startswith(OF_DATABASES)
