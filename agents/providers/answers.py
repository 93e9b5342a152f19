"""What the shapes of APIs have in common: events of an answer, and refusals with a status."""

import json
from collections.abc import AsyncIterator
from typing import Any

from agents.providers.exchange import Exchange
from agents.providers.failures import Broken, Failure, of_status
from agents.providers.text import Events, TooLong, whole

DONE = "[DONE]"
_BLANK = b"\xef\xbb\xbf \t\r\n"


async def events_of(exchange: Exchange) -> AsyncIterator[str]:
    """The data of each event; of an answer that is no stream, its whole JSON."""
    events = Events()
    body = bytearray()
    is_json: bool | None = None
    try:
        async for chunk in exchange.chunks():
            if is_json is None and (begun := chunk.lstrip(_BLANK)):
                is_json = begun[:1] in b"{["
            body += chunk
            if is_json is False:
                for data in events.feed(bytes(body)):
                    yield data
                body.clear()
        for data in events.rest():
            yield data
    except TooLong:
        raise Broken(Failure("invalid", "one event of the answer never ended")) from None
    if is_json:
        yield body.decode("utf-8-sig", "replace")
        yield DONE


async def refusal(exchange: Exchange) -> Failure:
    """The failure of an answer that is not 200."""
    async for _ in exchange.chunks():
        pass
    headers = exchange.headers
    if 300 <= exchange.status < 400:
        where = headers.get("location", "")[:200]
        return Failure("invalid", f"it redirects to {where}, and redirects are not followed")
    said, code = error_of(value_of(exchange.body.decode("utf-8", "replace")))
    said = said or f"HTTP {exchange.status}"
    return of_status(exchange.status, said, code=code, retry_after=headers.get("retry-after", ""))


def value_of(text: str) -> Any:
    """The value, or None where it is no JSON, or JSON nested beyond reason."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def error_of(value: Any) -> tuple[str, str]:
    """(sentence, code) of an error body in any of the usual shapes, as they may be kept."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, str):
        return whole(error), ""
    if not isinstance(error, dict):
        return "", ""
    said = error.get("message") or error.get("detail") or ""
    codes = [error.get(name) for name in ("code", "type", "status")]
    text = said if isinstance(said, str) else json.dumps(said)[:500]
    return whole(text), whole(" ".join(str(code) for code in codes if code))
