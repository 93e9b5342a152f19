"""The OpenAI-shaped API: chat and completions, streamed or whole, as many servers speak it."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

from agents.providers.exchange import Exchange, Outgoing
from agents.providers.failures import Broken, Failure, of_status, of_words
from agents.providers.telling import Ask, Body, Delta, Finished, Told, Usage
from agents.providers.text import Cleaner, Events, TooLong

DONE = "[DONE]"
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
# Reasons that mean the answer was cut off rather than ended.
_FILTERS = ("content_filter", "safety", "moderation")


class OpenAI:
    """`/chat/completions` for messages, `/completions` for a prompt."""

    name = "openai"

    def body(self, ask: Ask) -> Body:
        """The JSON of the request; what is not set is left out."""
        text = {"prompt": ask.prompt} if ask.messages is None else {"messages": [*ask.messages]}
        body: Body = {"model": ask.model, **text, "stream": True}
        body["stream_options"] = {"include_usage": True}
        if ask.temperature is not None:
            body["temperature"] = ask.temperature
        if ask.max_tokens is not None:
            body["max_tokens"] = ask.max_tokens
        if ask.stop:
            body["stop"] = list(ask.stop)
        if ask.many > 1:
            body["n"] = ask.many
        if ask.grammar:
            body["grammar"] = ask.grammar
        return body

    def outgoing(self, ask: Ask, body: Body) -> Outgoing:
        """The request with its key."""
        path = "completions" if ask.messages is None else "chat/completions"
        headers = {
            "content-type": "application/json",
            "accept": "text/event-stream, application/json",
            "accept-encoding": "identity",
            "user-agent": "heddle",
        }
        if ask.key:
            headers["authorization"] = f"Bearer {ask.key}"
        # Characters of other scripts go as they are: fewer bytes, and legible in the record.
        sent = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return Outgoing(f"{ask.base_url.rstrip('/')}/{path}", headers, sent.encode())

    async def told(self, exchange: Exchange) -> AsyncGenerator[Told, None]:
        """Text, ends and usage as they come; a failure comes last. May raise Broken."""
        if exchange.status != 200:
            yield await _refusal(exchange)
            return
        teller = _Teller()
        async for data in _events(exchange):
            if data == DONE:
                teller.is_done = True
                continue
            for told in teller.read(data):
                yield told
                if isinstance(told, Failure):
                    return
        for told in teller.end(is_framed=exchange.is_framed):
            yield told

    def adjusted(self, body: Body, failure: Failure) -> Body | None:
        """Without `stream_options`, which older servers refuse, or a grammar that was not
        taken, or with the newer name of `max_tokens`, which some models demand; None where
        none of them is the reason."""
        if failure.kind != "invalid":
            return None
        if "grammar" in failure.said and "grammar" in body:
            return {key: value for key, value in body.items() if key != "grammar"}
        if "stream_options" in failure.said and "stream_options" in body:
            return {key: value for key, value in body.items() if key != "stream_options"}
        if "max_completion_tokens" in failure.said and "max_tokens" in body:
            rest = {key: value for key, value in body.items() if key != "max_tokens"}
            return {**rest, "max_completion_tokens": body["max_tokens"]}
        return None


async def _events(exchange: Exchange) -> AsyncIterator[str]:
    """The data of each event; of an answer that is no stream, its whole JSON."""
    events = Events()
    whole = bytearray()
    is_json: bool | None = None
    try:
        async for chunk in exchange.chunks():
            if is_json is None and (whole + chunk).strip():
                is_json = bytes(whole + chunk).lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in b"{["
            if is_json is False:
                for data in events.feed(bytes(whole) + chunk):
                    yield data
                whole.clear()
            else:
                whole += chunk
        for data in events.rest():
            yield data
    except TooLong:
        raise Broken(Failure("invalid", "one event of the answer never ended")) from None
    if is_json:
        yield whole.decode("utf-8-sig", "replace")
        yield DONE


async def _refusal(exchange: Exchange) -> Failure:
    """The failure of an answer that is not 200."""
    async for _ in exchange.chunks():
        pass
    headers = exchange.headers
    if 300 <= exchange.status < 400:
        where = headers.get("location", "")[:200]
        return Failure("invalid", f"it redirects to {where}, and redirects are not followed")
    said, code = _error_of(_json(exchange.body.decode("utf-8", "replace")))
    said = said or f"HTTP {exchange.status}"
    return of_status(exchange.status, said, code=code, retry_after=headers.get("retry-after", ""))


def _json(text: str) -> Any:
    """The value, or None where it is no JSON, or JSON nested beyond reason."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _error_of(value: Any) -> tuple[str, str]:
    """(sentence, code) of an error body in any of the usual shapes."""
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, str):
        return error, ""
    if not isinstance(error, dict):
        return "", ""
    said = error.get("message") or error.get("detail") or ""
    codes = [error.get(name) for name in ("code", "type", "status")]
    text = said if isinstance(said, str) else json.dumps(said)[:500]
    return text, " ".join(str(code) for code in codes if code)


class _Teller:
    """Reads the events of one answer; knows which candidates have ended."""

    def __init__(self) -> None:
        self.is_done = False
        self._cleaners: dict[int, Cleaner] = {}
        self._ended: set[int] = set()

    def read(self, data: str) -> Iterator[Told]:
        """What one event tells."""
        value = _json(data)
        if not isinstance(value, dict):
            yield Failure("server", "an event of the answer is no JSON object")
            return
        if value.get("error"):
            yield of_words(*_error_of(value))
            return
        listed = value.get("choices")
        some = listed if isinstance(listed, list) else []
        choices = [one for one in some if isinstance(one, dict)]
        usage = _usage(value.get("usage"))
        if usage:
            yield Usage(usage, _index(choices[0]) if len(choices) == 1 else None)
        for choice in choices:
            yield from self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> Iterator[Told]:
        index = _index(choice)
        cleaner = self._cleaners.setdefault(index, Cleaner())
        text = cleaner.clean(_text(choice))
        reason = choice.get("finish_reason")
        if reason:
            text += cleaner.rest()
        if text:
            yield Delta(text, index)
        if reason and index not in self._ended:
            self._ended.add(index)
            if str(reason).lower() in _FILTERS:
                yield Failure("filtered")
            else:
                yield Finished(index, str(reason))

    def end(self, *, is_framed: bool) -> Iterator[Told]:
        """What the end of the answer tells of candidates that did not say they ended."""
        for index, cleaner in self._cleaners.items():
            rest = cleaner.rest()
            if rest:
                yield Delta(rest, index)
        open_ones = sorted(set(self._cleaners) - self._ended)
        if not self._cleaners and not self.is_done:
            yield Failure("server", "the answer was empty")
        elif open_ones and not self.is_done and not is_framed:
            # Only the connection ended: nothing says whether the answer did.
            yield Failure("network", "the connection ended before the answer did")
        else:
            yield from (Finished(index) for index in open_ones)


def _index(choice: dict[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _text(choice: dict[str, Any]) -> str:
    """The text of a choice: of a chat's delta or message, or of a completion."""
    inner = choice.get("delta") or choice.get("message")
    content = inner.get("content") if isinstance(inner, dict) else choice.get("text")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    return {name: value[name] for name in _COUNTS if isinstance(value.get(name), int)}
