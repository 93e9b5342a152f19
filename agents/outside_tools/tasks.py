"""The worker's side: servers are asked for their tools, and tools are called."""

import asyncio
import logging
from importlib import import_module

from celery import shared_task

from agents.outside_tools import arguments, calls, commands
from agents.outside_tools.addresses import ServerAddress, ToolFailure
from agents.outside_tools.calls import CallEnd
from agents.outside_tools.models import ToolCall, ToolServer
from agents.providers.transport import in_thread, the_loop
from agents.providers.web_search import without_key
from loom.engine import kept_jobs
from loom.errors import CommandError
from loom.participants.provider_keys import allowed_addresses, open_sealed

log = logging.getLogger("heddle.outside_tools")
# Loads the SDK for half a second: once a server is asked, and not in the loop of all streams.
CONNECTION = "agents.outside_tools.connection"
POLL_S = 0.5  # seconds between two looks at whether the turn still goes on


# -- the tools of a server


@shared_task(name=commands.LISTING)
@kept_jobs.kept
def list_tools(uid: str) -> object:
    """Asks a server for its tools, without waiting for the answer."""
    import_module(CONNECTION)
    asyncio.run_coroutine_threadsafe(ask_for_tools(uid), the_loop().loop)
    return kept_jobs.LATER


async def ask_for_tools(uid: str) -> None:
    """Asks a server for its tools, and stores them, or why it did not answer."""
    await _ask_for_tools(uid)
    await in_thread(kept_jobs.ended, commands.LISTING, uid)


async def _ask_for_tools(uid: str) -> None:
    from agents.outside_tools import connection

    server = await in_thread(ToolServer.objects.select_related("grove").filter(uid=uid).first)
    if server is None:
        return
    try:
        address = await in_thread(_address_of, server)
        tools = await connection.listed(address)
    except CommandError as refused:  # its key cannot be read
        await in_thread(commands.note_failure, server, f"{refused.message} {refused.hint}")
    except ToolFailure as failed:
        end = calls.failure(address, ToolFailure(failed.kind, failed.said))
        reason = end.text.removesuffix(" Nothing was done.")
        await in_thread(commands.note_failure, server, without_key(reason, address.key))
    else:
        described = [(tool.name, tool.description or "", tool.input_schema) for tool in tools]
        try:
            await in_thread(commands.store_tools, server, described)
        except Exception:
            log.exception("the tools of a server could not be stored")
            await in_thread(commands.note_failure, server, "Its tools could not be stored.")


def _address_of(server: ToolServer) -> ServerAddress:
    key = open_sealed(server.sealed_key, server.url) if server.sealed_key else ""
    allow = allowed_addresses(server.url, allow_private=server.allow_private)
    return ServerAddress(server.url, key, allow)


# -- the calls of lines


@shared_task(name=calls.TASK)
def call_tool(uid: str) -> None:
    """Calls the tool of a line, without waiting for the result."""
    import_module(CONNECTION)
    asyncio.run_coroutine_threadsafe(make_call(uid), the_loop().loop)


async def make_call(uid: str) -> None:
    """Calls the tool of a line, and stores what came of it."""
    begun = await in_thread(calls.begun, uid)
    if begun is None:
        return
    row, address = begun
    end = calls.unknown("This went wrong.")
    try:
        end = await _outcome(row, address)
    except Exception:
        log.exception("a call of an outside tool went wrong")
    finally:
        await in_thread(calls.ended, uid, end)


async def _outcome(row: ToolCall, address: ServerAddress) -> CallEnd:
    """Calls the tool while the turn goes on."""
    from agents.outside_tools import connection

    given = arguments.object_of(row.arguments)
    name = row.name.partition(".")[2]
    work = asyncio.ensure_future(connection.called(address, name, given))
    while not work.done():
        await asyncio.wait({work}, timeout=POLL_S)
        if not work.done() and not await in_thread(calls.goes_on, row.uid):
            work.cancel()
            await asyncio.wait({work})
            return calls.unknown("The turn was stopped.")
    try:
        answer = work.result()
    except ToolFailure as failed:
        return calls.failure(address, failed)
    parts = connection.texts_of(answer)
    return await in_thread(calls.result, row, address, parts, is_error=bool(answer.is_error))
