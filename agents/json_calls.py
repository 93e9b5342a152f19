"""Requests of JSON that other features send to endpoints of providers, over checked addresses."""

from typing import Any

from loom.participants.endpoint_calls import EndpointFailed, EndpointRequest, sends_requests

CONNECT_S = 8


@sends_requests
def sent(request: EndpointRequest) -> Any:
    """The value of the answer; waits for it. EndpointFailed with a sentence without the key."""
    # Loaded with the first request: most web processes never send one.
    from agents.providers.attempt import masked, refusal, value_of
    from agents.providers.transport import (
        CheckedTransport,
        Limits,
        Outgoing,
        exchange,
        the_loop,
    )
    from agents.providers.values import BrokenConnection

    total_s = request.total_s
    limits = Limits(CONNECT_S, total_s, total_s, total_s, request.most_bytes)
    headers = {"authorization": f"Bearer {request.key}"} if request.key else {}
    outgoing = Outgoing.of_json(request.url, headers, request.body)

    async def asked() -> Any:
        transport = CheckedTransport(request.allow)
        try:
            async with exchange(transport, outgoing, limits) as came:
                if came.status != 200:
                    raise BrokenConnection(await refusal(came))
                text = bytearray()
                async for chunk in came.chunks():
                    text += chunk
                return value_of(text.decode("utf-8", "replace"))
        finally:
            await transport.aclose()

    try:
        return the_loop().run(asked())
    except BrokenConnection as broken:
        message = str(broken.failure.error["message"])
        raise EndpointFailed(masked(message, request.key)) from None
