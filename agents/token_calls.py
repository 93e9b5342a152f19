"""Requests for probabilities of tokens: what comes next after a text, and how likely a text is that
somebody else wrote. One small request at a time, over checked addresses."""

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from loom.errors import CommandError
from loom.participants.endpoint_calls import EndpointFailed
from loom.participants.provider_keys import allowed_addresses, key_of
from loom.people.models import Participant
from loom.text.logprobs import finite_logprob
from loom.turns.generation_lifecycle import Received
from loom.turns.models import Generation
from loom.turns.token_requests import (
    Keeps,
    Reads,
    TokenAnswer,
    TokenExchange,
    sends_next_tokens,
    sends_scores,
)

if TYPE_CHECKING:  # loaded with the first request: most web processes never send one
    from agents.providers.attempt import ProviderAttempt
    from agents.providers.orders import GenerationOrder
    from agents.providers.transport import Limits
    from agents.providers.values import ProviderRequest

BEGUN = ("prefill", "continue_final")  # ways to have a chat go on with an answer that has begun
FIRST_S, TOTAL_S = 30.0, 60.0
WHOLE_S = 120.0  # of all requests that score one text
MOST_BYTES = 8 * 1024 * 1024
FEWER = 5  # rivals that every endpoint allows
WIDE = 5_000  # tokens among which one is looked for that ends within a character
MOST_SPLIT = 200  # such tokens of a text
MOST_FORCED = 1_000  # tokens of a text that is written again: about 0.1 s each
AT_ONCE = 64  # of them in one request
MOST_RIVALS = 10  # of each token that is written again
# What a server without these addresses or fields may answer.
LACKING = ("invalid", "absent", "not_found", "server")


def _limits() -> "Limits":
    from agents.providers.transport import Limits

    return Limits(8, FIRST_S, FIRST_S, TOTAL_S, MOST_BYTES)


@sends_next_tokens
def next_tokens(generation: Generation, begun: str, most: int, keeps: Keeps) -> TokenAnswer:
    """What comes next in an answer of the participant below the point that begins with `begun`;
    `keeps` gets each exchange. CommandError if its endpoint cannot go on with one, and
    EndpointFailed."""
    from agents.providers.orders import AskedParticipant
    from agents.providers.registry import whom
    from agents.providers.transport import the_loop
    from agents.providers.values import BrokenConnection
    from agents.subject_prompt import order_of_candidate

    try:
        asked = AskedParticipant(*whom(generation.participant))
        order = order_of_candidate(generation, asked, is_shown=False, then="")
        ask = replace(
            begun_request(order, begun, generation.participant.capabilities),
            max_tokens=1,
            temperature=None,
            samplers={},
            stop=(),
            grammar="",
            tools=(),
            rivals=most,
        )
        return the_loop().run(_next(order, ask, keeps))
    except BrokenConnection as broken:
        raise EndpointFailed(str(broken.failure.error["message"])) from None


def begun_request(
    order: "GenerationOrder", begun: str, capabilities: Collection[str]
) -> "ProviderRequest":
    """The request of a candidate whose answer begins with a text. CommandError if the endpoint
    cannot go on with one."""
    ask = order.ask
    if ask.messages is None:
        return replace(ask, prompt=f"{ask.prompt or ''}{begun}")
    last = ask.messages[-1]
    way = next((name for name in BEGUN if name in capabilities), "")
    if last["role"] == "assistant":
        whole = {**last, "content": f"{last['content']}{begun}"}
        return replace(ask, messages=(*ask.messages[:-1], whole))
    if not way and (begun or order.text):
        raise CommandError(
            "UNAVAILABLE",
            "The endpoint of this model is a chat that cannot go on with a text that has begun.",
            hint="set its endpoint to completion in the settings of the model, or test it again",
        )
    if not begun:
        return ask
    added = {"role": "assistant", "content": begun}
    return replace(ask, messages=(*ask.messages, added), goes_on=way == "continue_final")


