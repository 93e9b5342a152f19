"""Every other provider, by LiteLLM: the only file that imports it, and only when it is used.

It stands behind the OpenAI-shaped adapter as a transport that answers in that shape, so
limits, stops and the reading of answers are the same for all. It hands on parsed pieces, so
what is kept of such a call is put together again and marked so.
"""

import asyncio
import importlib
import json
import os
from collections.abc import AsyncIterator, Sequence
from functools import cache
from typing import Any

import httpx

from agents.providers.address import checked_addresses
from agents.providers.failures import Broken, Failure
from agents.providers.openai import OpenAI
from agents.providers.transport import CheckedTransport
from loom.rules.addresses_allowed import BadUrl, read_url

NOWHERE = "https://litellm.invalid/v1"  # the base_url of a participant that has none
PATHS = ("/chat/completions", "/completions")
_TAKEN = ("model", "messages", "temperature", "max_tokens", "stop", "n", "stream_options")


class LiteLLM(OpenAI):
    """The OpenAI shape, for `litellm:provider/model`."""

    name = "litellm"
    is_exact = False


@cache
def _library() -> Any:
    """LiteLLM without its looks at the network: price list, telemetry, model hubs."""
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


def _go_out_checked(allow: Sequence[str]) -> None:
    """Has the clients that LiteLLM makes from now on ask by a checked transport alone, and
    no proxy of the environment."""
    handler: Any = importlib.import_module("litellm.llms.custom_httpx.http_handler")
    made_by = handler.AsyncHTTPHandler
    made_by.create_async_transport = staticmethod(lambda *_, **__: CheckedTransport(allow))
    made_by._create_async_transport = made_by.create_async_transport
    made_by.create_httpx_proxy_mounts = staticmethod(lambda *_, **__: {})


class LiteLLMTransport(httpx.AsyncBaseTransport):
    """Answers an OpenAI-shaped chat request by asking LiteLLM. Belongs to one event loop.

    Whatever LiteLLM asks goes out by a `CheckedTransport`, where each address is checked once
    more, that of a redirect too.
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
        litellm = await asyncio.to_thread(_library)
        _go_out_checked(self._allow)
        try:
            answer = await litellm.acompletion(
                **{name: asked[name] for name in _TAKEN if name in asked},
                stream=True,
                num_retries=0,
                api_key=key or None,
                api_base=base,
            )
        except Exception as error:
            return _refused(error)
        return httpx.Response(200, headers={"transfer-encoding": "chunked"}, stream=_Stream(answer))

    async def _base(self, url: str) -> str | None:
        """The participant's own base_url, checked; None where it has none."""
        base = next((url.removesuffix(one) for one in PATHS if url.endswith(one)), url)
        if base == NOWHERE:
            return None
        try:
            target = read_url(base)
        except BadUrl as bad:
            raise Broken(Failure("refused", str(bad))) from None
        await checked_addresses(target, self._allow)
        return base


class _Stream(httpx.AsyncByteStream):
    """LiteLLM's pieces as server-sent events."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._answer:
                yield _event(piece.model_dump_json(exclude_none=True))
        except Exception as error:
            yield _event(json.dumps(_body(error)))
            return
        yield _event("[DONE]")

    async def aclose(self) -> None:
        """Hangs up where the answer has not ended."""
        close = getattr(getattr(self._answer, "completion_stream", None), "aclose", None)
        if close is not None:
            await close()


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
    said = str(getattr(error, "message", "") or error)
    return {"error": {"message": said, "type": type(error).__name__, "code": status}}
