"""What a model could write next, and how likely it finds a text: asked in small requests, priced,
counted, kept and shown."""

import gzip
import json
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from rest_framework.test import APIClient

from loom.access import Actor
from loom.errors import CommandError
from loom.meaning import token_calls
from loom.meaning.models import TextScore
from loom.meaning.node_tokens import tokens_of
from loom.meaning.token_calls import demand_token_agent, next_tokens, score_text
from loom.money.models import DailySpending
from loom.people.models import Participant, User
from loom.reading.queries.verify import verdicts_of
from loom.trees.models import Node, Tree
from loom.turns.models import TOKENS, Call, Generation
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script
from tests.queries.growing import add, flag, version
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
USAGE = {"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 21}


def answers(value: Any, status: int = 200) -> Script:
    """A whole answer of JSON."""
    return Script(body=json.dumps(value).encode(), status=status)


def next_ones(*tokens: tuple[str, float]) -> Script:
    """An answer of llama.cpp's completions: one token with what could stand there."""
    top = [{"id": 1, "token": text, "logprob": value} for text, value in tokens]
    entry = {"id": 1, "token": tokens[0][0], "logprob": tokens[0][1], "top_logprobs": top}
    choice = {"index": 0, "text": tokens[0][0], "logprobs": {"content": [entry]}}
    return answers({"choices": [{**choice, "finish_reason": "length"}], "usage": USAGE})


NOT_LLAMA = answers({"error": {"message": "no such address"}}, 404)


@pytest.fixture
def local(model: Participant) -> Participant:
    """A model of a completion endpoint that gave probabilities when it was tested."""
    model.endpoint = "completion"
    model.probe = {"status": "done", "found": {"logprobs": True, "completion": True}}
    model.prices = {"input": 10, "output": 20}
    model.save()
    return model


@pytest.fixture
def text(tree: Tree, actor: Actor, opening: str) -> Node:
    """A text that a person wrote."""
    return add(tree, actor.participant, "The old clock struck nine.", None)


def spent(actor: Actor) -> int:
    """What somebody has spent today, in billionths of a dollar."""
    rows = DailySpending.objects.filter(participant=actor.participant)
    return sum(rows.values_list("spent", flat=True))


class TestNextTokens:
    """The multiverse: one request of one token for each opening."""

    def test_an_opening_asks_for_one_token_after_what_was_opened(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        provider.script(next_ones((" door", -0.2), (" gate", -1.9)))
        offer = token_calls.offer_of_next(actor, text, local)
        answer = next_tokens(actor, text, local, " Marie opened the")
        assert [rival.text for rival in answer.rivals] == [" door", " gate"]
        assert answer.rivals[0].probability == pytest.approx(0.8187, abs=1e-4)
        seen = provider.seen[-1]
        assert seen.path.endswith("/completions") and seen.json["max_tokens"] == 1
        assert seen.json["prompt"].endswith("The old clock struck nine. Marie opened the")
        assert seen.json["logprobs"] == token_calls.MOST_RIVALS
        # Counted by the usage of the provider, and not more than was said before.
        row = Generation.objects.get(round=TOKENS)
        assert (row.tokens_in, row.tokens_out, row.status) == (20, 1, "done")
        assert row.spent == spent(actor) == 20 * 10_000 + 20_000 and answer.spent == row.spent
        assert row.spent <= offer.most and offer.price.startswith("$")
        with pytest.raises(CommandError, match="at most about 100 tokens"):
            next_tokens(actor, text, local, " long" * 81)

    def test_fewer_are_asked_for_where_so_many_are_refused(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        refused = {"error": {"message": "logprobs must be at most 5"}}
        provider.script(answers(refused, 400), next_ones((" a", -0.1)))
        assert next_tokens(actor, text, local, "").rivals[0].text == " a"
        assert provider.seen[-1].json["logprobs"] == 5

    def test_a_chat_goes_on_with_what_was_opened_only_if_it_can(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        local.endpoint = "chat"
        local.save()
        provider.script(next_ones((" door", -0.2)), next_ones((" opens", -0.2)))
        assert next_tokens(actor, text, local, "").rivals
        with pytest.raises(CommandError, match="cannot go on with a text that has begun"):
            next_tokens(actor, text, local, " door")
        local.capabilities = ["continue_final"]
        local.save()
        assert next_tokens(actor, text, local, " door").rivals
        body = provider.seen[-1].json
        assert body["messages"][-1] == {"role": "assistant", "content": " door"}
        assert body["continue_final_message"] is True and body["top_logprobs"] == 10

    def test_what_fails_costs_nothing_and_is_reported(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        plain = {"choices": [{"index": 0, "text": " a", "finish_reason": "length"}]}
        provider.script(answers({"error": {"message": "down"}}, 500))
        with pytest.raises(CommandError) as refused:
            next_tokens(actor, text, local, "")
        assert refused.value.code == "UNAVAILABLE" and "Echo" in refused.value.message
        assert spent(actor) == 0 and not Generation.objects.filter(round=TOKENS).exists()
        provider.script(answers(plain))
        with pytest.raises(CommandError, match="without probabilities"):
            next_tokens(actor, text, local, "")

    def test_the_limit_of_the_day_holds(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        text.tree.grove.settings = {**text.tree.grove.settings, "daily_budget_usd": 0.0000001}
        text.tree.grove.save()
        actor.participant.grove.settings = text.tree.grove.settings
        with pytest.raises(CommandError) as refused:
            next_tokens(actor, text, local, "")
        assert refused.value.code == "LIMIT_EXCEEDED" and not provider.seen

    def test_only_models_that_gave_probabilities_are_offered(
        self, actor: Actor, tree: Tree, local: Participant
    ) -> None:
        assert demand_token_agent(tree, "") == local
        local.probe = {"found": {"logprobs": False}}
        local.save()
        for uid in ("", local.uid):
            with pytest.raises(CommandError, match="when it was tested"):
                demand_token_agent(tree, uid)
        with pytest.raises(CommandError, match="not here"):
            demand_token_agent(tree, "zzzz")


class TestPages:
    """The page and the API of what could come next."""

    def test_the_page_says_the_price_and_a_path_is_taken_as_one_text(
        self, actor: Actor, text: Node, local: Participant, reader: User
    ) -> None:
        client = Client()
        client.force_login(actor.user)
        at = f"/trees/{text.tree.uid}/nodes/{text.local_id}/multiverse"
        page = client.get(at).content.decode()
        price = token_calls.offer_of_next(actor, text, local).price
        assert f"at most {price}" in page and "loom-multiverse" in page
        answer = client.post(at, {"begun": " Marie opened the door"})
        new = text.tree.nodes.get(text="Marie opened the door")
        assert new.parent_slot_id == text.slot_id and new.author == actor.participant
        assert answer.headers["location"] == f"/trees/{text.tree.uid}?node={new.local_id}"
        client.force_login(reader)
        assert "loom-multiverse" not in client.get(at).content.decode()
        assert client.post(at, {"begun": "no"}).status_code == 403

    def test_an_endpoint_that_gives_none_is_a_sentence(
        self, actor: Actor, text: Node, model: Participant
    ) -> None:
        client = Client()
        client.force_login(actor.user)
        at = f"/trees/{text.tree.uid}/nodes/{text.local_id}"
        for page in (f"{at}/multiverse", f"{at}/tokens"):
            assert "has given probabilities of tokens" in client.get(page).content.decode()

    def test_the_api_says_what_could_come_next(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        api = APIClient()
        api.force_authenticate(actor.user)
        provider.script(next_ones((" door", -0.2), ("\ufffd", -2.0), ("<|im_end|>", -3.0)))
        at = f"/api/trees/{text.tree.uid}/nodes/{text.local_id}/next-tokens"
        body = api.post(at, {"agent": local.uid, "begun": ""}, format="json").json()
        assert [token["goes_on"] for token in body["tokens"]] == [True, False, False]
        assert body["read"] == 20 and body["usd"] == pytest.approx(0.00022)
        assert api.post(at, {"begun": "a" * 5_000}, format="json").status_code == 413

    def test_nobody_asks_in_another_grove(self, two_groves: TwoGroves) -> None:
        there = two_groves.right
        at = f"trees/{there.tree.uid}/nodes/{there.text.local_id}"
        for user, status in ((two_groves.only_left, 404), (two_groves.nobody, 404)):
            for name in ("next-tokens", "score"):
                assert two_groves.client(user).post(f"/api/{at}/{name}").status_code == status
            client = Client()
            client.force_login(user)
            assert client.get(f"/{at}/multiverse").status_code == status
            assert client.post(f"/{at}/tokens", {"score": "x"}).status_code == status


def echoed(before: str, *tokens: tuple[str, float]) -> Script:
    """An answer that repeats its prompt, with the token that it added."""
    logprobs = {
        "tokens": [before, *(text for text, _ in tokens), " next"],
        "token_logprobs": [None, *(value for _, value in tokens), -9.0],
        "top_logprobs": [None, *({text: value, "x": -0.5} for text, value in tokens), {}],
    }
    choice = {"index": 0, "text": "", "logprobs": logprobs, "finish_reason": "length"}
    return answers({"choices": [choice], "usage": USAGE})


class TestScores:
    """A text of a person is shaded by a model that scores it."""

    TOKENS = (("The old", -1.0), (" clock", -4.5), (" struck nine.", -0.25))

    def test_an_endpoint_that_repeats_a_prompt_scores_a_text(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        assert tokens_of(actor, text) == []
        provider.script(NOT_LLAMA, echoed("\n", *self.TOKENS))
        _, row = score_text(actor, text, local)
        scored = tokens_of(actor, text)
        # The numbers of the provider, as they are.
        assert [(token.text, token.logprob) for token in scored] == list(self.TOKENS)
        assert scored[1].surprise == 3 and scored[1].rivals[0].text == "x"
        assert provider.seen[-1].json["echo"] is True
        assert row.spent == spent(actor) == 220_000
        kept = TextScore.objects.get()
        assert kept.model == local.model_ref and kept.agent == local
        # Kept by the text: a score once more takes the place of the first.
        provider.script(NOT_LLAMA, echoed("\n", (text.text, -2.0)))
        score_text(actor, text, local)
        assert TextScore.objects.count() == 1 and len(tokens_of(actor, text)) == 1

    def test_vllm_names_the_probabilities_of_a_prompt(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        prompt: list[Any] = [None]
        for number, (token, logprob) in enumerate(self.TOKENS):
            own = {"logprob": logprob, "rank": 2, "decoded_token": token}
            prompt.append({str(number): own, "9": {"logprob": -0.1, "decoded_token": "x"}})
        plain = {"index": 0, "text": " a", "finish_reason": "length"}
        # The first token, of what comes before, has no probability, and so no entry.
        provider.script(
            NOT_LLAMA,
            answers({"choices": [plain]}),
            answers({"choices": [{**plain, "prompt_logprobs": [None, *_before(prompt[1:])]}]}),
        )
        score_text(actor, text, local)
        scored = tokens_of(actor, text)
        assert [(token.text, token.logprob) for token in scored] == list(self.TOKENS)
        assert provider.seen[-1].json["prompt_logprobs"] == 5

    def test_llama_cpp_writes_the_text_itself(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        pieces: list[tuple[int, str | list[int], float]] = [
            (7, "The old", -1.0),
            (8, [0xE2, 0x80], -6.0),
            (9, [0xA6], -0.5),
            (10, " nine.", -0.25),
        ]
        mine = add(text.tree, actor.participant, "The old… nine.", text)
        cut = [{"id": number, "piece": piece} for number, piece, _ in pieces]
        provider.script(
            answers({"tokens": cut}),
            answers({"tokens": [1, 2]}),
            _forced((7, "The old", -1.0)),
            _forced((99, "x", -0.1), (8, "?", -6.0)),
            _forced((99, "x", -0.1), (98, "y", -0.5)),
            _forced((10, " nine.", -0.25)),
        )
        score_text(actor, mine, local)
        scored = tokens_of(actor, mine)
        assert [(token.text, token.logprob) for token in scored] == [
            ("The old", -1.0),
            ("…", -6.5),
            (" nine.", -0.25),
        ]
        assert provider.seen[-4].json["grammar"] == "root ::= <[7]> <[0]>*"
        assert provider.seen[-1].json["prompt"] == [1, 2, 7, 8, 9]
        assert "grammar" not in provider.seen[-2].json

    @pytest.mark.parametrize("logprob", [int("9" * 400), "x", None, True])
    def test_an_odd_probability_of_a_part_of_a_character_is_passed_over(
        self,
        logprob: object,
        actor: Actor,
        text: Node,
        local: Participant,
        provider: ScriptedProvider,
    ) -> None:
        mine = add(text.tree, actor.participant, "…", text)
        cut = [{"id": 8, "piece": [0xE2, 0x80]}, {"id": 9, "piece": [0xA6]}]
        tops = [{"id": 8, "token": "?", "logprob": logprob}]
        odd = answers({"completion_probabilities": [{"top_logprobs": tops}]})
        provider.script(answers({"tokens": cut}), answers({"tokens": [1]}), odd)
        with pytest.raises(CommandError, match="no probabilities of a token"):
            score_text(actor, mine, local)

    def test_a_count_that_no_endpoint_can_reach_is_estimated(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        usage = {"prompt_tokens": int("9" * 40), "completion_tokens": -1}
        body = json.loads(echoed("\n", *self.TOKENS).body or b"") | {"usage": usage}
        provider.script(NOT_LLAMA, answers(body))
        _, row = score_text(actor, text, local)
        assert 0 < row.tokens_in < 1_000 and row.tokens_out == 1

    def test_a_text_is_scored_after_the_wording_that_it_was_written_below(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        edited = version(actor.participant, text, "Another beginning.")
        below = add(text.tree, actor.participant, "The old clock struck nine.", edited)
        provider.script(NOT_LLAMA, echoed("Another beginning.\n\n", *self.TOKENS))
        score_text(actor, below, local)
        sent = provider.seen[-1].json["prompt"]
        assert sent.startswith("Another beginning.") and text.text not in sent[: len(sent) - 30]

    def test_an_endpoint_that_cannot_is_a_sentence_and_costs_nothing(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        plain = answers({"choices": [{"index": 0, "text": " a", "finish_reason": "length"}]})
        provider.script(NOT_LLAMA, plain, plain)
        client = Client()
        client.force_login(actor.user)
        at = f"/trees/{text.tree.uid}/nodes/{text.local_id}/tokens"
        assert f'value="{local.uid}"' in client.get(at).content.decode()
        page = client.post(at, {"score": local.uid}, follow=True).content.decode()
        assert "no probabilities of a text that it is sent" in page
        assert spent(actor) == 0 and not TextScore.objects.exists()

    def test_the_page_shades_a_text_that_was_scored_and_a_rival_is_taken(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        client = Client()
        client.force_login(actor.user)
        at = f"/trees/{text.tree.uid}/nodes/{text.local_id}/tokens"
        provider.script(NOT_LLAMA, echoed("\n", *self.TOKENS))
        page = client.post(at, {"score": local.uid}, follow=True).content.decode()
        assert "Scored by Echo" in page and 'data-step="3"' in page
        shaded = client.get(f"/trees/{text.tree.uid}/surprise", {"ids": text.local_id}).json()
        assert shaded["nodes"][text.local_id][1] == [" clock", 3]
        client.post(at, {"at": "1", "rival": "0"})
        new = text.tree.nodes.get(text="The oldx")
        assert Generation.objects.get(point=new, round=0).participant == local

    def test_what_is_kept_from_models_is_not_sent(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        flag(text, excluded=True)
        with pytest.raises(CommandError, match="kept from models"):
            score_text(actor, text, local)
        assert not provider.seen

    @pytest.mark.parametrize("kind", ["annotation", "thought", "claim"])
    def test_what_is_no_text_is_neither_scored_nor_continued(
        self,
        kind: str,
        actor: Actor,
        text: Node,
        local: Participant,
        provider: ScriptedProvider,
    ) -> None:
        note = add(text.tree, actor.participant, "Only for readers.", text, kind=kind)
        assert_refused(actor, note, local, f"a {kind}" if kind != "annotation" else "an annotation")
        assert not provider.seen and spent(actor) == 0

    def test_what_is_pruned_and_what_is_below_it_is_neither_scored_nor_continued(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        below = add(text.tree, actor.participant, "And then ten.", text)
        flag(text, pruned=True)
        for node in (text, below):
            assert_refused(actor, node, local, "is pruned")
        assert not provider.seen and spent(actor) == 0

    def test_the_page_offers_no_score_of_what_is_not_sent(
        self, actor: Actor, text: Node, local: Participant
    ) -> None:
        note = add(text.tree, actor.participant, "Only for readers.", text, kind="annotation")
        client = Client()
        client.force_login(actor.user)
        at = f"/trees/{text.tree.uid}/nodes"
        offer = f'value="{local.uid}"'
        assert offer in client.get(f"{at}/{text.local_id}/tokens").content.decode()
        assert offer not in client.get(f"{at}/{note.local_id}/tokens").content.decode()
        flag(text, excluded=True)
        assert offer not in client.get(f"{at}/{text.local_id}/tokens").content.decode()


def assert_refused(actor: Actor, node: Node, agent: Participant, words: str) -> None:
    """The API refuses to score a node and to ask what comes next below it, with these words."""
    api = APIClient()
    api.force_authenticate(actor.user)
    for name in ("next-tokens", "score"):
        at = f"/api/trees/{node.tree.uid}/nodes/{node.local_id}/{name}"
        answer = api.post(at, {"agent": agent.uid}, format="json")
        assert answer.status_code == 409 and words in answer.json()["message"]


class TestCalls:
    """What was asked for probabilities, and what was answered, can be proved as for a text."""

    def test_an_opening_is_a_call_that_is_sealed_read_and_exported(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        script = next_ones((" door", -0.2), (" gate", -1.9))
        provider.script(script)
        next_tokens(actor, text, local, " Marie opened the")
        call = Call.objects.get()
        assert Generation.objects.get(round=TOKENS).call == call
        assert (call.purpose, call.bytes, call.status) == ("tokens", "exact", 200)
        assert call.request["body"] == provider.seen[-1].json and not call.note
        assert gzip.decompress(bytes(call.response)) == script.body
        assert call.usage["total_tokens"] == 21 and call.configuration
        assert verdicts_of(text.tree, [call.uid]) == {call.uid: "sealed"}
        api = APIClient()
        api.force_authenticate(actor.user)
        read = api.get(f"/api/calls/{call.uid}").json()
        assert (read["purpose"], read["sha256"], read["nodes"]) == ("tokens", call.sha256, [])
        answer: Any = api.get(f"/api/trees/{text.tree.uid}/export?format=zip")
        with ZipFile(BytesIO(b"".join(answer.streaming_content))) as archive:
            assert archive.read(f"calls/{call.uid}.response") == script.body
        # A byte that is changed later shows.
        Call.objects.update(response=gzip.compress(script.body.replace(b"door", b"moor")))
        assert verdicts_of(text.tree, [call.uid]) == {call.uid: "broken"}

    def test_what_is_refused_is_a_call_too_without_the_key(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        provider.script(answers({"error": {"message": "down"}}, 500))
        with pytest.raises(CommandError):
            next_tokens(actor, text, local, "")
        provider.script(answers({"error": {"message": "down"}}, 500))
        with pytest.raises(CommandError):
            score_text(actor, text, local)
        calls = list(Call.objects.values_list("purpose", "status"))
        assert ("tokens", 500) in calls and calls[-1][0] == "score"
        for call in Call.objects.all():
            assert "authorization" not in {name.lower() for name in call.request["headers"]}
        assert not Generation.objects.filter(round=TOKENS).exists()

    def test_a_score_is_one_call_with_what_its_numbers_come_from(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        script = echoed("\n", *TestScores.TOKENS)
        provider.script(NOT_LLAMA, script)
        _, row = score_text(actor, text, local)
        call = Call.objects.get()
        assert row.call == call and (call.purpose, call.bytes) == ("score", "exact")
        assert call.request["body"]["echo"] is True
        assert gzip.decompress(bytes(call.response)) == script.body
        # In pieces, as llama.cpp is asked: one call, with all answers.
        mine = add(text.tree, actor.participant, "The old… nine.", text)
        cut = [{"id": number, "piece": piece} for number, piece in PIECES]
        several = [
            _forced((7, "The old", -1.0)),
            _forced((99, "x", -0.1), (8, "?", -6.0)),
            _forced((99, "x", -0.1), (98, "y", -0.5)),
            _forced((10, " nine.", -0.25)),
        ]
        provider.script(answers({"tokens": cut}), answers({"tokens": [1, 2]}), *several)
        score_text(actor, mine, local)
        call = Call.objects.exclude(pk=call.pk).get()
        assert call.bytes == "reassembled" and call.note.startswith("4 requests")
        lines = gzip.decompress(bytes(call.response)).split(b"\n")
        assert lines[0] == several[0].body and lines[-1] == several[-1].body and len(lines) == 4
        assert [body["prompt"] for body in call.request["body"]] == [
            [1, 2],
            [1, 2, 7],
            [1, 2, 7, 8],
            [1, 2, 7, 8, 9],
        ]

    def test_a_long_request_is_stored_shortened(
        self, actor: Actor, text: Node, local: Participant, provider: ScriptedProvider
    ) -> None:
        long = add(text.tree, actor.participant, "word " * 20_000, text)
        provider.script(next_ones((" door", -0.2)))
        next_tokens(actor, long, local, " the end")
        call = Call.objects.get()
        assert len(provider.seen[-1].json["prompt"]) > 100_000
        assert call.request["body"]["prompt"].endswith("word  the end")
        assert len(json.dumps(call.request)) < 5_000 and "SHA-256" in call.note


PIECES: list[tuple[int, str | list[int]]] = [
    (7, "The old"),
    (8, [0xE2, 0x80]),
    (9, [0xA6]),
    (10, " nine."),
]


def _before(entries: list[Any]) -> list[Any]:
    """Entries of vLLM after that of the text before, whose token is a line's end."""
    first = {"0": {"logprob": -3.0, "decoded_token": "\n"}}
    return [first, *entries]


def _forced(*tops: tuple[int, str, float]) -> Script:
    """An answer of llama.cpp's own completion: one token, and what else could stand there."""
    listed = [{"id": number, "token": text, "logprob": value} for number, text, value in tops]
    return answers({"completion_probabilities": [{**listed[0], "top_logprobs": listed}]})
