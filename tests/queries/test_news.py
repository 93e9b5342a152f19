"""What others did since somebody looked, and where they were named."""

from collections.abc import Callable

import pytest
from django.db import transaction
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Stream
from loom.notes.commands.annotations import names_in
from loom.notes.mentions import count_unseen, mentions_of, newest_mentions
from loom.notes.models import Mention
from loom.people.models import Participant, User
from loom.reading.pages.history import news_shown
from loom.site.display import cast_of
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode
from loom.trees.models import Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.event_log import counts_of, news_of
from loom.turns.models import Generation
from loom.workspace.commands import arrivals
from tests.two_groves import TwoGroves


def head(tree: Tree) -> int:
    """The last event of a tree."""
    return Stream.objects.get(name=f"tree:{tree.uid}").head


def place(actor: Actor, tree: Tree) -> Workspace:
    """The actor's workspace, as it is now."""
    node_writer.workspace_of(actor.participant, tree)
    return Workspace.objects.get(participant=actor.participant, tree=tree)


def test_what_others_did_since_is_counted_and_ones_own_is_not(
    actor: Actor, writer: User, tree: Tree
) -> None:
    hers = get_actor(writer, tree.grove)
    execute_line(hers, tree, Request('respond root "Before."'))
    assert news_of(actor, tree, place(actor, tree), most=12) is None
    arrivals.mark_seen(actor, tree, head(tree))
    assert news_of(actor, tree, place(actor, tree), most=12) is None
    ref = execute_line(hers, tree, Request('respond root "New."')).body["refs"][0]
    execute_line(hers, tree, Request(f'annotate {ref} "A note."'))
    execute_line(hers, tree, Request(f"tag {ref} #a"))
    execute_line(actor, tree, Request('respond root "Mine."'))
    news = news_of(actor, tree, place(actor, tree), most=12)
    assert news is not None
    me = hers.participant.uid
    assert set(news.by) == {
        (me, "node.added", 1),
        (me, "annotation.added", 1),
        (me, "mark.added", 1),
    }
    assert counts_of(actor, [tree]) == {tree.pk: 3}
    arrivals.mark_seen(actor, tree, head(tree))
    assert counts_of(actor, [tree]) == {}


def test_changes_of_several_kinds_are_told_as_one_number(
    actor: Actor, writer: User, tree: Tree
) -> None:
    hers = get_actor(writer, tree.grove)
    ref = execute_line(hers, tree, Request('respond root "Before."')).body["refs"][0]
    place(actor, tree)
    arrivals.mark_seen(actor, tree, head(tree))
    for line in ('respond root "New."', f"tag {ref} #a", f"prune {ref}"):
        execute_line(hers, tree, Request(line))
    workspace = place(actor, tree)
    shown = news_shown(actor, tree, workspace, cast_of(actor))
    assert shown is not None
    assert [person.said for person in shown.people] == ["wrote 1 text, made 2 other changes"]


def test_all_texts_are_counted_and_those_the_reader_asked_for_are_no_news(
    actor: Actor, muse: Participant, tree: Tree, writer: User
) -> None:
    hers = get_actor(writer, tree.grove)
    place(actor, tree)
    arrivals.mark_seen(actor, tree, head(tree))
    root = lookup.root_of(tree)
    generations = [
        Generation.objects.create(
            tree=tree, participant=muse, asked_by=asker, point=root, batch="b", index=1
        )
        for asker in (actor.participant, hers.participant)
    ]
    with transaction.atomic():
        writing = streams.lock(tree, actor=muse.uid)
        for number in range(130):
            for generation in generations:
                new = NewNode(f"{number}", parent=root, generation_uid=generation.uid)
                node_writer.add_node(writing, tree, muse, new)
        writing.flush()
    shown = news_shown(actor, tree, place(actor, tree), cast_of(actor))
    assert shown is not None and not shown.is_more
    assert [(person.name, person.said) for person in shown.people] == [("Muse", "wrote 130 texts")]
    mine = news_of(actor, tree, place(actor, tree), most=12, asked=Generation.objects.all())
    assert mine is None
    # The list of trees counts the same.
    assert counts_of(actor, [tree], asked=Generation.objects.all()) == {}
    own = Generation.objects.filter(asked_by=actor.participant)
    assert counts_of(actor, [tree], asked=own) == {tree.pk: 100}


def test_looking_never_goes_back_nor_beyond_what_there_is(actor: Actor, tree: Tree) -> None:
    node_writer.workspace_of(actor.participant, tree)
    arrivals.mark_seen(actor, tree, 10**9)
    assert place(actor, tree).seen_seq == head(tree)
    arrivals.mark_seen(actor, tree, 0)
    assert place(actor, tree).seen_seq == head(tree)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("@Ada look", {"Ada"}),
        ("what of @ada?", {"Ada"}),
        ("@Ada Lovelace, here", {"Ada Lovelace"}),
        ("ask @Ada and @Ada Lovelace", {"Ada", "Ada Lovelace"}),
        ("mail me at x@Ada.example", set()),
        ("@Adam", set()),
        ("Ada", set()),
    ],
)
def test_a_name_after_an_at_sign_is_meant_as_a_whole(text: str, named: set[str]) -> None:
    assert names_in(text, ["Ada", "Ada Lovelace", "Bo"]) == named