async def _next(order: "GenerationOrder", ask: "ProviderRequest", keeps: Keeps) -> TokenAnswer:
    from agents.providers.attempt import ProviderAttempt
    from agents.providers.registry import transport_of
    from agents.providers.values import BrokenConnection, Failure

    adapter = order.provider.adapter()
    body = adapter.body(ask)
    transport = transport_of(order.provider, order.allow)
    for _ in range(4):
        attempt = ProviderAttempt(adapter, ask, body)
        failure: Failure | None = None
        async for event in attempt.events(transport, _limits()):
            failure = event if isinstance(event, Failure) else failure
        keeps(_exchange_of(order, attempt))
        if failure is None or failure.kind == "filtered":
            return TokenAnswer((attempt.received[0],), attempt.usage)
        fewer = _fewer(body, failure.said)
        less = fewer or adapter.adjusted(body, failure)
        if less is None:
            raise BrokenConnection(failure)
        body = less
    raise EndpointFailed("It refused each form of the request.")


def _exchange_of(order: "GenerationOrder", attempt: "ProviderAttempt") -> TokenExchange:
    from agents.received import received_of

    return TokenExchange(
        order.provider.name,
        order.configuration,
        attempt.request,
        received_of(attempt),
        order.note,
    )


def _fewer(body: Mapping[str, Any], complaint: str) -> dict[str, Any] | None:
    """The body with fewer rivals, if a refusal is about their number; None if not."""
    name = "top_logprobs" if "top_logprobs" in body else "logprobs"
    asked = body.get(name)
    if "logprobs" not in complaint or not isinstance(asked, int) or asked is True or asked <= FEWER:
        return None
    return {**body, name: FEWER}


# How likely a text is.


@sends_scores
def scored(agent: Participant, before: str, text: str, reads: Reads, keeps: Keeps) -> TokenAnswer:
    """How likely a participant finds each token of `text` after `before`: of llama.cpp by having
    it write just this text, of others by having them repeat it. `keeps` gets what the numbers come
    from, or the last exchange that failed. EndpointFailed if its endpoint can do neither."""
    from agents.providers.openai import OpenAI
    from agents.providers.registry import configuration_of, whom
    from agents.providers.transport import the_loop
    from agents.providers.values import BrokenConnection, ProviderRequest

    run: _Scoring | None = None
    try:
        provider, base_url, model = whom(agent)
        if provider.adapter is not OpenAI:
            raise EndpointFailed("Its endpoint repeats no text with probabilities.")
        key = key_of(agent)
        ask = ProviderRequest(base_url, model, None, None, key=key, auth=agent.auth)
        allow = allowed_addresses(base_url, allow_private=agent.allow_private)
        run = _Scoring(ask, allow)
        return the_loop().run(asyncio.wait_for(run.run(before, text, reads), WHOLE_S))
    except TimeoutError:
        raise EndpointFailed(f"It did not score the text within {WHOLE_S:.0f} s.") from None
    except BrokenConnection as broken:
        raise EndpointFailed(str(broken.failure.error["message"])) from None
    finally:
        if run is not None and run.sent:
            configuration = configuration_of(agent, None)
            keeps(run.exchange(provider.name, configuration))


@dataclass(frozen=True)
class _Sent:
    """One request of a scoring and its answer, as far as it came."""

    request: dict[str, Any]
    body: bytes
    status: int | None
    headers: dict[str, str]
    is_exact: bool
    at: datetime


@dataclass(frozen=True)
class _Piece:
    """A token as llama.cpp cuts a text: its id, and its bytes if they are no whole characters."""

    id: int
    part: list[int] | None


