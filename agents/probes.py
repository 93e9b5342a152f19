"""Asking an address which models it has, what a participant's endpoint can do, and a service that
searches the web."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

from django.utils import timezone

from agents.orders import whom
from agents.providers.attempt import Ask
from agents.providers.failures import RETRYABLE, Broken, Failure
from agents.providers.probing import CHECKS, TOKENS, Probe, first_failure, models_of
from agents.providers.registry import provider_of
from agents.providers.transport import CheckedTransport, in_thread, the_loop
from agents.providers.web_search import Question, Where, found_by
from loom.commands import participants, web_search
from loom.commands.money import allowed_addresses, key_of
from loom.commands.participants import note_probe
from loom.models import Participant, SearchService, WebSearch
from loom.rules.errors import CommandError
from loom.rules.identity import instant
from loom.rules.providers import search_service


def start_listing(uid: str) -> None:
    """Asks on the loop, without waiting for it."""
    asyncio.run_coroutine_threadsafe(_models_listed(uid), the_loop().loop)


def run_listing(uid: str) -> None:
    """The same, waited for."""
    the_loop().run(_models_listed(uid))


async def _models_listed(uid: str) -> None:
    found = await in_thread(participants.asked, uid)
    if found is None:
        return
    source, listing = found
    provider = provider_of(source.kind)
    ask = Ask(source.url, "", None, None, key=source.api_key, auth=source.auth)
    allow = allowed_addresses(source.url, allow_private=source.allow_private)
    probe = Probe(provider, ask, provider.transport(allow))
    models: dict[str, int] = {}
    error: dict[str, Any] | None = None
    try:
        models = await models_of(probe, strict=True)
    except Broken as broken:
        error = broken.failure.error
    except Exception:
        await in_thread(participants.note_models, listing, {}, Failure("server").error)
        raise
    await in_thread(participants.note_models, listing, models, error)


# Probing a participant's endpoint: begun by an owner, run by a worker, remembered with it.


def start_probe(uid: str) -> None:
    """Probes a participant's endpoint on the loop, without waiting for it."""
    one = Participant.objects.filter(uid=uid, kind="model", archived_at__isnull=True).first()
    if one is not None:
        asyncio.run_coroutine_threadsafe(_probed(one), the_loop().loop)


def run_probe(uid: str) -> None:
    """The same, waited for."""
    one = Participant.objects.filter(uid=uid, kind="model", archived_at__isnull=True).first()
    if one is not None:
        the_loop().run(_probed(one))


async def _probed(one: Participant) -> None:
    began = timezone.now()
    found: dict[str, bool] = {}
    models: dict[str, int] = {}
    try:
        probe = _probe_of(one)
        failure = await first_failure(probe)
        for name, check in CHECKS.items() if failure is None else ():
            await in_thread(note_probe, one, _body(began, found, checking=name))
            found[name] = await check(probe)
        models = await _listed(probe) if failure is None else {}
        error = failure.error if failure else None
    except Broken as broken:
        error = broken.failure.error
    _, _, model = whom(one) if models else (None, "", "")
    context = models.get(model, 0)
    body = _body(began, found, error=error, models=models, context=context, ended=True)
    await in_thread(note_probe, one, body)


async def _listed(probe: Probe) -> dict[str, int]:
    """What the endpoint lists; many small servers list nothing."""
    try:
        return await models_of(probe)
    except Broken:
        return {}


def _probe_of(one: Participant) -> Probe:
    provider, base_url, model = whom(one)
    ask = Ask(base_url, model, None, None, max_tokens=TOKENS, key=key_of(one), auth=one.auth)
    allow = allowed_addresses(base_url, allow_private=one.allow_private)
    return Probe(provider, ask, provider.transport(allow))


def _body(
    began: datetime,
    found: dict[str, bool],
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
        "found": dict(found),
        "error": error,
        "models": list(models),
        "context": context,
    }


# Searching the web: asked for by a line, and answered at its step.


_SAID = {
    "auth": ("The search service refused the key", "an owner has to enter a valid key"),
    "rate": ("The search service is rate limiting requests", "search again in a moment"),
    "credit": (
        "The search service's quota is used up",
        "an owner can raise it there; find searches this tree",
    ),
    "timeout": ("The search service timed out", "search again"),
    "invalid": ("The search service refused the query", "search in other words"),
    "not_found": ("There is no search service at its address", "an owner has to correct it"),
}
_UNAVAILABLE = ("The search service could not be reached", "search again")
_CODES = {"rate": "LIMIT_EXCEEDED", "credit": "LIMIT_EXCEEDED", "invalid": "INVALID_SYNTAX"}


def start_search(uid: str) -> None:
    """Searches on the loop, without waiting for it."""
    asyncio.run_coroutine_threadsafe(_searched(uid), the_loop().loop)


def run_search(uid: str) -> None:
    """The same, waited for."""
    the_loop().run(_searched(uid))


async def _searched(uid: str) -> None:
    begun = await in_thread(web_search.begun, uid)
    if begun is None:
        return
    text, error = "", None
    try:
        text = await _found(*begun)
    except Broken as broken:
        error = _error(broken.failure)
    except CommandError as refused:  # its key cannot be read
        error = {**refused.body}
    except Exception:
        await in_thread(web_search.ended, uid, error=_error(Failure("server")))
        raise
    await in_thread(web_search.ended, uid, text=text, error=error)


async def _found(row: WebSearch, service: SearchService) -> str:
    url, key, allow = await in_thread(web_search.way_of, service)
    asks = row.asks
    question = Question(
        asks["query"],
        asks["depth"],
        asks["topic"],
        asks["max"],
        tuple(asks["include"]),
        tuple(asks["exclude"]),
    )
    transport = CheckedTransport(allow)
    try:
        hits = await found_by(Where(service.kind, url, key), question, transport)
    finally:
        await transport.aclose()
    kind = search_service(service.kind)
    shown = [(one.title, one.url, one.excerpt) for one in hits]
    return web_search.numbered(row, shown, kind.title if kind else service.kind)


def _error(failure: Failure) -> dict[str, Any]:
    """Why a search failed, as a refusal of its line."""
    if failure.kind == "refused":
        return failure.error
    message, hint = _SAID.get(failure.kind, _UNAVAILABLE)
    return {
        "code": _CODES.get(failure.kind, "UNAVAILABLE"),
        "message": f"{message}: {failure.said}" if failure.said else f"{message}.",
        "hint": hint,
        "retryable": failure.kind in RETRYABLE,
    }
