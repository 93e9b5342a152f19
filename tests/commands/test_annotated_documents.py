"""Comments on documents: on words, on a part, on the whole; they stay at their words."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from agents.generation_requests import assembled
from agents.next_request import next_place
from loom.access import Actor, acting_as, get_actor
from loom.documents import queries
from loom.documents.log import append
from loom.documents.models import Document
from loom.documents.shared_text import SharedText
from loom.engine import announcements
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.text.edits import Edit
from loom.trees.commands import trees
from loom.trees.commands.node_writer import workspace_of
from loom.trees.models import Node, NodeSource, Tree, Workspace
from tests.commands.conftest import Say

TEXT = "# Marie\\n\\nShe is a clockmaker. She waits.\\n\\n# Thomas\\n\\nHe waits."


@pytest.fixture
def document(say: Say) -> Document:
    """A document linked to the tree."""
    answer = say(f'write doc:"Notes" new "{TEXT}"')
    return Document.objects.get(uid=str(answer.body["refs"][0]).removeprefix("doc:"))


def refused(say: Say, line: str, **more: object) -> str:
    with pytest.raises(CommandError) as refusal:
        say(line, **more)
    return str(refusal.value.code)


def shown(actor: Actor, document: Document) -> list[tuple[str, str, str | None]]:
    """(text, the words it was made on, those words as they stand now) of each comment."""
    document.refresh_from_db()
    text = queries.current(document)
    return [
        (
            annotation.note.text,
            annotation.words,
            None if annotation.place is None else text[slice(*annotation.place)],
        )
        for annotation in queries.annotations_on(actor, document, text)
    ]


def test_a_comment_stays_at_its_words(say: Say, actor: Actor, document: Document) -> None:
    say('annotate doc:"Notes" "Which of the two?" of:"waits" nth:2')
    noted = say('annotate doc:"Notes" §Marie "A good part."')
    assert noted.reply.endswith('added to doc:"Notes" §Marie')
    say('annotate doc:"Notes" "All of it." as:question')
    say('view doc:"Notes" full')
    say(
        'write doc:"Notes" replace:"She is a clockmaker." with:"Long before, she was a clockmaker."'
    )
    first, part, whole = shown(actor, document)
    assert first == ("Which of the two?", "waits", "waits")
    assert part[2] == "# Marie\n\nLong before, she was a clockmaker. She waits."
    assert whole == ("All of it.", "", None)
    place = queries.annotations_on(actor, document, queries.current(document))[0].place
    assert place is not None
    assert queries.current(document)[: place[0]].endswith("He ")  # the second one
    say('write doc:"Notes" replace:"He waits." with:"He left."')
    assert shown(actor, document)[0] == ("Which of the two?", "waits", "left")
    say('write doc:"Notes" replace:" left." with:""')
    assert shown(actor, document)[0] == ("Which of the two?", "waits", None)


def test_words_that_were_typed_a_moment_ago_can_be_commented_on(
    say: Say, actor: Actor, document: Document
) -> None:
    shared = SharedText(update for _, update in queries.updates_after(document.pk, 0))
    update = shared.edit([Edit(0, 0, "A new plan. ")])
    append(document, update, [actor.participant.uid])
    document.save()
    say('annotate doc:"Notes" "Which plan?" of:"new plan"')
    assert shown(actor, document) == [("Which plan?", "new plan", "new plan")]
    document.refresh_from_db()
    assert document.head == document.settled  # what the comment quotes is a revision


def test_replies_resolving_and_undo(say: Say, actor: Actor, document: Document) -> None:
    note = str(say('annotate doc:"Notes" "Why?" of:"clockmaker"').body["refs"][0])
    say(f'annotate {note} "Her father was one."')
    say(f'annotate {note} "So was mine."')
    (annotation,) = queries.annotations_on(actor, document, queries.current(document))
    assert [reply.text for reply in annotation.replies] == ["Her father was one.", "So was mine."]
    say("undo")
    (annotation,) = queries.annotations_on(actor, document, queries.current(document))
    assert len(annotation.replies) == 1
    say(f"resolve {note}")
    (annotation,) = queries.annotations_on(actor, document, queries.current(document))
    assert annotation.note.slot.resolved_at is not None
    say("undo")
    say("undo")
    say("undo")
    assert queries.annotations_on(actor, document, queries.current(document)) == []


def test_what_cannot_be_commented_on_is_refused_with_a_reason(
    say: Say, reader: User, tree: Tree, document: Document
) -> None:
    assert refused(say, 'annotate doc:"Notes" "?" of:"watchmaker"') == "NOT_FOUND"
    assert refused(say, 'annotate doc:"Notes" "?" of:"clockmaker" nth:2') == "NOT_FOUND"
    assert refused(say, 'annotate doc:"Notes" §Thomas "?" of:"clockmaker"') == "NOT_FOUND"
    assert refused(say, 'annotate doc:"Notes" §Nobody "?"') == "NOT_FOUND"
    assert refused(say, f'annotate doc:"Notes" "?" of:"{"x" * 2001}"') == "LIMIT_EXCEEDED"
    assert refused(say, 'annotate doc:"Notes" "?"', by=reader) == "PERMISSION_DENIED"
    say("allow readers comment")
    note = str(say('annotate doc:"Notes" "May I?" of:"She" nth:1', by=reader).body["refs"][0])
    assert NodeSource.objects.get(node__local_id=note).version_seen == "1:9-12"
    other = str(say('annotate doc:"Notes" "Mine."').body["refs"][0])
    assert refused(say, f"resolve {other}", by=reader) == "PERMISSION_DENIED"
    say(f"resolve {note}", by=reader)
    assert Node.objects.get(tree=tree, local_id=note).resolved_at is not None


def test_who_reads_the_document_hears_of_its_comments(
    say: Say,
    document: Document,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    heard: list[str] = []
    monkeypatch.setattr(
        announcements,
        "send",
        lambda stream, message: heard.append(stream) if message["type"] == "noted" else None,
    )

    def noted(line: str) -> tuple[int, str]:
        heard.clear()
        with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
            refs = say(line).body.get("refs") or [""]
        return heard.count(f"doc:{document.uid}"), str(refs[0])

    told, note = noted('annotate doc:"Notes" "Why?" of:"clockmaker"')
    assert told == 1
    assert noted(f'annotate {note} "Because."')[0] == 1
    assert noted(f"resolve {note}")[0] == 1
    assert noted("undo")[0] == 1
    assert noted("undo")[0] == 1
    assert noted('suggest doc:"Notes" "Other."')[0] == 1
    assert noted('annotate root "Not about it."')[0] == 0
    assert noted('respond root "A text."')[0] == 0


def test_another_member_of_the_grove_alone_sees_what_they_may(
    say: Say, document: Document, reader: User, tree: Tree
) -> None:
    say('annotate doc:"Notes" "Between us." of:"She" nth:1')
    actor = get_actor(reader, tree.grove)
    assert len(queries.annotations_on(actor, document, queries.current(document))) == 1
    say("allow readers hidden")
    assert queries.annotations_on(actor, document, queries.current(document)) == []


def test_a_view_lists_the_comments_of_the_trees_that_the_reader_may_reach(
    say: Say, actor: Actor, tree: Tree, document: Document
) -> None:
    far = trees.make_tree(actor, trees.NewTree(title="Far"))
    first = say('annotate doc:"Notes" "Which of the two?" of:"waits" nth:2').body["refs"][0]
    second = say('annotate doc:"Notes" "All of it." as:question').body["refs"][0]
    say('annotate doc:"Notes" "From afar."', into=far)
    line = 'view doc:"Notes" full with-annotations'
    lines = say(line).reply.split("\n")[-3:]
    assert lines[0] == f'  [{first}] Owner (human) · now · note · "Which of the two?" · on "waits"'
    assert lines[1] == f'  [{second}] Owner (human) · now · question · "All of it."'
    assert "From afar." in lines[2]
    marie = Participant.objects.create(
        grove=actor.grove, kind="model", name="Marie", permissions=["loom_aware", "doc_read"]
    )
    near = acting_as(actor, marie)  # without cross_tree
    reply = execute_line(near, tree, Request(line)).reply
    assert "All of it." in reply and "From afar." not in reply


def test_a_note_on_a_document_annotates_the_document(say: Say, tree: Tree) -> None:
    say('write doc:"d" new "Words here."')
    note = str(say('annotate doc:"d" "Whose?" of:"Words"').body["refs"][0])
    answer = say(f"list {note} annotates")
    assert answer.reply == f'[{note}] → 1 annotate:\n  doc:"d"'
    assert answer.body["refs"] == [f"doc:{Document.objects.get().uid}"]
    assert "→ 1 item as #" in say(f"expand annotates of {note}").reply
    assert any('doc:"d"' in line for line in say("windows").reply.split("\n"))
    assert "Words here." in say(f"expand annotates of {note} inline").reply
    assert say(f"view {note}").reply.split("\n")[-1].startswith('on doc:"d" · below ')
    answered = str(say(f'annotate {note} "Mine."').body["refs"][0])
    assert f"[{note}]" in say(f"list {answered} annotates").reply


def test_what_a_note_annotates_is_not_told_to_who_may_not_read_it(
    say: Say, tree: Tree, actor: Actor
) -> None:
    say('write doc:"d" new "Words here."')
    note = str(say('annotate doc:"d" "Whose?"').body["refs"][0])
    model = Participant.objects.create(
        grove=tree.grove, kind="model", name="Muse", permissions=["loom_aware"]
    )
    for line in ("list {} annotates", "expand annotates of {}", "view {}"):
        reply = execute_line(acting_as(actor, model), tree, Request(line.format(note))).reply
        assert 'doc:"d"' not in reply and "→ 1" not in reply and "Words" not in reply


def test_who_may_not_read_a_document_is_shown_no_note_on_it(
    say: Say, actor: Actor, document: Document, tree: Tree
) -> None:
    told = say('annotate doc:"Notes" "NOTED" of:"clockmaker"').body["refs"][0]
    put = say(f'suggest doc:"Notes" "{TEXT} NOTED"').body["refs"][0]
    plain = say('annotate root "of the tree"').body["refs"][0]
    lines = (
        "list root annotations",
        "view root with-annotations",
        f"view {told}",
        f"view {told} full",
        f"view {put} full",
        f"view {put} as:diff",
        f"open {put}",
        f"compare {put} {plain}",
        'find "noted"',
        "find kind:note",
        "since",
        "digest",
        "memory trace",
        f"graph {told}",
    )

    def told_to(number: int, *permissions: str) -> str:
        agent = Participant.objects.create(
            grove=tree.grove, kind="model", name=f"Low {number}", permissions=[*permissions]
        )
        replies = []
        for line in lines:
            with suppress(CommandError):
                replies.append(execute_line(acting_as(actor, agent), tree, Request(line)).reply)
        view = workspace_of(agent, tree)
        Workspace.objects.filter(pk=view.pk).update(checkpoint=1)
        return "\n".join([*replies, str(assembled(next_place(actor, workspace_of(agent, tree))))])

    bare = told_to(1, "loom_aware", "cross_tree")
    assert "NOTED" not in bare and "clockmaker" not in bare and "of the tree" in bare
    assert "NOTED" in told_to(2, "loom_aware", "doc_read")
    say(f'unlink doc:"Notes" to tree:{tree.uid}')
    elsewhere = told_to(3, "loom_aware", "doc_read")
    assert "NOTED" not in elsewhere and "of the tree" in elsewhere
    assert "NOTED" in told_to(4, "loom_aware", "doc_read", "cross_tree")
