"""What one person likes: kept, read again, and checked."""

import pytest

from loom.errors import CommandError
from loom.people.preferences import Preferences, changed_preferences, read_preferences


def test_only_what_differs_is_stored_and_it_reads_back() -> None:
    likes = changed_preferences(
        Preferences(), {"prose": "sans", "temperature": 0.7, "verbose": True}
    )
    assert likes.stored == {"prose": "sans", "temperature": 0.7, "verbose": True}
    assert read_preferences(likes.stored) == likes


@pytest.mark.parametrize(
    "stored", [None, [], {"prose": "gothic"}, {"new": 1}, {"temperature": True}, {"keys": {"x": 1}}]
)
def test_what_is_not_known_is_left_out(stored: object) -> None:
    assert read_preferences(stored) == Preferences()


@pytest.mark.parametrize(
    "given",
    [
        {"prose": "gothic"},
        {"temperature": 3},
        {"temperature": float("nan")},
        {"verbose": "yes"},
        {"colour": "red"},
        {"keys": []},
        {"edits": 3},
    ],
)
def test_what_cannot_be_liked_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(CommandError):
        changed_preferences(Preferences(), given)


def test_changing_one_thing_leaves_the_others() -> None:
    likes = changed_preferences(
        changed_preferences(Preferences(), {"size": "large"}), {"keys": {"edit": "E"}}
    )
    assert (likes.size, likes.keys) == ("large", {"edit": "E"})
