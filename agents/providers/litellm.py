"""LiteLLM, imported only in this module, and only when it is used.

It is a transport behind the OpenAI adapter and answers in that shape, so limits, stops and the
parsing of answers are the same for all. It returns parsed pieces, so the stored answer of such a
call is assembled from them and marked as reassembled.
"""

import asyncio
import importlib
import json
import os
from collections.abc import AsyncIterator, Sequence
from functools import cache
from typing import Any

import httpx

from agents.providers.transport import CheckedTransport, checked_addresses
from agents.providers.values import BrokenConnection, Failure, without_traceback
from loom.participants.addresses import BadUrl, read_url
from loom.participants.provider_kinds import LITELLM_BY_SDK, why_not_litellm

NOWHERE = "https://litellm.invalid/v1"  # the base_url of a participant that has none
PATHS = ("/chat/completions", "/completions")
_SAMPLERS = ("top_p", "frequency_penalty", "presence_penalty", "seed", "logit_bias")
_TAKEN = (
    "model",
    "messages",
    "temperature",
    "max_tokens",
    "stop",
    "n",
    "stream_options",
    "tools",
    *_SAMPLERS,
)


@cache
def _library() -> Any:
    """LiteLLM with its network access switched off: price list, telemetry, model hubs."""
    os.environ |= {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "HF_HUB_OFFLINE": "1",
        "LITELLM_LOG": "ERROR",
    }
    litellm: Any = importlib.import_module("litellm")
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.drop_params = True
    return litellm


def _client(model: str, key: str, base: str | None, allow: Sequence[str]) -> Any:
    """The client that LiteLLM has to use: it sends through a checked transport, follows no
    redirects and ignores proxies in the environment."""
    checked = CheckedTransport(allow)
    if model.partition("/")[0] in LITELLM_BY_SDK:
        sdk: Any = importlib.import_module("openai")
        address = base or _library().get_llm_provider(model=model, api_key=key)[3]
        base = address or "https://api.openai.com/v1"
        http = httpx.AsyncClient(transport=checked, follow_redirects=False, trust_env=False)
        return sdk.AsyncOpenAI(api_key=key, base_url=base, http_client=http, max_retries=0)
    handlers: Any = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    return handlers.AsyncHTTPHandler(transport=checked, follow_redirects=False)


class LiteLLMTransport(httpx.AsyncBaseTransport):
    """Answers an OpenAI-shaped chat request with LiteLLM. Belongs to one event loop.

    Only providers in `loom/participants/prices.py` are called, with the participant's own key and
    Heddle's client, whose `CheckedTransport` checks each address. Raises Broken for all others.
    """

    def __init__(self, allow: Sequence[str]) -> None:
        self._allow = tuple(allow)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The streamed answer, or an error body with its status."""
        asked: dict[str, Any] = json.loads(await request.aread())
        base = await self._base(str(request.url))
        if "prompt" in asked:
            asked["messages"] = [{"role": "user", "content": asked["prompt"]}]
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        model = str(asked["model"])
        if why := why_not_litellm(model, has_key=bool(key)):
            raise BrokenConnection(Failure("refused", why))
        litellm = await asyncio.to_thread(_library)
        _demand_chat(litellm, model)
        client = _client(model, key, base, self._allow)
        try:
            answer = await litellm.acompletion(
                **{name: asked[name] for name in _TAKEN if name in asked},
                stream=True,
                num_retries=0,
                api_key=key,
                api_base=base,
                client=client,
            )
        except Exception as error:
            await _close(client)
            return _refused(error)
        stream = _Stream(answer, client)
        return httpx.Response(200, headers={"transfer-encoding": "chunked"}, stream=stream)

    async def _base(self, url: str) -> str | None:
        """The participant's own base_url, checked; None if it has none."""
        base = next((url.removesuffix(path) for path in PATHS if url.endswith(path)), url)
        if base == NOWHERE:
            return None
        try:
            target = read_url(base)
        except BadUrl as bad:
            raise BrokenConnection(Failure("refused", str(bad))) from None
        await checked_addresses(target, self._allow)
        return base


def _demand_chat(litellm: Any, model: str) -> None:
    """Refuses models that LiteLLM does not call as a chat, because it makes its own clients for
    those."""
    provider, _, bare = model.partition("/")
    try:
        mode = litellm.get_model_info(model=bare, custom_llm_provider=provider).get("mode")
    except Exception:  # LiteLLM raises a bare Exception for a model that is not in its list
        return
    if mode not in (None, "chat"):
        raise BrokenConnection(
            Failure("refused", f"{bare} is not a chat model (LiteLLM lists it as {mode}).")
        )


async def _close(client: Any) -> None:
    close = getattr(client, "aclose", None) or client.close
    await close()


class _Stream(httpx.AsyncByteStream):
    """LiteLLM's pieces as server-sent events."""

    def __init__(self, answer: Any, client: Any) -> None:
        self._answer = answer
        self._client = client

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._answer:
                yield _event(piece.model_dump_json(exclude_none=True))
        except Exception as error:
            yield _event(json.dumps(_body(error)))
            return
        yield _event("[DONE]")

    async def aclose(self) -> None:
        """Closes the connection if the answer has not ended."""
        close = getattr(getattr(self._answer, "completion_stream", None), "aclose", None)
        if close is not None:
            await close()
        await _close(self._client)


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode("utf-8", "replace")


def _refused(error: Exception) -> httpx.Response:
    status = getattr(error, "status_code", None)
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    after = headers.get("retry-after")
    return httpx.Response(
        status if isinstance(status, int) and status >= 400 else 502,
        headers={"retry-after": after} if after else {},
        stream=httpx.ByteStream(json.dumps(_body(error)).encode()),
    )


def _body(error: Exception) -> dict[str, Any]:
    status = getattr(error, "status_code", "")
    message = without_traceback(str(getattr(error, "message", "") or error))
    return {"error": {"message": message, "type": type(error).__name__, "code": status}}
