"""Which cases of a check with many of them a run tries: half of those that cost much and say
little, drawn afresh each time, so that another run has the others. `HEDDLE_THOROUGH=1` tries all.
"""

from collections import defaultdict
from random import Random

import pytest

from tests.thorough import THOROUGH

FEW = 3  # so many cases of a check are always tried
# About what a database does by itself: all cases on each.
OF_DATABASES = ("tests/queries/", "tests/kills/", "tests/machines/")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out half of the cases of a check marked `halves`, and with `--only-rows`, where
    everything is also tested on SQLite, of each check with more than a few, and what is marked
    `once`. The processes of a run draw the same cases: by its seed, which the first lines of its
    output name."""
    if THOROUGH:
        return
    seed = config.getoption("randomly_seed", 0)
    is_repeated = config.getoption("--only-rows")
    left_out = {item for item in items if is_repeated and item.get_closest_marker("once")}
    for check, cases in _by_check(items).items():
        is_elsewhere = is_repeated and not check.startswith(OF_DATABASES)
        if is_elsewhere or cases[0].get_closest_marker("halves"):
            many = max(FEW, (len(cases) + 1) // 2)
            left_out |= {*cases} - {*Random(f"{seed} {check}").sample(cases, min(many, len(cases)))}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _by_check(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    checks = defaultdict(list)
    for item in sorted(items, key=lambda item: item.nodeid):
        checks[item.nodeid.partition("[")[0]].append(item)
    return checks
