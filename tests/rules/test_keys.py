"""Keys of the page: what may be bound to what."""

import pytest

from loom.rules import preferences
from loom.rules.errors import CommandError


def test_no_two_actions_meet_at_first_and_all_can_be_pressed() -> None:
    assert preferences.checked(preferences.bound({})) == {}


def test_only_what_differs_is_kept_and_an_action_may_have_no_key() -> None:
    given = preferences.bound({"edit": "E", "prune": "", "send": "Mod+Shift+Enter"})
    assert preferences.checked(given) == {"edit": "E", "prune": "", "send": "Mod+Shift+Enter"}


def test_two_keys_may_change_places() -> None:
    assert preferences.checked(preferences.bound({"edit": "x", "prune": "e"})) == {
        "edit": "x",
        "prune": "e",
    }


@pytest.mark.parametrize(
    ("own", "why"),
    [
        ({"edit": "x"}, "two things: edit and prune"),
        ({"undo": "Mod+k"}, "two things: command and undo"),
        ({"leaf-typing": "Mod+Enter"}, "two things: send and leaf-typing"),
        ({"send": "g"}, "could not be typed"),
        ({"parent-typing": "ArrowLeft"}, "could not be typed"),
        ({"edit": "Alt+e"}, "types a symbol"),
        ({"edit": "Shift+e"}, "Shift is in the letter"),
        ({"edit": "Hyper+e"}, "is no key"),
        ({"edit": " "}, "is no key"),
        ({"edit": "\x00"}, "is no key"),
        ({"dance": "d"}, "No action is called dance"),
    ],
)
def test_what_cannot_be_bound_is_refused_with_the_reason(own: dict[str, str], why: str) -> None:
    with pytest.raises(CommandError) as refused:
        preferences.checked({**preferences.bound({}), **own})
    assert why in refused.value.message
    assert refused.value.hint


def test_a_key_while_typing_and_one_when_not_may_be_the_same() -> None:
    assert preferences.checked(preferences.bound({"parent": "Alt+ArrowLeft"})) == {
        "parent": "Alt+ArrowLeft"
    }
