"""What can go wrong: each refusal of the server as an exception, by its code."""

from typing import Any


class HeddleError(Exception):
    """Any failure of a call."""


class ConnectionFailed(HeddleError):
    """No answer arrived. Whether the server has run the request is unknown, unless it had a key:
    then send it again with that key."""


class Refused(HeddleError):
    """The server refused a request. `code` is one of its error codes, `hint` says what to do,
    `status` is that of HTTP, `retry_after` in seconds where the server named it."""

    def __init__(self, status: int, body: dict[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.code = str(body.get("code", "MODEL_ERROR" if status == 502 else "UNAVAILABLE"))
        self.message = str(body.get("message", f"The server answered {status}."))
        self.hint = str(body.get("hint", ""))
        self.retryable = body.get("retryable") is True
        self.body = body
        self.retry_after = retry_after
        super().__init__(f"{self.message} {self.hint}".strip())


class NotFound(Refused):
    """It does not exist, or the caller may not see it."""


class PermissionDenied(Refused):
    """A permission or a role is missing, or the key is unknown."""


class LimitExceeded(Refused):
    """Too much at once, too large, or the day's money is used up."""


class Conflict(Refused):
    """The key was used for another line, or somebody changed the same in the meantime."""


_BY_CODE: dict[str, type[Refused]] = {
    "NOT_FOUND": NotFound,
    "PERMISSION_DENIED": PermissionDenied,
    "UNAUTHENTICATED": PermissionDenied,
    "LIMIT_EXCEEDED": LimitExceeded,
    "CONFLICT": Conflict,
}


def refusal(status: int, body: Any, retry_after: str | None) -> Refused:
    """The exception for an answer of 400 and above."""
    fields: dict[str, Any] = body if isinstance(body, dict) else {}
    try:
        seconds = float(retry_after) if retry_after else None
    except ValueError:  # a date: the usual wait will do
        seconds = None
    return _BY_CODE.get(str(fields.get("code")), Refused)(status, fields, seconds)
