"""Which tests of a run in several processes go to one of them: those of a file, and those of files
that share what is slow to start, such as a Heddle or the import of LiteLLM.

In place of the marks of pytest-xdist, which write the group into the id of a test; pytest 9.2 no
longer takes it from there. Processes that do not collect tests know only the ids, so groups are
named by the beginnings of ids.
"""

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from xdist.scheduler import LoadGroupScheduling

# Where tests marked `kill` are: script/test runs them beside all others, from these folders alone.
BESIDE = ("tests/kills", "tests/house", "tests/live/test_agreement.py")
# Tests that start processes wait for them most of the time: three groups for three processes.
GROUPS = {
    "tests/kills/test_turn_kills.py": "Heddles of their own",
    "tests/kills/test_random_kills.py": "Heddles of their own",
    "tests/house/test_server.py": "Heddles of their own",
    "tests/house/test_readme.py": "Heddles of their own",
    "tests/house/test_wheel.py": "Heddles of their own",
    "tests/kills/test_benches.py": "benches",
    "tests/kills/": "a Heddle",
    "tests/providers/test_litellm": "LiteLLM",
    "tests/house/test_catalogues.py": "catalogues of words",
    "tests/house/test_words.py": "catalogues of words",
    "tests/web/test_languages.py": "catalogues of words",
}


def group_of(nodeid: str) -> str:
    """The group of a test: its file where it is in none of these, as a fixture of a module would be
    made again by each process that runs a test of it."""
    name = next((name for start, name in GROUPS.items() if nodeid.startswith(start)), "")
    return name or nodeid.partition("::")[0]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuses a test marked `kill` where script/test would not find it."""
    lost = [
        item.nodeid
        for item in items
        if item.get_closest_marker("kill") and not item.nodeid.startswith(BESIDE)
    ]
    if lost:
        raise pytest.UsageError(f"script/test finds tests marked `kill` only in {BESIDE}: {lost}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> "LoadGroupScheduling | None":
    """The scheduler of `--dist loadgroup`, with the groups above."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class Groups(LoadGroupScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid)

    return Groups(config, log)
