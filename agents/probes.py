"""Probing a participant's endpoint: begun by an owner, run by a worker, remembered with it."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from agents.loop import in_thread, the_loop
from agents.providers.failures import Broken
from agents.providers.probing import CHECKS, TOKENS, Probe, first_failure, models_of
from agents.providers.telling import Ask
from agents.reading import whom
from loom.commands.participants import note_probe
from loom.commands.sealing import key_of
from loom.models import Participant
from loom.rules.hashes import instant


def start(uid: str) -> None:
    """Probes a participant's endpoint on the loop, without waiting for it."""
    one = Participant.objects.filter(uid=uid, kind="model", archived_at__isnull=True).first()
    if one is not None:
        asyncio.run_coroutine_threadsafe(_probed(one), the_loop().loop)


def run(uid: str) -> None:
    """The same, waited for."""
    one = Participant.objects.filter(uid=uid, kind="model", archived_at__isnull=True).first()
    if one is not None:
        the_loop().run(_probed(one))


async def _probed(one: Participant) -> None:
    began = timezone.now()
    found: dict[str, bool] = {}
    models: list[str] = []
    try:
        probe = _probe_of(one)
        failure = await first_failure(probe)
        for name, check in CHECKS.items() if failure is None else ():
            await in_thread(note_probe, one, _body(began, found, checking=name))
            found[name] = await check(probe)
        models = await _listed(probe) if failure is None else []
        error = failure.error if failure else None
    except Broken as broken:
        error = broken.failure.error
    await in_thread(note_probe, one, _body(began, found, error=error, models=models, ended=True))


async def _listed(probe: Probe) -> list[str]:
    """What the endpoint lists; many small servers list nothing."""
    try:
        return await models_of(probe)
    except Broken:
        return []


def _probe_of(one: Participant) -> Probe:
    provider, base_url, model = whom(one)
    ask = Ask(base_url, model, None, None, max_tokens=TOKENS, key=key_of(one))
    return Probe(provider, ask, provider.transport(settings.PROVIDER_ALLOW))


def _body(
    began: datetime,
    found: dict[str, bool],
    *,
    checking: str = "",
    error: dict[str, Any] | None = None,
    models: Sequence[str] = (),
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
    }