def test_who_is_named_is_reached_until_they_look(
    actor: Actor, writer: User, reader: User, tree: Tree
) -> None:
    hers = get_actor(writer, tree.grove)
    node = execute_line(hers, tree, Request('respond root "Text."')).body["refs"][0]
    execute_line(hers, tree, Request(f'annotate {node} "@Owner and @Writer, please"'))
    assert [mention.node.text for mention in mentions_of(actor.user, unseen=True)] == [
        "@Owner and @Writer, please"
    ]
    assert not mentions_of(writer).exists()
    assert not mentions_of(reader).exists()
    node_writer.workspace_of(actor.participant, tree)
    arrivals.mark_seen(actor, tree, head(tree))
    assert not mentions_of(actor.user, unseen=True).exists()
    assert mentions_of(actor.user).count() == 1


@pytest.mark.parametrize(
    ("line", "back"),
    [
        ("prune {note}", "restore {note}"),
        ("undo", "redo"),
        ('edit {note} "It is fine."', "undo"),
        ("prune {text}", "restore {text}"),
    ],
)
def test_a_note_that_was_taken_back_is_not_in_the_inbox(
    actor: Actor, writer: User, tree: Tree, line: str, back: str
) -> None:
    hers = get_actor(writer, tree.grove)
    text = execute_line(hers, tree, Request('respond root "Text."')).body["refs"][0]
    note = execute_line(hers, tree, Request(f'annotate {text} "@Owner, please"')).body["refs"][0]
    assert count_unseen(actor.user) == len(newest_mentions(actor.user, most=9)) == 1
    execute_line(hers, tree, Request(line.format(note=note, text=text)))
    assert count_unseen(actor.user) == len(newest_mentions(actor.user, most=9)) == 0
    execute_line(hers, tree, Request(back.format(note=note, text=text)))
    assert count_unseen(actor.user) == len(newest_mentions(actor.user, most=9)) == 1


def test_another_wording_reaches_whom_it_names(
    actor: Actor, writer: User, reader: User, tree: Tree
) -> None:
    """Whoever was named before is told once, with the words as they are now."""
    hers = get_actor(writer, tree.grove)
    text = execute_line(hers, tree, Request('respond root "Text."')).body["refs"][0]
    note = execute_line(hers, tree, Request(f'annotate {text} "@Owner, look"')).body["refs"][0]
    node_writer.workspace_of(actor.participant, tree)
    arrivals.mark_seen(actor, tree, head(tree))
    execute_line(hers, tree, Request(f'edit {note} "@Owner and @Reader, please"'))
    assert count_unseen(actor.user) == 0 and count_unseen(reader) == 1
    [mention] = newest_mentions(actor.user, most=9)
    assert mention.node.text == "@Owner and @Reader, please"


def test_nobody_outside_the_grove_is_named_or_told(two_groves: TwoGroves) -> None:
    right = two_groves.right
    names = right.grove.participants.filter(kind="human").values_list("name", flat=True)
    left = two_groves.left.grove.participants.filter(user=two_groves.only_left).get().name
    mentions = " ".join(f"@{name}" for name in [*names, left])
    right.run(two_groves.both, f'annotate {right.text.local_id} "{mentions}"')
    assert not Mention.objects.filter(participant__user=two_groves.only_left).exists()
    assert mentions_of(two_groves.only_right).count() == 1
    page = two_groves.client(two_groves.only_left).get("/mentions").content.decode()
    assert mentions not in page
    right.grove.memberships.filter(user=two_groves.only_right).delete()
    assert mentions_of(two_groves.only_right).count() == 0
    answer = two_groves.client(two_groves.only_left).post(
        f"/trees/{right.tree.uid}/seen", {"seq": 1}, format="json"
    )
    assert answer.status_code == 404


def test_a_preview_of_an_annotation_names_nobody(actor: Actor, writer: User, tree: Tree) -> None:
    hers = get_actor(writer, tree.grove)
    answer = execute_line(hers, tree, Request('annotate root "@Owner, look"', dry_run=True))
    assert "annotation" in answer.body["reply"]
    assert not Mention.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_workspace_names_what_others_wrote_until_it_is_seen(
    actor: Actor, writer: User, owner: User, tree: Tree, api: Callable[[User], APIClient]
) -> None:
    hers = get_actor(writer, tree.grove)
    own = place(actor, tree)

    def listed() -> list[str]:
        body = api(owner).get(f"/api/workspaces/{own.uid}").json()
        return [notification["text"] for notification in body["notifications"]]

    assert listed() == []
    arrivals.mark_seen(actor, tree, head(tree))
    ref = execute_line(hers, tree, Request('respond root "The lamp burned."')).body["refs"][0]
    note = execute_line(hers, tree, Request(f'annotate {ref} "Why?"')).body["refs"][0]
    execute_line(actor, tree, Request('respond root "Mine."'))
    name = hers.participant.name
    assert listed() == [
        f'✓ {name} wrote [{ref}]: "The lamp burned."',
        f'✓ {name} annotated [{ref}]: "Why?"',
    ]
    assert note
    for n in range(12):
        execute_line(hers, tree, Request(f'respond root "{n}"'))
    assert [line[-4:] for line in listed()] == [f' "{n}"'[-4:] for n in range(2, 12)]
    arrivals.mark_seen(actor, tree, head(tree))
    assert listed() == []
