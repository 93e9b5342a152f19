"""Asking an address which models it has, for somebody who adds one."""

import asyncio
from typing import Any

from django.conf import settings

from agents.loop import in_thread, the_loop
from agents.providers.failures import Broken, Failure
from agents.providers.probing import Probe, models_of
from agents.providers.registry import provider_of
from agents.providers.telling import Ask
from loom.commands import catalogues


def start(uid: str) -> None:
    """Asks on the loop, without waiting for it."""
    asyncio.run_coroutine_threadsafe(_listed(uid), the_loop().loop)


def run(uid: str) -> None:
    """The same, waited for."""
    the_loop().run(_listed(uid))


async def _listed(uid: str) -> None:
    found = await in_thread(catalogues.asked, uid)
    if found is None:
        return
    source, listing = found
    provider = provider_of(source.kind)
    ask = Ask(source.url, "", None, None, key=source.api_key)
    probe = Probe(provider, ask, provider.transport(settings.PROVIDER_ALLOW))
    models: list[str] = []
    error: dict[str, Any] | None = None
    try:
        models = await models_of(probe, strict=True)
    except Broken as broken:
        error = broken.failure.error
    except Exception:
        await in_thread(catalogues.note_models, listing, [], Failure("server").error)
        raise
    await in_thread(catalogues.note_models, listing, models, error)
