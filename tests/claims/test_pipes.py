"""Pipes: kinds checked, lines filled from one another, all or none, and who may run them."""

import pytest

from loom.access import acting_as, get_actor
from loom.claims.models import Pipe
from loom.claims.rules.pipes import LONGEST, adapter, lines_of
from loom.engine.context import Answer, Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.people.models import Grove, Participant, User
from loom.trees.models import Node, Tree
from tests.claims.conftest import refused
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def test_a_pipe_is_split_outside_of_quotes() -> None:
    assert lines_of('→ view a7x2 | annotate b3k9 "a | b \\" |"\n\n→ tag #x') == [
        "view a7x2",
        'annotate b3k9 "a | b \\" |"',
        "tag #x",
    ]


@pytest.mark.parametrize("text", ["|" * 100_000, '"' * 100_001, "\\" * 100_000, '"\\' * 50_000])
def test_no_text_is_slow(text: str) -> None:
    lines_of(text)


def test_what_fits_what() -> None:
    assert adapter(("text", "node"), "node") == ""
    assert adapter(("node",), "text") == "content-of"
    assert adapter(("document",), "text") == "summary"
    assert adapter(("document",), "node") is None
    assert adapter(("node",), None) == ""


@pytest.mark.parametrize(
    ("lines", "kinds"),
    [
        ("view | annotate b3k9", "node → text → node"),
        ('respond root "a" | tag #x', "node → node"),
        ('respond root "a" | annotate b3k9', "node → text → node (adapter: content-of)"),
        (
            'write doc:"Notes" append "a" | annotate b3k9',
            "document → text → node (adapter: summary)",
        ),
        ('respond "a" | respond "b"', "node → node → node"),
        ('find "lamp" | bookmark', "node → node"),
    ],
)
def test_the_kinds_are_listed(say: Say, lines: str, kinds: str) -> None:
    say('write doc:"Notes" new "a"')
    quoted = lines.replace('"', '\\"')
    assert say(f'pipe "{quoted}"').reply == f"✓ pipe valid: {kinds}"


def test_what_does_not_fit_is_refused_with_the_misfit(say: Say) -> None:
    say('write doc:"Notes" new "a"')
    why = refused(say, 'pipe\nwrite doc:"Notes" append "a" | tag #x\n←')
    assert (why.code, why.message) == (
        "REJECTED",
        "Line 2 takes a node, and line 1 gives a document.",
    )
    for line in ("undo", "continue", 'run pipe:"x"', 'ask agent:"Muse" "why?"', 'pipe "view a7x2"'):
        why = refused(say, f"pipe\nview a7x2 | {line}\n←")
        assert why.message.endswith("has no place in a pipe."), line
    assert refused(say, 'pipe "view a7x2 | fly away"').message.startswith("Line 2:")
    assert refused(say, 'pipe "write append | view"').code == "INVALID_SYNTAX"  # two gaps
    assert refused(say, 'pipe " | "').message == "A pipe has a line."
    many = " | ".join(["view a7x2"] * 11)
    assert refused(say, f'pipe "{many}"').code == "LIMIT_EXCEEDED"
    assert refused(say, f'pipe "view a7x2{" " * LONGEST}"').code == "LIMIT_EXCEEDED"


def test_a_saved_pipe_runs_as_the_lines_that_it_shows(say: Say, write: Say, tree: Tree) -> None:
    a = str(write("the lamp burns"))
    saved = say('pipe save:"Gloss"\nview full | annotate root as:question | tag #gloss\n←')
    assert saved.reply == '✓ saved pipe:"Gloss": node → text → node → node'
    event = Event.objects.get(kind="pipe.saved")
    assert event.stream.name == f"grove:{tree.grove.uid}" and event.payload["pipe"]["for_models"]
    before = (Node.objects.count(), Step.objects.count(), Event.objects.count())
    shown = say(f'run pipe:"gloss" from {a}', dry_run=True).reply
    assert (Node.objects.count(), Step.objects.count(), Event.objects.count()) == before
    assert f"→ view {a} full" in shown and "the lamp burns" not in shown.split("\n")[0]
    assert "→ annotate root" in shown and "→ tag #gloss\n    with what line 2 makes" in shown
    ran = say(f'run pipe:"gloss" from {a}')
    note = Node.objects.get(kind="annotation")
    assert note.form == "question" and "the lamp burns" in note.text
    assert ran.reply.startswith('✓ ran pipe:"Gloss": 3 lines\n  → view ')
    lines = [line for line in ran.reply.split("\n") if line.startswith("  → ")]
    assert [line.split()[1] for line in lines] == ["view", "annotate", "tag"]
    own = list(Step.objects.order_by("pk").values_list("canonical", flat=True))[-4:]
    assert [line.split()[1] for line in own] == ["view", "annotate", "tag", "run"]
    assert [line.partition("\n")[0] for line in own[:3]] == [line.strip() for line in lines]
    seqs = list(Step.objects.order_by("pk").values_list("seq", flat=True))
    assert seqs == sorted(set(seqs))
    say("undo")  # what the pipe did is one act
    note.refresh_from_db()
    assert note.slot.pruned


