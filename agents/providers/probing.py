"""Finds out what an endpoint supports and which models it lists, with small requests that each
test one thing. Each costs a few tokens; nothing of a tree is sent. An owner starts a probe, and
the result is stored with the participant."""

import asyncio
import logging
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any

import httpx
from django.utils import timezone

from agents.context.overlap import Overlap, goes_on
from agents.context.subject_request import BEGINS, handed_over
from agents.providers.attempt import ProviderAttempt, masked, refusal, value_of, whole
from agents.providers.openai import sampler_fields
from agents.providers.registry import Provider, provider_of, whom
from agents.providers.transport import Clock, Exchange, Limits, broken_by, in_thread, the_loop
from agents.providers.values import (
    BrokenConnection,
    Delta,
    Failure,
    Finished,
    Picture,
    ProviderRequest,
    StreamEvent,
    Usage,
)
from loom.engine import kept_jobs
from loom.errors import CommandError
from loom.participants import commands as participants
from loom.participants.commands import note_probe
from loom.participants.provider_keys import allowed_addresses, key_of
from loom.participants.provider_kinds import PROBED, SAMPLERS_BY_NAME
from loom.people.models import Participant
from loom.text.hashes import instant
from loom.text.images import image_reference
from loom.trees.images import square

log = logging.getLogger("heddle.run")
LIMITS = Limits(connect_s=10, first_s=60, idle_s=20, total_s=90, body_bytes=1024 * 1024)
TOKENS = 8
MODELS = 500
# OpenRouter and Together, vLLM, Groq, Mistral, Anthropic; in `meta`, llama.cpp: the length that it
# was started with, before the length that the model was trained with.
CONTEXT_NAMES = (
    *("context_length", "max_model_len", "context_window", "max_context_length"),
    *("max_input_tokens", "n_ctx", "n_ctx_train"),
)
MOST_CONTEXT = 10_000_000
OPENING = "The old clock struck nine, and Marie opened the"
ONE = 'root ::= "yes"'
SHA = "0" * 64  # by which the question names its image


@dataclass(frozen=True)
class ProbeAnswer:
    """The result of one small request."""

    events: tuple[StreamEvent, ...]

    @property
    def failure(self) -> Failure | None:
        """Why it failed, None if it did not."""
        return next((event for event in self.events if isinstance(event, Failure)), None)

    @property
    def pieces(self) -> list[Delta]:
        """The pieces of text."""
        return [event for event in self.events if isinstance(event, Delta)]

    @property
    def text(self) -> str:
        """The text of the first candidate."""
        return "".join(event.text for event in self.pieces if event.index == 0)


@dataclass(frozen=True)
class Probe:
    """An endpoint that is tested. `ask` has its address, model and key."""

    provider: Provider
    ask: ProviderRequest
    transport: httpx.AsyncBaseTransport
    bodies: list[bytes] = field(default_factory=list)  # bodies of the last answer
    plain: dict[float, bool] = field(default_factory=dict)  # by temperature, see `_is_steady`

    async def send(
        self, ask: ProviderRequest, *, as_it_is: bool = False, **more: object
    ) -> ProbeAnswer:
        """The result of one request with the fields `more` in its body; fields that the server
        refuses are left out, unless `as_it_is`."""
        adapter = self.provider.adapter()
        body = {**adapter.body(ask), **more}
        events: tuple[StreamEvent, ...] = ()
        for _ in range(3):
            attempt = ProviderAttempt(adapter, ask, body)
            self.bodies.clear()
            events = tuple([event async for event in attempt.events(self.transport, LIMITS)])
            self.bodies.append(attempt.received[0])
            failure = ProbeAnswer(events).failure
            less = adapter.adjusted(body, failure) if failure and not as_it_is else None
            if less is None:
                break
            body = less
        return ProbeAnswer(events)

    async def chat(self, *turns: tuple[str, str], many: int = 1, grammar: str = "") -> ProbeAnswer:
        """A chat of (role, content)."""
        messages = tuple({"role": role, "content": content} for role, content in turns)
        return await self.send(replace(self.ask, messages=messages, many=many, grammar=grammar))

    async def completion(self, prompt: str, grammar: str = "") -> ProbeAnswer:
        """A completion of a prompt."""
        return await self.send(replace(self.ask, messages=None, prompt=prompt, grammar=grammar))


