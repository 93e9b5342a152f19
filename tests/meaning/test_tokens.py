"""Probabilities of tokens: read from answers of each shape, shown, and taken."""

import gzip
import json
import math
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents.providers.openai import OpenAI
from agents.providers.values import Failure, ProviderRequest
from loom.access import Actor, acting_as
from loom.meaning.node_tokens import tokens_of
from loom.meaning.tokens import Rival, placed, tokens_in
from loom.people.models import Participant, User
from loom.reading.queries.provenance import thoughts_in
from loom.trees.models import Node, Tree
from loom.turns.models import Call, Generation
from tests.meaning.answers import answered
from tests.queries.growing import add, flag
from tests.two_groves import TwoGroves


def _events(*values: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def _chat(token: str, logprob: float, *rivals: tuple[str, float], index: int = 0) -> dict[str, Any]:
    top = [{"token": text, "logprob": value} for text, value in rivals]
    content = [{"token": token, "logprob": logprob, "top_logprobs": top}]
    return {"choices": [{"index": index, "delta": {}, "logprobs": {"content": content}}]}


CHAT = _events(
    _chat("The", -0.1, ("The", -0.1), ("A", -2.4)),
    _chat(" gate", -3.0, (" door", -0.2), (" gate", -3.0)),
    {"choices": [{"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}]},
)
ONE = [("The", -0.1), (" gate", -3.0)]
SHAPES = {
    "chat": CHAT,
    "completions": _events(
        {
            "choices": [
                {
                    "index": 0,
                    "text": "The gate",
                    "logprobs": {
                        "tokens": ["The", " gate"],
                        "token_logprobs": [-0.1, -3.0],
                        "top_logprobs": [{"The": -0.1, "A": -2.4}, {" door": -0.2, " gate": -3}],
                    },
                }
            ]
        }
    ),
    "responses": _events(
        {
            "type": "response.output_text.delta",
            "logprobs": [{"token": text, "logprob": value} for text, value in ONE],
        },
        {
            "type": "response.output_text.done",
            "logprobs": [{"token": text, "logprob": value} for text, value in ONE],
        },
    ),
    "llama.cpp": json.dumps(
        {
            "completion_probabilities": [
                {"id": 1, "token": text, "bytes": list(text.encode()), "logprob": value}
                for text, value in ONE
            ]
        }
    ).encode(),
    "llama.cpp after sampling": json.dumps(
        {
            "completion_probabilities": [
                {"token": text, "prob": math.exp(value), "top_probs": []} for text, value in ONE
            ]
        }
    ).encode(),
    "llama.cpp of before": json.dumps(
        {
            "completion_probabilities": [
                {"content": text, "probs": [{"tok_str": text, "prob": math.exp(value)}]}
                for text, value in ONE
            ]
        }
    ).encode(),
    "ollama": b"".join(
        json.dumps({"response": text, "logprobs": [{"token": text, "logprob": value}]}).encode()
        + b"\n"
        for text, value in ONE
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_says_the_same(name: str) -> None:
    tokens = tokens_in(SHAPES[name])
    assert [token.text for token in tokens] == ["The", " gate"]
    assert [token.logprob for token in tokens] == pytest.approx([-0.1, -3.0], abs=1e-9)


def test_rivals_come_likeliest_first_and_surprise_grows() -> None:
    first, second = tokens_in(CHAT)
    assert second.rivals == (Rival(" door", -0.2), Rival(" gate", -3.0))
    assert (first.surprise, second.surprise) == (0, 2)
    assert second.probability == pytest.approx(math.exp(-3.0))


def test_candidates_of_one_answer_are_told_apart() -> None:
    body = _events(_chat("One", -0.5), _chat("Two", -0.6, index=1))
    assert [token.text for token in tokens_in(body, 1)] == ["Two"]


def test_half_a_character_is_joined_with_its_rest() -> None:
    one, two = "é".encode()[:1], "é".encode()[1:]
    entries = [
        {"token": "�", "bytes": list(one), "logprob": -1.0},
        {"token": "�", "bytes": list(two), "logprob": -0.5},
        {"token": "t", "bytes": [116], "logprob": -0.1},
    ]
    body = _events({"choices": [{"logprobs": {"content": entries}}]})
    assert [(token.text, token.logprob) for token in tokens_in(body)] == [("é", -1.5), ("t", -0.1)]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"data: [DONE]\n\n",
        b'{"choices": [{"logprobs": null}]}',
        b'{"choices": 5}',
        b'{"choices": [{"logprobs": {"content": [7, {"token": "a", "logprob": "x"}]}}]}',
        b"{" * 100_000,
        b'{"probs": [null]}',
    ],
)
def test_an_answer_without_probabilities_has_no_tokens(body: bytes) -> None:
    assert tokens_in(body) == []


@pytest.mark.parametrize("logprob", ["9" * 400, "NaN", "Infinity", "true", '"-0.5"', "null"])
def test_what_is_no_log_probability_counts_as_none(logprob: str) -> None:
    entry = b'{"token": "a", "logprob": -0.5, "top_logprobs": [{"token": "b", "logprob": %s}]}'
    answer = b'{"choices": [{"logprobs": {"content": [%s]}}]}'
    rival = answer % (entry % logprob.encode())
    assert [(token.text, token.rivals) for token in tokens_in(rival)] == [("a", ())]
    assert tokens_in(rival.replace(b"-0.5", logprob.encode(), 1)) == []
    completion = b'{"tokens": ["a"], "token_logprobs": [-1], "top_logprobs": [{"b": %s}]}'
    body = b'{"choices": [{"logprobs": %s}]}' % (completion % logprob.encode())
    assert [token.rivals for token in tokens_in(body)] == [()]


def test_log_probabilities_have_a_finite_sum() -> None:
    body = _events(_chat("a", -1.7e308), _chat("b", -1.7e308), _chat("c", 1.7e308))
    assert math.isfinite(sum(token.bits for token in tokens_in(body)))


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85", "\x7f"])
def test_an_event_is_one_line_whatever_signs_its_tokens_have(sign: str) -> None:
    event = _chat("The", -0.1, ("The", -0.1), (sign, -2.4))
    body = f"data: {json.dumps(event, ensure_ascii=False)}\r\n\r\ndata: [DONE]\n\n".encode()
    assert tokens_in(body)[0].rivals == (Rival("The", -0.1), Rival(sign, -2.4))
    thought = {"choices": [{"index": 0, "delta": {"reasoning": f"a{sign}b"}}]}
    assert thoughts_in(f"data: {json.dumps(thought, ensure_ascii=False)}\n\n".encode()) == [
        f"a{sign}b"
    ]


def test_half_a_surrogate_pair_is_replaced_in_a_rival() -> None:
    logprobs = {"tokens": ["a"], "token_logprobs": [-1], "top_logprobs": [{"\ud83d": -2}]}
    body = _events({"choices": [{"index": 0, "logprobs": logprobs}]})
    assert tokens_in(body)[0].rivals == (Rival("?", -2.0),)


def test_a_part_of_an_answer_has_its_tokens() -> None:
    tokens = tokens_in(CHAT)
    assert [token.text for token in placed(tokens, "The gate")] == ["The", " gate"]
    assert [token.text for token in placed(tokens, "The ga")] == ["The", " ga"]
    assert [token.text for token in placed(tokens, "gate")] == ["gate"]
    assert placed(tokens, "The door") == [] and placed(tokens, "") == []


def test_rivals_are_asked_for_and_left_out_where_they_are_refused() -> None:
    ask = ProviderRequest("http://x", "m", ({"role": "user", "content": "a"},), None, rivals=5)
    body = OpenAI().body(ask)
    assert body["logprobs"] is True and body["top_logprobs"] == 5
    prompt = ProviderRequest("http://x", "m", None, "a", rivals=5)
    assert OpenAI().body(prompt)["logprobs"] == 5
    assert "logprobs" not in OpenAI().body(ProviderRequest("http://x", "m", None, "a"))
    again = OpenAI().adjusted(body, Failure("invalid", "logprobs are not supported"))
    assert again is not None and not [name for name in again if "logprobs" in name]


@pytest.fixture
def written(actor: Actor, muse: Participant, tree: Tree) -> Node:
    """A text that a model wrote, with the probabilities of its tokens."""
    above = add(tree, actor.participant, "What did you see?", None)
    return answered(tree, actor, muse, above, "The gate", CHAT)


@pytest.mark.django_db
def test_candidates_of_one_call_have_the_tokens_of_their_choices(
    actor: Actor, muse: Participant, tree: Tree, written: Node
) -> None:
    """A line numbers its candidates from 1, also where a call was made for the later ones alone."""
    first = Generation.objects.get(uid=written.generation_uid)
    assert first.call is not None
    second = Generation.objects.create(
        tree=tree,
        participant=muse,
        asked_by=actor.participant,
        point=first.point,
        status="done",
        index=5,
        call=first.call,
        ended_at=timezone.now(),
    )
    other = _events(_chat("A", -0.4), _chat(" B", -2.0, index=1))
    Call.objects.filter(pk=first.call.pk).update(response=gzip.compress(other))
    Generation.objects.filter(pk=first.pk).update(index=4)
    nodes = [
        add(tree, muse, text, first.point, generation_uid=generation.uid, call_uid=first.call.uid)
        for text, generation in (("A", first), (" B", second))
    ]
    assert [[token.text for token in tokens_of(actor, node)] for node in nodes] == [["A"], [" B"]]


@pytest.mark.django_db
def test_the_page_shades_tokens_and_names_rivals(owner: User, tree: Tree, written: Node) -> None:
    client = Client()
    client.force_login(owner)
    at = f"/trees/{tree.uid}/nodes/{written.local_id}/tokens"
    page = client.get(at).content.decode()
    assert 'data-step="0"' in page and 'data-step="2"' in page and "Instead of" not in page
    page = client.get(at, {"at": "1"}).content.decode()
    assert "Instead of" in page and "81.9 %" in page and "stands here" in page
    assert client.get(at, {"at": "99"}).status_code == 200
    own = f"/trees/{tree.uid}/nodes/{written.parent_slot.local_id}/tokens"  # type: ignore[union-attr]
    assert "no probabilities" in client.get(own).content.decode()


@pytest.mark.django_db
def test_tokens_on_the_screen_come_with_their_surprise(
    owner: User, tree: Tree, written: Node, django_assert_max_num_queries: Any
) -> None:
    client = Client()
    client.force_login(owner)
    above = written.parent_slot.local_id  # type: ignore[union-attr]
    at = f"/trees/{tree.uid}/surprise"
    with django_assert_max_num_queries(7):
        body = client.get(at, {"ids": f"{above},{written.local_id},zzzz"}).json()
    assert body == {"nodes": {written.local_id: [["The", 0], [" gate", 2]]}}
    assert client.get(at, {"ids": "," * 90_000}).json() == {"nodes": {}}
    assert client.get(at).json() == {"nodes": {}}


@pytest.mark.django_db
def test_the_rivals_of_one_token_come_as_a_part(owner: User, tree: Tree, written: Node) -> None:
    client = Client(headers={"X-Part": "1"})
    client.force_login(owner)
    at = f"/trees/{tree.uid}/nodes/{written.local_id}/tokens"
    part = client.get(at, {"at": "1"}).content.decode()
    assert "81.9 %" in part and "<html" not in part and f'action="{at}"' in part
    assert client.get(at, {"at": "99"}).status_code == 404


@pytest.mark.django_db
def test_a_rival_is_taken_in_one_step_and_continued(
    owner: User, tree: Tree, muse: Participant, written: Node
) -> None:
    client = Client()
    client.force_login(owner)
    at = f"/trees/{tree.uid}/nodes/{written.local_id}/tokens"
    answer = client.post(at, {"at": "1", "rival": "0"})
    assert answer.status_code == 302
    new = tree.nodes.get(text="The door")
    assert new.parent_slot_id == written.parent_slot_id
    assert answer.headers["location"] == f"/trees/{tree.uid}?node={new.local_id}"
    asked = Generation.objects.get(point=new)
    assert asked.participant == muse
    for wrong in ({"at": "1", "rival": "9"}, {"at": "9", "rival": "0"}, {"at": "x"}):
        assert client.post(at, wrong).status_code == 404


@pytest.mark.django_db
def test_a_reader_sees_tokens_and_takes_none(reader: User, tree: Tree, written: Node) -> None:
    client = Client()
    client.force_login(reader)
    at = f"/trees/{tree.uid}/nodes/{written.local_id}/tokens"
    assert "Take it" not in client.get(at, {"at": "1"}).content.decode()
    assert client.post(at, {"at": "1", "rival": "0"}).status_code == 403
    assert not tree.nodes.filter(text="The door").exists()


@pytest.mark.django_db
def test_a_model_is_not_shown_the_tokens_of_an_excluded_text(
    actor: Actor, muse: Participant, written: Node
) -> None:
    flag(written, excluded=True)
    assert tokens_of(actor, written) != []
    assert tokens_of(acting_as(actor, muse), written) == []


@pytest.mark.django_db
def test_nobody_sees_the_tokens_of_another_grove(two_groves: TwoGroves) -> None:
    there = two_groves.right
    at = f"/trees/{there.tree.uid}/nodes/{there.text.local_id}/tokens"
    for user, status in ((two_groves.only_left, 404), (two_groves.both, 200)):
        client = Client()
        client.force_login(user)
        assert client.get(at).status_code == status
