"""Following links of every type, also derived ones; steps hold where they led."""

from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.engine.context import Answer
from loom.engine.models import StepItem
from loom.errors import CommandError
from loom.trees.models import Node
from loom.workspace.models import Window
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def _led_to(answer: Answer) -> list[str]:
    assert answer.step is not None
    items = StepItem.objects.filter(step=answer.step, led_to=True).values_list("item", flat=True)
    names = dict(Node.objects.filter(pk__in=list(items)).values_list("pk", "local_id"))
    return [names[item] for item in items]


def test_every_derived_type_that_list_offers_can_be_expanded(say: Say, write: Write) -> None:
    a = write("a")
    b = write("b, see [" + a + "]", a)
    c = write("c", a)
    say(f'annotate {a} "hm"')
    newer = say(f'edit {a} "a, better" as:version').body["refs"][0]
    merged = say(f'respond {b} "merged" from:{c}').body["refs"][0]
    for kind, of, ends in (
        ("continues", a, 2),
        ("children", a, 2),
        ("continued_by", b, 1),
        ("siblings", b, 1),
        ("annotations", a, 1),
        ("versions", a, 2),
        ("version_of", newer, 1),
        ("sources", merged, 1),
        ("merges", c, 1),
        ("mentions", b, 1),
    ):
        assert f"→ {ends} item" in say(f"expand {kind} of {of}").reply, kind
        assert say(f"list {of} {kind}").body["refs"], kind
        say("close all")


def test_a_step_holds_where_it_led_and_back_closes_it(say: Say, write: Write) -> None:
    a, b, c = write("a"), write("b"), write("c")
    say(f"link {a} to {b} as:supports")
    say(f"link {a} to {c} as:supports")
    opened = say(f"expand supports of {a}")
    assert _led_to(opened) == [b, c]
    say(f"collapse supports of {a}")
    assert not Window.objects.filter(is_visible=True).exists()


def test_collapse_closes_what_this_node_led_to_and_not_what_led_to_it(
    say: Say, write: Write
) -> None:
    a, b, c = write("a"), write("b"), write("c")
    say(f"link {a} to {b} as:related")
    say(f"link {a} to {c} as:related")
    say(f"expand related of {a}")  # opens b and c
    with pytest.raises(CommandError):
        say(f"collapse related of {b}")
    assert Window.objects.filter(is_visible=True).count() == 2


def test_what_was_not_opened_is_counted(say: Say, write: Write) -> None:
    a = write("a")
    for at in range(4):
        say(f"link {a} to {write(f'text {at}')} as:supports")
    reply = say(f"expand supports of {a} max:3").reply
    assert "\n  not opened: [" in reply


def test_a_portal_of_the_page_is_a_step_without_windows(
    say: Say, write: Write, actor: Actor
) -> None:
    a, b = write("a"), write("b")
    say(f"link {a} to {b} as:supports")
    opened = say(f"expand supports of {a} inline")
    assert _led_to(opened) == [b]
    assert not Window.objects.exists()