async def _chat(probe: Probe) -> bool:
    return _answered(await probe.chat(("user", "Count from one to five.")))


async def _completion(probe: Probe) -> bool:
    # Anthropic's API sends a prompt as a message; only servers with a prompt endpoint complete.
    if probe.provider.name == "anthropic":
        return False
    return _answered(await probe.completion("One, two, three,"))


async def _streaming(probe: Probe) -> bool:
    return len((await probe.chat(("user", "Count from one to five."))).pieces) > 1


async def _many(probe: Probe) -> bool:
    answer = await probe.chat(("user", "Say a word."), many=2)
    return {piece.index for piece in answer.pieces} >= {0, 1}


async def _logprobs(probe: Probe) -> bool:
    messages = ({"role": "user", "content": "Say yes."},)
    answer = await probe.send(replace(probe.ask, messages=messages), logprobs=True)
    return _answered(answer) and b'"logprobs":{' in b"".join(probe.bodies).replace(b" ", b"")


async def _system(probe: Probe) -> bool:
    return _answered(await probe.chat(("system", "Be brief."), ("user", "Say yes.")))


async def _prefill(probe: Probe) -> bool:
    """Whether a begun message is continued without its beginning being repeated."""
    answer = await probe.chat(("user", "Count from one to five."), ("assistant", "One, two,"))
    return _answered(answer) and not answer.text.lstrip().lower().startswith("one")


async def _continue_final(probe: Probe) -> bool:
    """Whether a message is continued if the request says that it has only begun. An API without
    such a field cannot say it."""
    if probe.provider.name in ("anthropic", "litellm"):
        return False
    pairs = (("user", BEGINS), ("assistant", OPENING))
    messages = tuple({"role": role, "content": text} for role, text in pairs)
    answer = await probe.send(replace(probe.ask, messages=messages, goes_on=True))
    return _answered(answer) and goes_on(OPENING, answer.text)


async def _few_shot(probe: Probe) -> bool:
    return await _asked(probe, "few_shot")


async def _instruction(probe: Probe) -> bool:
    return await _asked(probe, "instruction")


async def _asked(probe: Probe, way: str) -> bool:
    """Whether a chat that is asked to continue a sentence does so, and says nothing else."""
    messages = handed_over("", OPENING, way)
    answer = await probe.send(replace(probe.ask, messages=messages, max_tokens=3 * TOKENS))
    overlap = Overlap(OPENING, way)
    return _answered(answer) and goes_on(OPENING, overlap.feed(answer.text) + overlap.rest())


async def _usage(probe: Probe) -> bool:
    answer = await probe.chat(("user", "Say yes."))
    return any(isinstance(event, Usage) for event in answer.events)


async def _grammar(probe: Probe) -> bool:
    answer = await probe.chat(("user", "Count from one to five."), grammar=ONE)
    return answer.text.strip() == "yes"


COLOURS = ("green", "red")  # models that only guess say blue or white, and not both of these


async def _images(probe: Probe) -> bool:
    """Whether a model sees images: it names the colours of two."""
    words = f"Which colour has this image? Answer with one word. {image_reference(SHA, '')}"
    messages = ({"role": "user", "content": words},)
    for colour in COLOURS:
        images = {SHA: Picture("image/png", b64encode(square(colour)).decode())}
        asked = replace(probe.ask, messages=messages, images=images)
        answer = await probe.send(asked, as_it_is=True)
        others = [other for other in COLOURS if other != colour and other in answer.text.lower()]
        if not _answered(answer) or colour not in answer.text.lower() or others:
            return False
    return True


_STORY = ({"role": "user", "content": "Write na na na na na, then a word."},)


