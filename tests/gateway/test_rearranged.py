"""Programs that send what they said before in another form: aider takes its reminder off a message
that is answered, and leads its files and its map of the repository along in messages of its own."""

import json
from typing import Any

import pytest

from agents.gateway.keys import make_key
from agents.gateway.models import GatewayMessage, GatewayRequest, GatewaySession
from agents.gateway.rearranged import KeptMessage, same
from loom.access import Actor
from loom.people.models import Participant
from tests.gateway.conftest import Program, run, shape_of
from tests.gateway.test_observed import whole
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails

Pairs = list[tuple[str, str]]
REMIND = "\n\nReply in English.\n"


@pytest.fixture
def secret(actor: Actor, model: Participant) -> str:
    """A gateway key of the owner."""
    return make_key(actor.user, model.uid, name="aider")[1]


def surroundings(number: int) -> tuple[Pairs, Pairs]:
    """(the map of the repository, the files in the chat) of a turn, as aider sends them: both
    change whenever the person's files do."""
    kept = "Ok, I won't try and edit those files without asking first."
    mapped = [("user", f"Here are summaries of some files.\nmap {number}"), ("assistant", kept)]
    any_changes = "Ok, any changes I propose will be to those files."
    files = f"I have *added these files to the chat*.\ncontent {number}"
    return mapped, [("user", files), ("assistant", any_changes)]


def of_aider(done: Pairs, number: int, words: str) -> Pairs:
    """A request: the map, what was said, the files, and the question with the reminder."""
    mapped, added = surroundings(number)
    return [("system", "You edit."), *mapped, *done, *added, ("user", words + REMIND)]


def words_of(tree: dict[str, Any]) -> Any:
    """The tree as nested texts without what the program says by itself."""
    kept: dict[str, Any] = {}
    for text, below in tree.items():
        is_own = text.startswith(("Here are", "I have *added", "Ok"))
        kept |= words_of(below) if is_own else {text.strip(): words_of(below)}
    return kept


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["observe", "workspace"])
def test_files_and_maps_that_move_and_change_make_no_branch(
    actor: Actor, model: Participant, provider: ScriptedProvider, mode: str
) -> None:
    program = Program(make_key(actor.user, model.uid, name="aider", mode=mode)[1])
    done: Pairs = []
    for number in range(10):
        provider.script(whole(f"Answer {number}."))
        run(program.chat(*of_aider(done, number, f"Question {number}")))
        done += [("user", f"Question {number}"), ("assistant", f"Answer {number}.")]
        if number == 4:  # after an edit it tells the model so, by itself
            done += [("user", "I updated the files."), ("assistant", "Ok.")]
    provider.script(whole("Answer 9, again."), whole("Answer nine."))
    run(program.chat(*of_aider(done[:-2], 9, "Question 9")))
    run(program.chat(*of_aider(done[:-2], 9, "Question nine")))
    remind = "\n\nReply in English."
    expected: dict[str, Any] = {
        f"Question 9{remind}": {"Answer 9.": {}, "Answer 9, again.": {}},
        f"Question nine{remind}": {"Answer nine.": {}},
    }
    for number in reversed(range(9)):
        if number == 4:
            expected = {"I updated the files.": expected}
        expected = {f"Question {number}{remind}": {f"Answer {number}.": expected}}
    assert words_of(shape_of(GatewaySession.objects.get())) == expected
    assert GatewayRequest.objects.filter(bypass="").count() == 12


