"""Which cases of a check marked `share(N)` a run tries: one in N, drawn afresh each time, so that
other runs have the others. `HEDDLE_THOROUGH=1` tries all."""

from collections import defaultdict
from random import Random

import pytest

from tests.thorough import THOROUGH


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the cases that are not drawn. The processes of a run draw the same ones: by its
    seed, which the first lines of its output name."""
    if THOROUGH:
        return
    seed = config.getoption("randomly_seed", 0)
    left_out: set[pytest.Item] = set()
    for check, cases in _by_check(items).items():
        share = cases[0].get_closest_marker("share")
        if share is not None:
            many = -(-len(cases) // int(share.args[0]))
            left_out |= {*cases} - {*Random(f"{seed} {check}").sample(cases, many)}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def _by_check(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    checks = defaultdict(list)
    for item in sorted(items, key=lambda item: item.nodeid):
        checks[item.nodeid.partition("[")[0]].append(item)
    return checks
