"""`{1}` in later lines of a message: what an earlier line made."""

import pytest

from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Node, Tree
from tests.agents.acting import outcomes
from tests.agents.test_windows import Talk
from tests.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def talk(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> Talk:
    return Talk(actor, tree, agent, provider, opening)


def test_a_later_line_names_what_an_earlier_one_made(talk: Talk) -> None:
    lines = [
        f'→ respond {talk.node} "The tide turned."',
        "→ annotate {1} as:question",
        "Why does [{1}] turn, and what of x_{1} and {9}?",
        "←",
        f"→ link {{1}} to {talk.node} as:supports",
        "→ tag {1} #tide",
    ]
    turn = talk.turn("\n".join(lines) + "\nI wrote {1} and noted {2}, not \\{1} or \\{9}.")
    assert [outcome for _, outcome in outcomes(turn)] == ["ok"] * 4
    local_id = Node.objects.get(text="The tide turned.").local_id
    note = Node.objects.get(kind="annotation")
    assert note.text == f"Why does [{local_id}] turn, and what of x_{{1}} and {{9}}?"
    assert outcomes(turn)[2][0] == f"→ link {local_id} to {talk.node} as:supports"
    assert turn.node is not None
    noted = f"noted {note.local_id}, not {{1}} or \\{{9}}."
    assert turn.node.text == f"I wrote {local_id} and {noted}"


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ("→ tag {node} #a", '→ annotate {1} "x"', "Line 1 of this message made nothing"),
        ('→ annotate zz99 "x"', "→ tag {1} #b", "Line 1 of this message made nothing"),
        ("→ tag {node} #a", "→ tag {2} #b", "{2} names no earlier line"),
    ],
)
def test_what_names_nothing_is_refused_with_its_reason(
    talk: Talk, first: str, second: str, why: str
) -> None:
    lines = [line.replace("{node}", talk.node) for line in (first, second)]
    turn = talk.turn("\n".join(lines), "Done.")
    assert outcomes(turn)[1][1] == "INVALID_SYNTAX"
    assert why in talk.sent() and "only [{1}] is an id" in talk.sent()
    assert "z9z9" not in talk.sent()


def test_one_in_a_text_is_text_and_a_look_at_one_ends_its_batch(talk: Talk) -> None:
    lines = [
        f'→ respond {talk.node} "One."',
        f'→ annotate {talk.node} "{{1}} is a mark"',
        "→ view {1}",
        "✓ I saw it",
        f"→ prune {talk.node}",
    ]
    turn = talk.turn("\n".join(lines), "Done.")
    assert [outcome for _, outcome in outcomes(turn)] == ["ok"] * 3
    assert Node.objects.get(kind="annotation").text == "{1} is a mark"


def test_a_text_with_braces_is_stored_also_when_the_first_line_made_nothing(talk: Talk) -> None:
    code = '```python\nre.match(r"[a-z]{1}", text); print(f"{1} of {2}")\n```\nb = {1}'
    turn = talk.turn(f"→ tag {talk.node} #a\n→ respond {talk.node}\n{code}\n←")
    assert [outcome for _, outcome in outcomes(turn)] == ["ok"] * 2
    assert Node.objects.filter(text=code).exists()


def test_an_answer_that_names_a_command_is_accepted_when_it_is_sent_again(talk: Talk) -> None:
    answer = f"It is pruned; → restore {talk.node} would bring it back."
    turn = talk.turn(f"→ tag {talk.node} #a\n\n{answer}", answer)
    assert "send it again" in talk.sent()
    assert turn.node is not None and turn.node.text == answer
