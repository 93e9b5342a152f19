"""Keys of the page: what may be bound to what."""

import pytest

from loom.errors import CommandError
from loom.people import shortcuts


def test_no_two_actions_meet_at_first_and_all_can_be_pressed() -> None:
    assert shortcuts.checked_keys(shortcuts.bound_keys({})) == {}


def test_only_what_differs_is_kept_and_an_action_may_have_no_key() -> None:
    given = shortcuts.bound_keys({"edit": "E", "prune": "", "send": "Mod+Shift+s"})
    assert shortcuts.checked_keys(given) == {"edit": "E", "prune": "", "send": "Mod+Shift+s"}


def test_two_keys_may_change_places() -> None:
    assert shortcuts.checked_keys(shortcuts.bound_keys({"edit": "x", "prune": "e"})) == {
        "edit": "x",
        "prune": "e",
    }


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ({"edit": "x"}, "used twice: for edit and prune"),
        ({"undo": "Mod+k"}, "used twice: for command and undo"),
        ({"leaf-typing": "Mod+Enter"}, "used twice: for send and leaf-typing"),
        ({"send": "g"}, "would block typing"),
        ({"parent-typing": "ArrowLeft"}, "would block typing"),
        ({"edit": "Alt+e"}, "types a symbol"),
        ({"edit": "Shift+e"}, "already includes Shift"),
        ({"edit": "Hyper+e"}, "is not a key"),
        ({"edit": " "}, "is not a key"),
        ({"edit": "\x00"}, "is not a key"),
        ({"dance": "d"}, "There is no action dance"),
    ],
)
def test_what_cannot_be_bound_is_refused_with_the_reason(own: dict[str, str], why: str) -> None:
    with pytest.raises(CommandError) as refused:
        shortcuts.checked_keys({**shortcuts.bound_keys({}), **own})
    assert why in refused.value.message
    assert refused.value.hint


def test_a_key_while_typing_and_one_when_not_may_be_the_same() -> None:
    assert shortcuts.checked_keys(shortcuts.bound_keys({"parent": "Alt+ArrowLeft"})) == {
        "parent": "Alt+ArrowLeft"
    }