class _Scoring:
    """The scoring of one text."""

    def __init__(self, ask: "ProviderRequest", allow: tuple[str, ...]) -> None:
        self.ask, self.allow = ask, allow
        self.root = ask.base_url.rstrip("/").removesuffix("/v1")
        # What the numbers come from; until they have come, the last request.
        self.sent: list[_Sent] = []
        self.is_several = False

    def exchange(self, provider: str, configuration: str) -> TokenExchange:
        """What was sent and answered. Several answers stand one after the other, a line each."""
        last = self.sent[-1]
        bodies = [sent.request["body"] for sent in self.sent]
        many = len(self.sent)
        received = Received(
            body=b"\n".join(sent.body for sent in self.sent),
            status=last.status,
            headers=last.headers,
            usage=_usage(last.body) if many == 1 else {},
            exact=many == 1 and last.is_exact,
            started_at=self.sent[0].at,
        )
        note = f"{many} requests; their answers stand one a line." if many > 1 else ""
        request = {**last.request, "body": bodies if many > 1 else bodies[0]}
        return TokenExchange(provider, configuration, request, received, note)

    async def run(self, before: str, text: str, reads: Reads) -> TokenAnswer:
        """An answer that can be read. Raises BrokenConnection, or EndpointFailed if it cannot."""
        pieces = await self._pieces(text)
        if pieces is not None:
            answer = await self._forced(before, pieces)
            if not reads(answer):
                raise EndpointFailed("It did not write the text that it was to score.")
            return answer
        # A prompt has something before its first token, which itself has no probability.
        before = before or "\n"
        prompt = {"model": self.ask.model, "prompt": f"{before}{text}", "max_tokens": 1}
        for more in ({"echo": True, "logprobs": FEWER}, {"prompt_logprobs": FEWER}):
            body = await self._post(f"{self.ask.base_url.rstrip('/')}/completions", prompt | more)
            if body is not None and reads(TokenAnswer((body,), _usage(body), before)):
                return TokenAnswer((body,), _usage(body), before)
        raise EndpointFailed("Its endpoint gives no probabilities of a text that it is sent.")

    async def _pieces(self, text: str) -> list[_Piece] | None:
        """The tokens of a text as llama.cpp cuts it. None if the server is another one."""
        asked = {"content": text, "add_special": False, "with_pieces": True}
        value = _value(await self._post(f"{self.root}/tokenize", asked))
        listed = value.get("tokens")
        if not isinstance(listed, list) or not listed:
            return None
        pieces = []
        for token in listed:
            number = token.get("id") if isinstance(token, dict) else None
            piece = token.get("piece") if isinstance(token, dict) else None
            if not isinstance(number, int) or not isinstance(piece, str | list):
                return None
            pieces.append(_Piece(number, piece if isinstance(piece, list) else None))
        return pieces

    async def _forced(self, before: str, pieces: list[_Piece]) -> TokenAnswer:
        """The tokens of the text as llama.cpp writes them when a grammar lets it write nothing
        else. One that ends within a character, of which a grammar knows nothing, is looked for
        among the likely ones instead; if it is not there it counts as the least likely of them."""
        value = _value(await self._post(f"{self.root}/tokenize", {"content": before or "\n"}))
        done = [token for token in value.get("tokens") or () if isinstance(token, int)]
        if len(pieces) > MOST_FORCED:
            raise EndpointFailed(f"It scores at most {MOST_FORCED:,} tokens; these are more.")
        if sum(piece.part is not None for piece in pieces) > MOST_SPLIT:
            raise EndpointFailed("It splits too many characters of this text.")
        bodies: list[bytes] = []
        self.sent, self.is_several = [], True
        at, read = 0, len(done) + len(pieces)
        while at < len(pieces):
            end = at + 1
            while end < min(at + AT_ONCE, len(pieces)) and pieces[at].part is pieces[end].part:
                end += 1  # both None: what ends within a character is asked for by itself
            some = pieces[at:end]
            bodies.append(await self._written(done, some))
            done += [piece.id for piece in some]
            at = end
        return TokenAnswer(tuple(bodies), {"prompt_tokens": read}, is_forced=True)

    async def _written(self, done: list[int], pieces: list[_Piece]) -> bytes:
        part = pieces[0].part
        forced = " ".join(f"<[{piece.id}]>" for piece in pieces)
        body = await self._post(
            f"{self.root}/completion",
            {
                "prompt": list(done),  # which grows: what is stored is what was sent
                "n_predict": len(pieces),
                "n_probs": MOST_RIVALS if part is None else WIDE,
                "post_sampling_probs": False,
                "cache_prompt": True,
                "temperature": 0,
                # What follows is not written: a grammar that is used up is an error there.
                **({"grammar": f"root ::= {forced} <[0]>*"} if part is None else {}),
            },
        )
        if body is None:
            raise EndpointFailed("It did not write the text that it was to score.")
        if part is None:
            return body
        # Of thousands of likely tokens only the one is kept that the text has.
        body = _as_part(body, pieces[0].id, part)
        self.sent[-1] = replace(self.sent[-1], body=body, is_exact=False)
        return body

    async def _post(self, url: str, body: Mapping[str, Any]) -> bytes | None:
        """The body of an answer; None if the server does not know such a request."""
        from agents.providers.attempt import (
            body_without_key,
            headers_without_key,
            masked,
            refusal,
        )
        from agents.providers.transport import CheckedTransport, Outgoing, exchange
        from agents.providers.values import BrokenConnection

        headers = {"authorization": self.ask.authorization} if self.ask.key else {}
        outgoing = Outgoing.of_json(url, headers, dict(body))
        transport = CheckedTransport(self.allow)
        at, came, key = datetime.now(UTC), None, self.ask.key
        try:
            async with exchange(transport, outgoing, _limits()) as came:
                if came.status != 200:
                    failure = await refusal(came)
                    if failure.kind in LACKING:
                        return None
                    raise BrokenConnection(failure)
                return b"".join([chunk async for chunk in came.chunks()])
        finally:
            body_as_sent = bytes(came.body) if came else b""
            status = came.status if came else None
            kept = body_without_key(body_as_sent, status, key)
            sent = _Sent(
                {
                    "method": "POST",
                    "url": masked(url, key),
                    "headers": headers_without_key(outgoing.headers, key),
                    "body": dict(body),
                },
                kept,
                status,
                headers_without_key(came.headers, key) if came else {},
                kept == body_as_sent,
                at,
            )
            self.sent = [*self.sent, sent] if self.is_several else [sent]
            await transport.aclose()