@pytest.mark.django_db(transaction=True)
def test_conversations_that_begin_with_the_same_messages_of_the_program_are_two_trees(
    secret: str, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    program = Program(secret)
    _, added = surroundings(0)
    for words in ("One", "Other", "One"):
        run(program.chat(*added, ("user", words + REMIND)))
        run(program.chat(*added, ("user", words), ("assistant", "Yes."), ("user", "And" + REMIND)))
    trees = [words_of(shape_of(session)) for session in GatewaySession.objects.order_by("pk")]
    # The third began like the first and got the same answer: by then nobody can tell them apart.
    assert [list(tree) for tree in trees] == [[f"{words}{REMIND}".strip()] for words in
                                              ("One", "Other", "One")]  # fmt: skip
    assert GatewayRequest.objects.count() == 6


@pytest.mark.django_db(transaction=True)
def test_a_first_request_that_was_refused_is_tried_again_in_its_session(
    secret: str, provider: ScriptedProvider
) -> None:
    provider.script(fails(429, "Slow down"), whole("Yes."), whole("No."))
    program = Program(secret)
    for _ in range(3):
        run(program.chat(("user", "Begin")))
    trees = [shape_of(session) for session in GatewaySession.objects.order_by("pk")]
    assert trees == [{"Begin": {"Yes.": {}}}, {"Begin": {"No.": {}}}]


@pytest.mark.django_db(transaction=True)
def test_other_words_in_front_of_an_answer_are_a_branch(
    secret: str, provider: ScriptedProvider
) -> None:
    """An edit whose answer the program keeps, and a message that it leaves out."""
    provider.default = whole("Yes.")
    program = Program(secret, {"x-session-id": "s"})
    run(program.chat(("user", "Go to the lamp")))
    run(program.chat(("user", "Go to the"), ("assistant", "Yes."), ("user", "Now")))
    run(program.chat(("user", "Go"), ("assistant", "Yes."), ("user", "Now by the lamp")))
    shape = shape_of(GatewaySession.objects.get())
    assert list(shape) == ["Go to the lamp", "Go to the", "Go"]


@pytest.mark.django_db(transaction=True)
def test_what_is_found_in_another_form_costs_the_same_in_a_longer_conversation(
    secret: str, provider: ScriptedProvider
) -> None:
    """Places are stored for the newest messages alone, also where the map in front changes."""
    program = Program(secret)
    done: Pairs = []
    stored = []
    for number in range(24):
        provider.script(whole(f"Answer {number}."))
        before = GatewayMessage.objects.count()
        run(program.chat(*of_aider(done, number, f"Question {number}")))
        stored.append(GatewayMessage.objects.count() - before)
        done += [("user", f"Question {number}"), ("assistant", f"Answer {number}.")]
    assert GatewaySession.objects.count() == 1
    assert stored[-1] == stored[-5] <= 20


# The rule.


def kept(*texts: str) -> list[KeptMessage]:
    """Messages of a tree, the first of a person; `*` in front: an answer that nobody gave."""
    return [
        KeptMessage(
            [{"type": "text", "text": text.lstrip("*")}], n % 2 == 1, not text.startswith("*")
        )
        for n, text in enumerate(texts)
    ]


def sent(*texts: str) -> list[dict[str, Any]]:
    """Messages of a request."""
    return [
        {"role": ("user", "assistant")[n % 2], "blocks": [{"type": "text", "text": text}]}
        for n, text in enumerate(texts)
    ]


LAST = {"role": "user", "blocks": [{"type": "text", "text": "Next\n\nBe brief."}]}


@pytest.mark.parametrize(
    ("tree", "request_", "places"),
    [
        (("A Be brief.", "B"), ("A", "B"), [0, 1]),
        (("A Be long.", "B"), ("A", "B"), []),  # it does not stand at the end now
        (("A", "B"), ("A and", "B"), []),
        (("file", "*Ok", "A", "B"), ("A", "B"), [2, 3]),
        (("A", "B"), ("file", "Ok", "A", "B"), [None, None, 0, 1]),
        (("file 1", "*Ok", "A", "B"), ("file 2", "Ok", "A", "B"), [None, None, 2, 3]),
        (("A", "B", "C", "D"), ("C", "D"), []),  # what a provider answered was left out
        (("A", "B", "C", "D"), ("A", "b", "C", "D"), []),  # and here changed
        (("A", "B", "C", "D"), ("A", "B", "D", "D"), []),
    ],
)
def test_the_rule(tree: tuple[str, ...], request_: tuple[str, ...], places: list[Any]) -> None:
    assert same(sent(*request_), kept(*tree), LAST) == places


def test_a_reminder_that_is_a_message_of_its_own() -> None:
    reminder = {"role": "system", "blocks": [{"type": "text", "text": "Be brief."}]}
    kept_messages = [*kept("A"), KeptMessage(reminder["blocks"], False, False),  # type: ignore[arg-type]
            KeptMessage([{"type": "text", "text": "B"}], True, True)]  # fmt: skip
    assert same(sent("A", "B"), kept_messages, reminder) == [0, 2]
    assert same(sent("A", "B"), kept_messages, sent("Next")[0]) == []


def test_long_conversations_are_compared_in_linear_time() -> None:
    texts = [f"{'x' * 50_000} {n}" for n in range(200)]
    last = {"role": "user", "blocks": [{"type": "text", "text": json.dumps("x" * 100_000)}]}
    assert len(same(sent(*texts), kept(*texts), last)) == 200
    other = [*texts[:-2], texts[-2] + " more", texts[-1]]
    assert same(sent(*texts), kept(*other), last) == []