def _sampler(name: str) -> Callable[[Probe], Awaitable[bool]]:
    """Whether a server uses a sampler: it accepts a valid value and refuses one that is not a
    number; or it accepts both, and an extreme value visibly changes the answer."""

    async def check(probe: Probe) -> bool:
        if probe.provider.name == "anthropic" and name not in ("top_p", "top_k"):
            return False
        good = {"1": -100} if name == "logit_bias" else SAMPLERS_BY_NAME[name].probe
        asked = replace(probe.ask, messages=_STORY)
        if not _answered(await probe.send(asked, as_it_is=True, **sampler_fields({name: good}))):
            return False
        refused = (await probe.send(asked, as_it_is=True, **{name: "heddle"})).failure
        if refused is not None:
            return refused.kind == "invalid"
        return name in SAMPLERS_BY_NAME and await _changes(
            probe, name, SAMPLERS_BY_NAME[name].probe
        )

    return check


async def _changes(probe: Probe, name: str, value: float) -> bool:
    """Whether an extreme value has an effect: one that narrows the choice, or a seed, makes a hot
    answer steady; a penalty changes a cold one."""
    fields = sampler_fields({name: value})
    if name.endswith("_penalty"):
        cold = replace(probe.ask, messages=_STORY, temperature=0.0)
        text = (await probe.send(cold, **fields)).text
        return await _is_steady(probe, 0.0) and text != (await probe.send(cold)).text
    hot = replace(probe.ask, messages=_STORY, temperature=2.0)
    first, second = await probe.send(hot, **fields), await probe.send(hot, **fields)
    return first.text == second.text != "" and not await _is_steady(probe, 2.0)


async def _is_steady(probe: Probe, temperature: float) -> bool:
    """Whether plain requests get the same answer twice; tested once for each temperature."""
    if temperature not in probe.plain:
        ask = replace(probe.ask, messages=_STORY, temperature=temperature)
        first, second = await probe.send(ask), await probe.send(ask)
        probe.plain[temperature] = first.text == second.text
    return probe.plain[temperature]


def _answered(answer: ProbeAnswer) -> bool:
    return answer.failure is None and any(isinstance(event, Finished) for event in answer.events)


CHECKS: dict[str, Callable[[Probe], Awaitable[bool]]] = {
    "chat": _chat,
    "completion": _completion,
    "streaming": _streaming,
    "n": _many,
    "logprobs": _logprobs,
    "system": _system,
    "prefill": _prefill,
    "continue_final": _continue_final,
    "few_shot": _few_shot,
    "instruction": _instruction,
    "usage": _usage,
    "grammar": _grammar,
    "images": _images,
    **{name: _sampler(name) for name in PROBED},
}


# Whether an endpoint answers at all, and which models it lists.


async def first_failure(probe: Probe) -> Failure | None:
    """Why nothing can be requested at all; None if a chat or a completion is answered."""
    chat = await probe.chat(("user", "Say yes."))
    if chat.failure is None:
        return None
    return None if (await probe.completion("One, two,")).failure is None else chat.failure


def _without(key: str, failure: Failure) -> Failure:
    return replace(failure, said=masked(failure.said, key))


async def models_of(probe: Probe, *, strict: bool = False) -> dict[str, int]:
    """The models that an endpoint lists, at most `MODELS`, with their context in tokens (0: not
    reported); none if it lists none. `strict`: a refusal raises Broken."""
    headers = probe.provider.adapter().outgoing(probe.ask, {}).headers
    request = httpx.Request(
        "GET",
        f"{probe.ask.base_url.rstrip('/')}/models",
        headers=headers,
        extensions={"timeout": {"connect": 10, "read": 20, "write": 10, "pool": 10}},
    )
    with broken_by():
        response = await probe.transport.handle_async_request(request)
    try:
        body = bytearray()
        came = Exchange(response, LIMITS, Clock(LIMITS))
        if strict and response.status_code != 200:
            raise BrokenConnection(_without(probe.ask.key, await refusal(came)))
        async for chunk in came.chunks():
            body += chunk
    finally:
        await response.aclose()
    value = value_of(body.decode("utf-8", "replace")) if response.status_code == 200 else None
    rows = value.get("data") if isinstance(value, dict) else None
    named = [row for row in rows or () if isinstance(row, dict) and _is_name(row.get("id"))]
    return {whole(row["id"][:200]): _context_of(row) for row in named[:MODELS]}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value.strip() != ""