def _value(body: bytes | None) -> dict[str, Any]:
    from agents.providers.attempt import value_of

    value = value_of(body.decode("utf-8", "replace")) if body is not None else None
    return value if isinstance(value, dict) else {}


def _usage(body: bytes | None) -> dict[str, int]:
    from agents.providers.attempt import MOST_TOKENS

    usage = _value(body).get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return {
        name: count
        for name, count in counts.items()
        if isinstance(count, int) and 0 <= count <= MOST_TOKENS
    }


def _as_part(body: bytes, number: int, part: list[int]) -> bytes:
    """An answer of one token as if it were the one with this id and these bytes, which is looked
    for among its rivals."""
    listed = _value(body).get("completion_probabilities")
    entry = listed[0] if isinstance(listed, list) and listed else {}
    tops = entry.get("top_logprobs") if isinstance(entry, dict) else None
    logprobs = [
        (top.get("id"), logprob)
        for top in (tops if isinstance(tops, list) else ())
        if isinstance(top, dict) and (logprob := finite_logprob(top.get("logprob"))) is not None
    ]
    if not logprobs:
        raise EndpointFailed("It gave no probabilities of a token.")
    least = min(logprob for _, logprob in logprobs)
    own = next((logprob for token, logprob in logprobs if token == number), least)
    return json.dumps({"completion_probabilities": [{"bytes": part, "logprob": own}]}).encode()
