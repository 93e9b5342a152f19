"""What cannot be tested on this machine is skipped, loudly; HEDDLE_FORBID_SKIPS=1 forbids it."""

import os
import shutil
from collections.abc import Generator

import pytest

# Files of other programs are not part of the project: a clone without them is whole.
FORGIVEN = "sample"
BROWSERS = (
    # Without a window, in which a journey costs the browser two fifths of the CPU.
    *("chromium-headless-shell", "chromium", "chromium-browser"),
    *("google-chrome", "google-chrome-stable"),
)


def chromium() -> str | None:
    """The path of a Chromium: HEDDLE_CHROMIUM, else the first one found."""
    given = os.environ.get("HEDDLE_CHROMIUM", "")
    return given or next(filter(None, map(shutil.which, BROWSERS)), None)


def missing() -> dict[str, str]:
    """For each marker that cannot run here, why and what to do."""
    reasons = {}
    if not os.environ.get("DATABASE_URL", "").startswith(("postgres://", "postgresql://")):
        reasons["postgres"] = "PostgreSQL: set DATABASE_URL=postgresql://… to an empty server"
    if chromium() is None:
        reasons["browser"] = "browser: install Chromium, or name it in HEDDLE_CHROMIUM"
    return reasons


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--only-rows`, for a second run on another database."""
    parser.addoption(
        "--only-rows", action="store_true", help="only tests that use the database's rows"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips what lacks its database or browser, before any fixture is made; what is about
    SQLite alone is no part of a run on PostgreSQL, and with `--only-rows` neither is what reads
    and writes no row of the database that DATABASE_URL names."""
    lacking = missing()
    for item in items:
        for name, reason in lacking.items():
            if item.get_closest_marker(name):
                item.add_marker(pytest.mark.skip(reason=reason))
    if "postgres" not in lacking:
        elsewhere = {item for item in items if item.get_closest_marker("sqlite")}
        if config.getoption("--only-rows"):
            elsewhere |= {item for item in items if not uses_rows(item)}
        config.hook.pytest_deselected(items=list(elsewhere))
        items[:] = [item for item in items if item not in elsewhere]


def uses_rows(item: pytest.Item) -> bool:
    """Whether a test uses the database that DATABASE_URL names, or the broker that REDIS_URL
    names, by its fixtures and marks. The Heddle that most tests in tests/kills share keeps its
    rows in a file, whatever is named."""
    fixtures = set(getattr(item, "fixturenames", ()))
    if "heddle" in fixtures:
        return False
    marks = ("django_db", "postgres", "kill", "broker")
    return bool({"db", "transactional_db"} & fixtures) or any(map(item.get_closest_marker, marks))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where skipping is forbidden, a skipped test has failed."""
    report = yield
    is_skipped = report.skipped and not hasattr(report, "wasxfail")
    is_forbidden = os.environ.get("HEDDLE_FORBID_SKIPS") and FORGIVEN not in str(report.longrepr)
    if is_skipped and is_forbidden:
        report.outcome = "failed"
        report.longrepr = f"Skipping is forbidden here, and this was skipped: {report.longrepr}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what this run did not test, so that nobody takes it for the whole."""
    lacking = list(missing().values())
    if not os.environ.get("HEDDLE_REAL_REDIS"):
        lacking.append("Redis: the embedded Valkey stood in (.ci/run uses a real one)")
    if lacking and not os.environ.get("HEDDLE_FORBID_SKIPS"):
        terminalreporter.section("NOT TESTED HERE", sep="!", yellow=True, bold=True)
        for line in lacking:
            terminalreporter.line(f"  {line}", yellow=True)
