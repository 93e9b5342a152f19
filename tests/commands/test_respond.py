"""respond: a text below a node, from one or several sources."""

from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.engine.by_name import run
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.people.models import Grove, Participant, User
from loom.reading.queries.provenance import pieces_of
from loom.text import hashes
from loom.trees.commands import trees
from loom.trees.models import Node, NodeSource, Tree
from loom.trees.queries.lookup import rows_of
from tests.commands.conftest import Say
from tests.queries.growing import add

pytestmark = pytest.mark.django_db


def test_it_makes_a_node_below_and_moves_there(say: Say, tree: Tree) -> None:
    answer = say('→ respond root "It was night."')
    ref = answer.body["refs"][0]
    assert answer.reply == (
        f"✓ created [{ref}] as continuation from [{Node.objects.first().local_id}]\n"  # type: ignore[union-attr]
        f"  switched to [{ref}]"
    )
    assert answer.body["position"] == ref
    assert Node.objects.get(local_id=ref).text == "It was night."


def test_the_text_is_kept_byte_for_byte(say: Say) -> None:
    text = "  keep \r\n these \t blanks\n"
    answer = say(f"respond root\n{text}\n←")
    assert Node.objects.get(local_id=answer.body["refs"][0]).text == text


def test_two_texts_below_the_root_are_siblings(write: Callable[..., str]) -> None:
    first, second = write("a"), write("b")
    parents = {Node.objects.get(local_id=local_id).parent_slot_id for local_id in (first, second)}
    assert len(parents) == 1


def test_the_hash_is_that_of_the_recipe(write: Callable[..., str], actor: Actor) -> None:
    parent = Node.objects.get(local_id=write("a"))
    node = Node.objects.get(local_id=write("b", "here"))
    assert node.parent_hash == parent.hash
    assert node.hash == hashes.sha256(
        {
            "author": actor.participant.uid,
            "call": None,
            "configuration": None,
            "content": [{"type": "text", "text": "b"}],
            "created_at": hashes.instant(node.created_at),
            "edited_from": None,
            "kind": "text",
            "parent": parent.hash,
        }
    )


def test_sources_are_named_with_their_role(say: Say, write: Callable[..., str]) -> None:
    a, b = write("a"), write("b")
    say(f'respond {a} "both" from:{a},{b},{a} as:instruction')
    assert [source.role for source in NodeSource.objects.all()] == ["instruction"] * 2


def test_an_untitled_tree_is_called_by_its_first_words(say: Say, tree: Tree) -> None:
    Tree.objects.update(title="")
    say('respond root "She is not angry at Thomas. The quarrel is only the nearest shape."')
    assert Tree.objects.get().title == "She is not angry at Thomas. The quarrel is only th"


def test_a_title_does_not_end_in_a_blank(say: Say, tree: Tree) -> None:
    Tree.objects.update(title="")
    say('respond root "The lighthouse keeper had not spoken to anyone in three years."')
    assert Tree.objects.get().title == "The lighthouse keeper had not spoken to anyone in"


@pytest.mark.parametrize(
    "line", ['respond root ""', "respond root", 'respond zz99 "x"', "respnd x"]
)
def test_a_bad_line_changes_nothing_but_the_step_log(say: Say, line: str) -> None:
    events, nodes = Event.objects.count(), Node.objects.count()
    with pytest.raises(CommandError) as refused:
        say(line)
    assert refused.value.code in ("INVALID_SYNTAX", "NOT_FOUND")
    assert refused.value.hint
    assert (Event.objects.count(), Node.objects.count()) == (events, nodes)
    assert Step.objects.get().outcome == refused.value.code


def test_a_reader_may_look_but_not_write(say: Say, reader: User) -> None:
    assert say("view root", by=reader).body["ok"]
    with pytest.raises(CommandError) as refused:
        say('respond root "x"', by=reader)
    assert refused.value.code == "PERMISSION_DENIED"


