"""Following links of every type, also derived ones; steps hold where they led."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from loom.access import Actor
from loom.engine.context import Answer
from loom.engine.models import StepItem
from loom.errors import CommandError
from loom.people.commands.groves import change_grove
from loom.trees.models import Node, Tree
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
    for _ in range(42):
        say(f"link {a} to {write('more')} as:supports")
    reply = say(f"expand supports of {a} max:1").reply
    assert " more: → list " in reply and reply.count(f"→ list {a} supports") == 1, reply


def test_a_portal_of_the_page_is_a_step_without_windows(
    say: Say, write: Write, actor: Actor
) -> None:
    a, b = write("a"), write("b")
    say(f"link {a} to {b} as:supports")
    opened = say(f"expand supports of {a} inline")
    assert _led_to(opened) == [b]
    assert not Window.objects.exists()


@pytest.fixture
def nested(say: Say, write: Write) -> dict[str, str]:
    """Three windows, each opened from the one before, by the ids of their texts."""
    ids = {name: write(f"text {name}", "root") for name in "abcd"}
    a, b, c, d = ids.values()
    say(f"link {a} to {b} as:supports")
    say(f"link {b} to {c} as:uses")
    say(f"link {c} to {d} as:refutes")
    say(f"expand supports of {a}")
    say(f"expand uses of {b}")
    say(f"expand refutes of {c}")
    return ids


def _visible() -> list[int]:
    return list(Window.objects.filter(is_visible=True).values_list("number", flat=True))


def test_what_is_expanded_again_brings_back_what_was_open_below_it(
    say: Say, nested: dict[str, str]
) -> None:
    a = nested["a"]
    before = _visible()
    assert len(before) == 3
    assert (
        f"hidden #{before[0]} #{before[1]} #{before[2]}" in say(f"collapse supports of {a}").reply
    )
    assert not _visible()
    again = say(f"expand supports of {a}").reply
    assert f"as #{before[0]}\n  again: #{before[1]} #{before[2]}" in again
    assert _visible() == before
    tree = say("trail show windows").reply.split("\n")
    assert [len(line) - len(line.lstrip()) for line in tree] == [0, 2, 4]
    # Collapsing, expanding and collapsing is collapsing.
    say(f"collapse supports of {a}")
    say(f"expand supports of {a}")
    say(f"collapse supports of {a}")
    assert not _visible() and not Window.objects.filter(is_closed=True).exists()


def _chain(say: Say, write: Write, many: int) -> list[str]:
    """So many texts, each supported by the next: `supports` leads on, `supported_by` back."""
    ids = [write(f"text {at}", "root") for at in range(many)]
    for one, other in pairwise(ids):
        say(f"link {one} to {other} as:supports")
    return ids


def test_the_sixth_portal_by_lines_is_refused_and_the_chain_is_named(
    say: Say, write: Write, actor: Actor
) -> None:
    ids = _chain(say, write, 9)
    say(f"open {ids[0]}")  # where the portals begin lies in none
    say(f"expand supports of {ids[0]}")
    for _ in range(4):
        say("expand supports of focus")
    for line in ("expand supports of focus", f"expand supports of {ids[5]}"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "LIMIT_EXCEEDED"
        chain = " → ".join(["supports"] * 6)
        assert refused.value.message == f"Portals lie at most 5 deep: {chain}."
    assert len(_visible()) == 6
    # The text is opened by itself, and portals begin again below it; the grove may allow more.
    say(f"open {ids[6]}")
    say(f"expand supports of {ids[6]}")
    change_grove(actor, settings={"portal_depth": 12})
    tree = Tree.objects.get()
    assert "→ 1 item as #" in say(f"expand supports of {ids[5]}", into=tree).reply


def test_a_portal_in_a_text_lies_as_deep_as_others(say: Say, write: Write) -> None:
    last = write("the end")
    ids = [last]
    for _ in range(6):
        ids.append(write(f"next @[uses -> {ids[-1]}]", "root"))
    ids.reverse()
    for one, other in list(pairwise(ids))[:5]:
        assert "as #" in say(f'expand uses of {one} to:"{other}"').reply
    with pytest.raises(CommandError, match="at most 5 deep: uses → uses"):
        say(f'expand uses of {ids[5]} to:"{last}"')


def test_a_window_is_collapsed_and_expanded_by_its_number(say: Say, nested: dict[str, str]) -> None:
    first, second, third = _visible()
    say(f"hide #{third}")
    say(f"collapse #{first}")
    assert _visible() == [first]
    assert f"✓ ▼ #{first}\n  shown #{second}" in say(f"expand #{first}").reply
    assert _visible() == [first, second]  # what was hidden before stays hidden


def test_a_way_over_several_items_names_each_once(say: Say, write: Write) -> None:
    a, b, c = (write(name, "root") for name in ("a", "b", "c"))
    say(f"link {a} to {b} as:supports")
    say(f"link {a} to {c} as:supports")
    say(f"switch {a}")
    say(f"expand supports of {a}")
    lines = say("trail").reply.split("\n")
    assert len(lines) == 2 and f"[{b}]" in lines[1] and f"[{c}]" in lines[1]


def test_memory_says_which_way_led_here_and_which_links_lead_on(say: Say, write: Write) -> None:
    a, b, c = (write(name, "root") for name in ("a", "b", "c"))
    say(f"link {a} to {b} as:supports")
    say(f"link {c} to {a} as:supports")
    say(f"link {a} to {c} as:uses")
    say(f"switch {a}")
    say(f"expand uses of {a}")
    told = say("memory").reply.split("\n")
    assert told[1:4] == [
        "Trail: 2 steps (→ trail)",
        f'  1 → [{a}] "a"',
        f'  2 ──[uses]──→ [{c}] "c"',
    ]
    assert told[4:8] == [
        f"Links: 3 (→ list {a} links)",
        f"  ▶ [supports] ──→ [{b}]",
        f"  ▶ [uses] ──→ [{c}]",
        f"  ▶ [supported_by] ──→ [{c}]",
    ]


def test_an_item_to_which_several_links_lead_is_opened_and_counted_once(
    say: Say, write: Write
) -> None:
    a, b, c, d = (write(name, "root") for name in "abcd")
    for line in (f"{a} to {b}", f"{a} to {c}", f"{b} to {d}", f"{c} to {d}"):
        say(f"link {line} as:tests")
    say(f"expand tests of {a}")
    opened = say("expand tests of focus")
    number = Window.objects.latest("number").number
    assert f"→ 1 item as #{number}" in opened.reply and " more: " not in opened.reply
    assert _led_to(opened) == [d]


def test_what_is_cited_twice_is_opened_once(say: Say, write: Write) -> None:
    a, b = (write(name, "root") for name in "ab")
    claim = say(f'claim "It is so" cite:{a}').body["refs"][0]
    say(f"cite {b} for {claim}")
    say(f'cite {b} lines:1 for {claim} "again"')
    for line in (f"expand supported_by of {claim}", f"expand supported_by of {claim} inline"):
        opened = say(line)
        assert "→ 2 items" in opened.reply and " more: " not in opened.reply
        assert _led_to(opened) == [a, b]