def test_all_lines_run_or_none(say: Say, write: Say) -> None:
    a = str(write("the lamp"))
    say('pipe save:"Two"\nrespond "first" | prune root\n←')
    many = Node.objects.count()
    why = refused(say, f'run pipe:"Two" from {a}')
    assert why.message.startswith("Line 2, ")
    assert Node.objects.count() == many
    last = Step.objects.latest("pk")
    assert last.canonical.startswith("→ run ") and last.outcome == why.code


def test_without_from_it_begins_here_and_a_document_is_named(say: Say, write: Say) -> None:
    write("the lamp")
    say('pipe "bookmark" save:"Mark"')
    assert "✓ bookmarked" in say('run pipe:"Mark"').reply
    say('write doc:"Notes" new "a"')
    say('pipe save:"Add"\nwrite append "b"\n←')
    assert refused(say, 'run pipe:"Add"').message == "Line 1 takes a document, and was given none."
    assert "✓ appended" in say('run pipe:"Add" from doc:"Notes"').reply


def test_names_are_once_in_a_grove_and_unknown_ones_are_listed(say: Say) -> None:
    say('pipe "view" save:"Look"')
    assert refused(say, 'pipe "view" save:"look"').code == "CONFLICT"
    why = refused(say, 'run pipe:"Glance"')
    assert (why.code, why.hint) == ("NOT_FOUND", 'there are "Look"')


def test_a_model_runs_only_what_a_person_saved(
    say: Say, write: Say, grove: Grove, owner: User, tree: Tree
) -> None:
    a = str(write("the lamp"))
    agent = Participant.objects.create(
        grove=grove,
        kind="model",
        name="Marie",
        model_ref="openai:echo-1",
        permissions=["loom_aware", "loom_write"],
    )
    actor = acting_as(get_actor(owner, grove), agent)

    def agent_says(line: str) -> Answer:
        return execute_line(actor, tree, Request(line))

    agent_says('pipe "tag #own" save:"Own"')
    why = refused(agent_says, f'run pipe:"Own" from {a}')
    assert why.code == "PERMISSION_DENIED" and "saved by a model" in why.message
    assert "✓ tagged" in say(f'run pipe:"Own" from {a}').reply
    say('pipe "tag #theirs" save:"Theirs"')
    assert "✓ tagged" in agent_says(f'run pipe:"Theirs" from {a}').reply
    # Each line is checked as the agent's own.
    say('pipe save:"Book"\nwrite doc:"Bible" new "a"\n←')
    assert refused(agent_says, 'run pipe:"Book"').code == "PERMISSION_DENIED"
    assert Pipe.objects.count() == 3


def test_readers_check_and_run_looks_but_save_nothing(
    say: Say, write: Say, reader: User, writer: User
) -> None:
    a = str(write("the lamp"))
    say('pipe "view" save:"Look"')
    say('pipe "tag #x" save:"Mark"')
    assert say('pipe "view"', by=reader).reply == "✓ pipe valid: node → text"
    assert refused(say, 'pipe "view" save:"Mine"', by=reader).code == "PERMISSION_DENIED"
    assert "the lamp" in say(f'run pipe:"Look" from {a}', by=reader).reply
    assert refused(say, f'run pipe:"Mark" from {a}', by=reader).code == "PERMISSION_DENIED"


def test_pipes_stay_in_their_grove(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    right.run(two_groves.both, 'pipe "view" save:"Far"')

    def left_says(line: str) -> Answer:
        actor = left.actor(two_groves.both)
        return execute_line(actor, left.tree, Request(line))

    why = refused(left_says, 'run pipe:"Far"')
    assert why.code == "NOT_FOUND" and "Far" not in why.hint
    uid = Pipe.objects.get().uid
    why = refused(left_says, f"run pipe:{uid}")
    assert why.code == "NOT_FOUND"


def test_a_document_becomes_text_by_its_summary(say: Say, write: Say) -> None:
    a = str(write("the lamp"))
    say('write doc:"Notes" new\n# Tower\nNobody comes before night.\n←')
    say(f'pipe save:"Sum"\nwrite append "It burns." | annotate {a}\n←')
    assert refused(say, 'pipe "write append | view"').code == "INVALID_SYNTAX"
    ran = say('run pipe:"Sum" from doc:"Notes"').reply
    assert "→ annotate" in ran
    note = Node.objects.get(kind="annotation")
    assert note.text.startswith('doc:"Notes"') and "§" in note.text