def _context_of(listed: dict[str, Any]) -> int:
    """The context of a listed model in tokens, by the names that servers use for it; 0 for none."""
    meta = listed.get("meta")
    for part in (listed, meta if isinstance(meta, dict) else {}):
        for name in CONTEXT_NAMES:
            tokens = part.get(name)
            if isinstance(tokens, int) and 0 < tokens <= MOST_CONTEXT:
                return tokens
    return 0


# Started by an owner, run by a worker.


def start_listing(uid: str) -> None:
    """Lists models on the loop, without waiting for the result."""
    asyncio.run_coroutine_threadsafe(list_models(uid), the_loop().loop)


async def list_models(uid: str) -> None:
    """Lists models, and stores them, or why the address did not answer."""
    await _models_listed(uid)
    await in_thread(kept_jobs.ended, participants.LISTING, uid)


async def _models_listed(uid: str) -> None:
    asked = await in_thread(participants.asked, uid)
    if asked is None:
        return
    source, listing = asked
    provider = provider_of(source.kind)
    ask = ProviderRequest(source.url, "", None, None, key=source.api_key, auth=source.auth)
    allow = allowed_addresses(source.url, allow_private=source.allow_private)
    probe = Probe(provider, ask, provider.transport(allow))
    models: dict[str, int] = {}
    error: dict[str, Any] | None = None
    try:
        models = await models_of(probe, strict=True)
    except BrokenConnection as broken:
        error = broken.failure.error
    except Exception:
        log.exception("a list of models broke off")
        error = Failure("server").error
    await in_thread(participants.note_models, listing, models, error)


def start_probe(uid: str) -> None:
    """Probes a participant's endpoint on the loop, without waiting for the result."""
    asyncio.run_coroutine_threadsafe(probe(uid), the_loop().loop)


async def probe(uid: str) -> None:
    """Probes a participant's endpoint, and stores what it can do, or why it did not answer."""
    models = Participant.objects.filter(uid=uid, kind="model", archived_at__isnull=True)
    participant = await in_thread(models.first)
    if participant is not None:
        await _probed(participant)
    await in_thread(kept_jobs.ended, participants.PROBE, uid)


async def _probed(participant: Participant) -> None:
    began = timezone.now()
    results: dict[str, bool] = {}
    models: dict[str, int] = {}
    try:
        probe = _probe_of(participant)
        failure = await first_failure(probe)
        for name, check in CHECKS.items() if failure is None else ():
            await in_thread(note_probe, participant, _body(began, results, checking=name))
            await in_thread(kept_jobs.goes_on, participants.PROBE, participant.uid)
            results[name] = await check(probe)
        models = await _listed(probe) if failure is None else {}
        error = failure.error if failure else None
    except BrokenConnection as broken:
        error = broken.failure.error
    except CommandError as refused:  # such as a key that cannot be read
        error = refused.body
    except Exception:  # else its page would say for ever that it is being tested
        log.exception("a probe of %s broke off", participant.uid)
        error = Failure("server", "the worker met an error").error
    _, _, model = whom(participant) if models else (None, "", "")
    context = models.get(model, 0)
    body = _body(began, results, error=error, models=models, context=context, ended=True)
    await in_thread(note_probe, participant, body)


async def _listed(probe: Probe) -> dict[str, int]:
    """The models that the endpoint lists; many small servers list none."""
    try:
        return await models_of(probe)
    except BrokenConnection:
        return {}


def _probe_of(participant: Participant) -> Probe:
    provider, base_url, model = whom(participant)
    ask = ProviderRequest(
        base_url,
        model,
        None,
        None,
        max_tokens=TOKENS,
        key=key_of(participant),
        auth=participant.auth,
    )
    allow = allowed_addresses(base_url, allow_private=participant.allow_private)
    return Probe(provider, ask, provider.transport(allow))


def _body(
    began: datetime,
    results: dict[str, bool],
    *,
    checking: str = "",
    error: dict[str, Any] | None = None,
    models: Mapping[str, int] = MappingProxyType({}),
    context: int = 0,
    ended: bool = False,
) -> dict[str, Any]:
    status = ("failed" if error else "done") if ended else "running"
    return {
        "status": status,
        "began_at": instant(began),
        "checking": checking,
        "found": dict(results),
        "error": error,
        "models": list(models),
        "context": context,
    }
