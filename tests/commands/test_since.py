"""`since`: what others have changed, by item, and what of it is seen."""

from collections.abc import Callable

import pytest

from loom.access import Actor, acting_as, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.trees.models import Tree
from loom.turns.models import Turn
from tests.commands.conftest import Say
from tests.queries.growing import chain
from tests.rows_read import Work, work_done
from tests.two_groves import PLAIN, SECRET, TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def told(say: Say, line: str = "since", **more: object) -> list[str]:
    """The lines of the answer, without the head."""
    return str(say(line, **more).reply).split("\n")[1:]


def test_changes_of_texts_are_shown_as_differences_by_item(
    say: Say, write: Write, writer: User
) -> None:
    a = write("Marie lit the lamp.")
    assert say("since").reply.startswith("→ nothing was changed by others since your last change")
    name = "Writer"
    b = write("The tide turned.", below=a, by=writer)
    edit = f'edit {a} replace:"Marie" with:"Mary" as:version'
    version = say(edit, by=writer).body["refs"][0]
    note = say(f'annotate {a} "Why a lamp?" as:question', by=writer).body["refs"][0]
    say(f"prune {b}", by=writer)
    answer = say("since")
    assert answer.reply.startswith("→ 2 items changed by others since your last change (now):")
    assert told(say) == [
        f'  [{b}] new below [{a}] by {name} "The tide turned." · pruned by {name}',
        f'  [{a}] version [{version}] by {name}, line 1: - "Marie" + "Mary"'
        f' · question [{note}] by {name} "Why a lamp?"',
    ]
    assert answer.body["refs"] == [b, a]
    assert told(say, by=writer) == []


def test_what_was_undone_or_is_ones_own_is_no_change(say: Say, write: Write, writer: User) -> None:
    a = write("Marie lit the lamp.")
    step = say(f"tag {a} #own").body["step"]
    for line in (
        f"prune {a}",
        f"restore {a}",
        f"exclude {a}",
        f"tag {a} #gone",
        f"untag {a} #gone",
        f"tag {a} #kept",
        f'bookmark {a} "turn"',
    ):
        say(line, by=writer)
    say(f"untag {a} #own", by=writer)
    expected = f"[{a}] excluded by Writer · #own removed by Writer · #kept by Writer"
    (line,) = told(say)
    assert line.strip() == f'{expected} · bookmark "turn" by Writer'
    say(f"include {a}")
    assert told(say) == []
    assert "#kept by Writer" in "".join(told(say, f"since step:{step}"))
    assert "excluded" not in "".join(told(say, f"since step:{step}"))


def test_links_and_documents_of_others_are_listed(say: Say, write: Write, writer: User) -> None:
    a = write("Marie lit the lamp.")
    say('write doc:"Plan" new "One.\\n\\nTwo."')
    start = say("bookmark").body["step"]
    say(f'link {a} to root as:supports note:"see the end"', by=writer)
    say('write doc:"Plan" replace:"One" with:"First"', by=writer)
    say('write doc:"Plan" append "Three."')
    say('write doc:"Plan" replace:"Two" with:"Second"', by=writer)
    say('write doc:"More" new "Else."', by=writer)
    say('tag doc:"Plan" #late', by=writer)
    root = say("view root").body["refs"][0]
    lines = told(say, f"since step:{start}")
    assert sorted(line.strip() for line in lines) == sorted(
        [
            f'[{a}] ──[supports]──→ [{root}] by Writer, note "see the end"',
            'doc:"Plan" #late by Writer · revision 4 by Writer, line 3: - "Two." + "Second."; '
            'revision 2 by Writer, line 1: - "One." + "First."',
            'doc:"More" ↔ this tree by Writer · new by Writer',
        ]
    )


def test_many_items_are_cut_and_the_rest_is_named(say: Say, write: Write, writer: User) -> None:
    start = say("bookmark").body["step"]
    for number in range(33):
        write(f"text {number}", by=writer)
    lines = told(say, f"since step:{start}")
    assert len(lines) == 31
    assert lines[-1] == f"  … 3 more: → since step:{start} after:30"
    assert len(told(say, f"since step:{start} after:30")) == 3


def test_a_start_that_is_not_there_is_not_found(say: Say, tree: Tree) -> None:
    for line in ("since step:99", "since turn:none"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "NOT_FOUND"
    assert "nothing here yet" in say("since").reply


def test_an_agent_sees_what_was_done_since_its_last_turn_and_no_text_it_may_not_see(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Marie", permissions=["loom_aware"]
    )
    acting = acting_as(actor, agent)

    def since() -> str:
        return execute_line(acting, tree, Request("since")).reply

    a = write("A hidden word.")
    assert "nothing here yet" in since()
    turn = Turn.objects.create(
        tree=tree,
        participant=agent,
        invoked_by=actor.participant,
        invoked_at_id=tree.nodes.get(local_id=a).pk,
        answers_below_id=tree.nodes.get(local_id=a).pk,
        form="aside",
        status="done",
        preset="quick",
    )
    Turn.objects.filter(pk=turn.pk).update(ended_at=turn.created_at)
    b = write("A secret word.", below=a)
    say('write doc:"Plan" new "Not for agents without doc_read."')
    say(f"exclude {b}")
    reply = since()
    assert f"[{b}] new below [{a}] by Owner" in reply
    assert "secret" not in reply and "Plan" not in reply
    assert f"turn:{turn.uid}" in execute_line(acting, tree, Request(f"since turn:{turn.uid}")).reply


def test_what_another_grove_did_is_not_seen(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    left.run(two_groves.only_left, "bookmark")
    left.run(two_groves.both, f"link {left.text.local_id} to {two_groves.far} as:supports")
    left.run(two_groves.both, f'annotate {left.text.local_id} "{PLAIN}"')
    left.run(two_groves.both, 'write doc:"Open" new "For all."')
    right.run(two_groves.both, f'write doc:"Kept" new "{SECRET}"')
    right.run(two_groves.both, f'respond {right.text.local_id} "{SECRET}"')
    reply = left.run(two_groves.only_left, "since")
    assert PLAIN in reply and 'doc:"Open"' in reply
    assert SECRET not in reply and "Kept" not in reply and right.tree.uid not in reply
    left.run(two_groves.both, "bookmark")
    turn = Turn.objects.create(
        tree=right.tree,
        participant=two_groves.agent(right),
        invoked_by=get_actor(two_groves.both, right.grove).participant,
        invoked_at=right.text,
        answers_below=right.text,
        form="aside",
        status="done",
        preset="quick",
    )
    with pytest.raises(CommandError) as refused:
        left.run(two_groves.both, f"since turn:{turn.uid}")
    assert refused.value.code == "NOT_FOUND"


def test_the_work_does_not_grow_with_what_was_done_before(
    say: Say, write: Write, actor: Actor, tree: Tree, writer: User
) -> None:
    def work() -> Work:
        start = say("bookmark").body["step"]
        write("new", by=writer)
        say(f"since step:{start}")
        with work_done() as done:
            say(f"since step:{start}")
        return done

    chain(tree, actor.participant, *map(str, range(60)))
    for number in range(60):
        write(f"text {number}")
    small = work()
    chain(tree, actor.participant, *map(str, range(300)))
    for number in range(40):
        write(f"text {number}")
    work().demand_no_more(small)
