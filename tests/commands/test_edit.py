"""edit and split: nothing is rewritten, new nodes are made."""

from collections.abc import Callable

import pytest
from django.test import Client

from loom.errors import CommandError
from loom.people.models import User
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def node(local_id: str) -> Node:
    return Node.objects.get(local_id=local_id)


def test_a_version_is_in_the_same_slot(say: Say, write: Write) -> None:
    a = write("one")
    answer = say(f'edit {a} "two" as:version')
    ref = answer.body["refs"][0]
    assert answer.reply == (
        f"✓ created version [{ref}] from [{a}]\n  downstream nodes preserved via hyperedge"
    )
    assert (node(ref).slot_id, node(ref).edited_from_id) == (node(a).pk, node(a).pk)


def test_in_dialogue_an_edit_is_a_branch(say: Say, write: Write) -> None:
    a = write("one")
    answer = say(f'edit {a} "two"')
    ref = answer.body["refs"][0]
    assert answer.reply == (
        f"✓ created branch [{ref}] from [{a}]\n  conversation continues from edit point"
    )
    assert node(ref).slot_id == node(ref).pk
    assert node(ref).parent_slot_id == node(a).parent_slot_id


def test_an_older_version_is_not_edited_over_a_newer(say: Say, write: Write) -> None:
    a = write("one")
    b = say(f'edit {a} "two" as:version').body["refs"][0]
    with pytest.raises(CommandError) as refused:
        say(f'edit {a} "three" as:version')
    assert refused.value.code == "CONFLICT"
    assert b in refused.value.message
    assert say(f'edit {a}\' "three" as:version').body["ok"]


@pytest.mark.parametrize(
    ("new", "texts"),
    [
        ("The sun set.", ["The ", "sun set."]),  # common head, then the rest
        ("Rain.", ["Rain."]),  # nothing in common: one node beside
        ("The", ["The"]),  # no rest: one node beside
        ("The moon rose. Then", [" Then"]),  # whole text kept: the rest below
    ],
)
def test_a_fork_in_a_buffer_keeps_the_common_head(
    say: Say, buffer: Tree, new: str, texts: list[str]
) -> None:
    a = say('respond root "The moon rose."', into=buffer).body["refs"][0]
    refs = say(f'edit {a} "{new}" as:fork', into=buffer).body["refs"]
    assert [node(ref).text for ref in refs] == texts
    assert all(node(ref).edited_from == node(a) for ref in refs)
    if new.startswith("The moon rose."):
        assert node(refs[0]).parent_slot_id == node(a).pk


def test_replace_needs_exactly_one_place(say: Say, write: Write) -> None:
    a = write("a cat and a dog")
    ref = say(f'edit {a} replace:"cat" with:"hen"').body["refs"][0]
    assert node(ref).text == "a hen and a dog"
    with pytest.raises(CommandError) as refused:
        say(f'edit {a} replace:"a " with:"the "')
    assert refused.value.code == "CONFLICT"
    assert "2 times" in refused.value.message


@pytest.mark.parametrize("line", ['edit root "x"', 'edit {a} "one"'])
def test_the_root_and_no_change_are_rejected(say: Say, write: Write, line: str) -> None:
    a = write("one")
    with pytest.raises(CommandError) as refused:
        say(line.format(a=a))
    assert refused.value.code == "REJECTED"


def test_only_the_slice_is_replaced(say: Say, write: Write) -> None:
    a = say("respond root\none\ntwo\nthree\n←").body["refs"][0]
    ref = say(f'edit {a} lines:2-2 "TWO" as:version').body["refs"][0]
    assert node(ref).text.splitlines() == ["one", "TWO", "three"]


def test_split_makes_a_head_and_a_tail_and_prunes_a_leaf(say: Say, write: Write) -> None:
    a = write("night falls")
    answer = say(f"split {a} at:5")
    head, tail = answer.body["refs"]
    assert answer.reply == f"✓ split [{a}] at 5: [{head}] [{tail}]"
    assert (node(head).text, node(tail).text) == ("night", " falls")
    assert node(tail).parent_slot_id == node(head).pk
    assert node(a).pruned
    assert answer.body["position"] == head


def test_what_is_not_a_leaf_stays_when_it_is_split(say: Say, write: Write) -> None:
    a = write("night falls")
    write("x", a)
    say(f"split {a} at:5")
    assert not node(a).pruned


def test_one_character_is_not_split(say: Say, write: Write) -> None:
    with pytest.raises(CommandError) as refused:
        say(f"split {write('a')} at:1")
    assert (refused.value.code, "at:" in refused.value.hint) == ("INVALID_SYNTAX", False)
    assert "1 character, which cannot be split" in refused.value.message
    with pytest.raises(CommandError) as refused:
        say(f"split {write('ab')} at:2")
    assert refused.value.hint == "use at:1"


@pytest.mark.parametrize("at", ["0", "3", "99"])
def test_split_needs_a_place_inside(say: Say, write: Write, at: str) -> None:
    a = write("abc")
    with pytest.raises(CommandError) as refused:
        say(f"split {a} at:{at}")
    assert refused.value.code == "INVALID_SYNTAX"


@pytest.mark.parametrize("way", ["version", "fork"])
def test_a_paragraph_is_cut_out_of_a_buffer_as_an_empty_wording(
    say: Say, buffer: Tree, way: str
) -> None:
    a = say('respond root "One."', into=buffer).body["refs"][0]
    b = say('respond " Two."', into=buffer).body["refs"][0]
    c = say('respond " Three."', into=buffer).body["refs"][0]
    cut = say(f'edit {b} "" as:{way}', into=buffer).body["refs"][0]
    assert (node(cut).text, node(cut).edited_from) == ("", node(b))
    assert node(c).parent_slot_id == node(b).pk
    assert (node(cut).slot_id == node(b).pk) is (way == "version")
    say("undo", into=buffer)
    assert str(node(b).text) == " Two."
    filled = say(f'edit {a} replace:"One." with:"" as:{way}', into=buffer).body["refs"][0]
    assert node(filled).text == ""


def test_an_empty_edit_is_refused_in_a_dialogue_and_of_a_note(
    say: Say, write: Write, buffer: Tree
) -> None:
    a = write("one")
    text = say('respond root "One."', into=buffer).body["refs"][0]
    note = say(f'annotate {text} "Why?"', into=buffer).body["refs"][0]
    for line, tree in ((f'edit {a} ""', None), (f'edit {note} ""', buffer)):
        with pytest.raises(CommandError) as refused:
            say(line, into=tree)
        assert refused.value.code == "INVALID_SYNTAX"


def test_the_texts_of_a_line_where_one_was_cut_out_are_sent_and_verified_without_it(
    say: Say, buffer: Tree, client: Client, owner: User
) -> None:
    say('respond root "One."', into=buffer)
    b = say('respond " Two."', into=buffer).body["refs"][0]
    c = say('respond " Three."', into=buffer).body["refs"][0]
    say(f'edit {b} "" as:version', into=buffer)
    client.force_login(owner)
    path = client.get(f"/api/trees/{buffer.uid}/path?node={c}").json()["nodes"]
    assert [part["text"] for part in path[1:]] == ["One.", "", " Three."]
    verdict = client.get(f"/api/trees/{buffer.uid}/verify?node={c}").json()
    assert verdict["broken"] == []
