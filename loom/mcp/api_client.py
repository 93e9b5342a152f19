"""Requests of a tool to this installation's own API, in the process, as the caller."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import httpx

Tell = Callable[[float, float, str], Awaitable[None]]
WAIT_S = 60.0  # seconds that a line may wait for what it started, such as candidates


class Refused(Exception):
    """The API's refusal: `{code, message, hint, …}`."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__(body.get("message", ""))
        self.body = body


@dataclass(frozen=True)
class McpCaller:
    """Who calls: the application that serves the API, its address as the client wrote it, the
    client's own address, the value of its Authorization header, the name of the account that this
    names ("" until the API was asked), and the handle of the `session` for calls that name none.
    `tell(done, of, message)` says how far a call has come, if its client asked for that."""

    application: Any
    base_url: str
    client: tuple[str, int]
    authorization: str
    user: str = ""
    session: str = ""
    tell: Tell | None = None

    async def get(self, path: str, **query: str) -> Any:
        """The JSON of an API address. Raises Refused."""
        return await self._sent("GET", path, params=query)

    async def post(self, path: str, body: dict[str, Any]) -> Any:
        """The JSON of the answer to a POST. Raises Refused."""
        return await self._sent("POST", path, json=body)

    async def _sent(self, method: str, path: str, **more: Any) -> Any:
        transport = httpx.ASGITransport(
            app=self.application, raise_app_exceptions=False, client=self.client
        )
        headers = {"Accept": "application/json"}
        if self.authorization:
            headers["Authorization"] = self.authorization
        async with httpx.AsyncClient(transport=transport, base_url=self.base_url) as client:
            answer = await client.request(method, f"/api/{path}", headers=headers, **more)
        try:
            body = answer.json()
        except ValueError:
            body = {"code": "UNAVAILABLE", "message": f"The server answered {answer.status_code}."}
        if not answer.is_success:
            raise Refused({**body, "status": answer.status_code})
        return body