def test_the_same_key_and_line_make_one_node(say: Say) -> None:
    first = say('respond root "a"', key="k1")
    again = say('respond root "a"', key="k1")
    assert again.body == {**first.body, "repeated": True}
    with pytest.raises(CommandError) as refused:
        say('respond root "b"', key="k1")
    assert refused.value.code == "CONFLICT"


def test_a_dry_run_says_what_would_happen_and_writes_nothing(say: Say) -> None:
    answer = say('respond root "a"', dry_run=True)
    assert answer.reply.startswith("✓ created [")
    assert answer.body["step"] is None
    assert answer.body["events"] == []
    assert Node.objects.count() == 1
    assert Step.objects.count() == 0


def test_below_a_pruned_node_nothing_is_written(say: Say, write: Callable[..., str]) -> None:
    a = write("a")
    b = write("b", a)
    say(f"prune {a}")
    with pytest.raises(CommandError) as refused:
        say(f'respond {b} "c"')
    assert (refused.value.code, refused.value.hint) == ("REJECTED", f"→ restore {a} first")


def test_an_archived_tree_is_read_only(say: Say, tree: Tree) -> None:
    from django.utils import timezone

    Tree.objects.update(archived_at=timezone.now())
    tree.refresh_from_db()
    with pytest.raises(CommandError) as refused:
        say('respond root "a"')
    assert refused.value.code == "REJECTED"


def test_a_text_put_together_from_siblings_keeps_the_authors_of_its_sentences(
    say: Say, tree: Tree, actor: Actor, muse: Participant, grove: Grove
) -> None:
    wren = Participant.objects.create(grove=grove, kind="model", name="Wren")
    start = add(tree, actor.participant, "Once.", None)
    one = add(tree, muse, " One lamp burned. The house was still.", start)
    two = add(tree, wren, " It was dark. Nobody came.", start)
    text = " It was dark. One lamp burned. And I wrote this."
    args = {"ref": start.local_id, "content": text, "role": "parts"}
    sources = [two.local_id, one.local_id]
    ref = run(actor, tree, "respond", {**args, "sources": sources}).body["refs"][0]
    node = Node.objects.get(local_id=ref)
    [row] = rows_of([node.pk])
    whose = [(muse.uid, 17), (actor.participant.uid, 17)]
    assert list(pieces_of([row])[node.pk]) == [(wren.uid, 14), *whose]
    # An edit of it keeps them too, and so does a text that it is a part of.
    edited = say(f'edit {ref} replace:"wrote" with:"added"').body["refs"][0]
    again = {"ref": start.local_id, "content": " One lamp burned.", "role": "parts"}
    last = run(actor, tree, "respond", {**again, "sources": [edited]}).body["refs"][0]
    both = Node.objects.filter(local_id__in=[edited, last])
    rows = rows_of([node.pk for node in both])
    pieces = {row.local_id: dict(pieces_of([row])[row.id]) for row in rows}
    assert pieces == {edited: {wren.uid: 14, **dict(whose)}, last: {muse.uid: 17}}
    # It is one step, and what it was made from is not sent to models beside it.
    say("undo"), say("undo"), say("undo")
    assert Node.objects.get(pk=node.pk).pruned


def test_parts_are_of_the_tree(say: Say, tree: Tree, actor: Actor) -> None:
    other = trees.new_tree(actor, title="Other")
    elsewhere = add(other, actor.participant, "One lamp burned.", None)
    with pytest.raises(CommandError) as refused:
        say(f'respond root "One lamp burned." from:{elsewhere.local_id} as:parts')
    assert refused.value.code == "CROSS_TREE"
    with pytest.raises(CommandError):
        ref = f"tree:{other.uid} node:{elsewhere.local_id}"
        args = {"ref": "root", "content": "One lamp burned.", "role": "parts", "sources": [ref]}
        run(actor, tree, "respond", args)
