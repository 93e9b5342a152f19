"""`digest`: what matters in a tree, in 200 tokens."""

from collections.abc import Callable

import pytest

from loom.access import Actor, acting_as
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.search import digest
from loom.text.tokens import count
from loom.trees.models import Tree
from tests.commands.conftest import Say
from tests.queries.growing import chain
from tests.rows_read import Work, work_done
from tests.two_groves import SECRET, TITLE, TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def told(say: Say, line: str = "digest", **more: object) -> dict[str, str]:
    """The lines of the answer, by what comes before their colon."""
    lines = str(say(line, **more).reply).split("\n")[1:]
    return {digest_line.partition(": ")[0]: digest_line.partition(": ")[2] for digest_line in lines}


def test_a_digest_names_what_matters(say: Say, write: Write, writer: User) -> None:
    a = write("Marie lit the lamp.")
    b = write("The tide turned", below=a)
    c = write("It was dark.", below=b)
    d = write("Another start.", by=writer)
    say(f'bookmark {a} "key"')
    say(f"tag {c} #late")
    note = say(f'annotate {b} "Why a lamp?" as:question').body["refs"][0]
    settled = say(f'annotate {b} "Who?" as:question').body["refs"][0]
    say(f"resolve {settled}")
    broken = write("And then she", below=c)
    say('write doc:"Plan" new "One."')
    answer = say("digest")
    assert "8 nodes · 2 branches · depth 4" in answer.reply.split("\n")[0]
    assert told(say) == {
        "marked": f'[{a}] bookmarked "key" "Marie lit the lamp." · [{c}] #late "It was dark."',
        "longest threads": f'[{broken}] depth 4 "And then she" · [{d}] depth 1 "Another start."',
        "open questions": f'[{note}] on [{b}] "Why a lamp?"',
        "unfinished": f'[{broken}] "And then she"',
        "written last": f'[{broken}] Owner now "And then she" · [{d}] Writer now "Another start."'
        f' · [{c}] Owner now "It was dark." · [{b}] Owner now "The tide turned"',
        "document": 'doc:"Plan" · updated now',
    }
    assert set(answer.body["refs"]) == {a, b, c, d, note, broken}
    below = told(say, f"digest of branch:{b}")
    assert set(below) == {
        "marked",
        "longest threads",
        "open questions",
        "unfinished",
        "written last",
    }
    assert a not in "".join(below.values()) and d not in "".join(below.values())


def test_a_digest_has_at_most_200_tokens(say: Say, write: Write, tree: Tree) -> None:
    say(f'write doc:"{"D" * 60}" new "One."')
    for number in range(8):
        text = write(f"{'longword' * 12} {'other' * 20} {number} " * 3)
        say(f'bookmark {text} "{"label" * 30}"')
        say(f'annotate {text} "{"question" * 30}" as:question')
    assert count(say("digest").reply) <= 200
    assert count(say("digest of root").reply) <= 200


def test_what_is_pruned_or_withheld_is_not_in_it(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a = write("Marie lit the lamp.")
    b = write("A secret word", below=a)
    c = write("An excluded word", below=a)
    say(f"bookmark {b}")
    say(f'annotate {b} "A secret question?" as:question')
    say(f"exclude {c}")
    say(f"prune {a}")
    write("Open.")
    assert "secret" not in say("digest").reply and "lamp" not in say("digest").reply
    say(f"restore {a}")
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Marie", permissions=["loom_aware"]
    )
    reply = execute_line(acting_as(actor, agent), tree, Request("digest")).reply
    assert "secret" in reply and "An excluded" not in reply and f"[{c}]" in reply


def test_a_digest_of_another_tree_needs_the_right_to_see_it(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    line = f"digest of tree:{right.tree.uid}"
    assert TITLE in left.run(two_groves.both, line)
    for user in (two_groves.only_left,):
        with pytest.raises(CommandError) as refused:
            left.run(user, line)
        assert refused.value.code == "NOT_FOUND"
    person = left.actor(two_groves.both)
    for rights in ([], ["cross_tree"]):
        agent = two_groves.agent(left, name=f"A{len(rights)}", permissions=["loom_aware", *rights])
        with pytest.raises(CommandError) as refused:
            execute_line(acting_as(person, agent), left.tree, Request(line))
        assert SECRET not in str(refused.value.message)
        assert refused.value.code == ("NOT_FOUND" if rights else "CROSS_TREE")


def test_the_work_does_not_grow_with_the_tree(
    say: Say, actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digest, "NEWEST", 100)

    def work() -> Work:
        say("digest")
        with work_done() as done:
            say("digest")
        return done

    chain(tree, actor.participant, *(f"text {number}." for number in range(250)))
    small = work()
    chain(tree, actor.participant, *(f"text {number}." for number in range(400)))
    work().demand_no_more(small)
