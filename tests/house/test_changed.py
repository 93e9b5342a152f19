"""`script/test --changed` finds the tests of what was changed."""

import pytest

from tests.changed import concerned_by, imports


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("loom/language/slices.py", "tests/grammar/test_slices.py"),
        ("loom/engine/by_name.py", "tests/commands/test_by_name.py"),
        ("loom/links/commands/links.py", "tests/interfaces/test_links.py"),
        ("tests/rules/test_budgets.py", "tests/rules/test_budgets.py"),
        ("templates/parts/card.html", "tests/web"),
        ("docs/commands.md", "tests/house/test_reference.py"),
    ],
)
def test_a_change_is_tested_by_what_concerns_it(changed: str, test: str) -> None:
    assert test in concerned_by([changed])


def test_a_change_far_away_is_not_tested() -> None:
    concerned = concerned_by(["loom/language/gbnf.py"])
    assert "tests/grammar/test_gbnf.py" in concerned
    assert len(concerned) < len([module for module in imports() if ".test_" in module]) / 4


def test_nothing_changed_is_nothing_to_test() -> None:
    assert concerned_by([]) == []
