"""The closed list of error codes with their HTTP statuses, and the error that every refusal
raises."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

Code = Literal[
    "NOT_FOUND",
    "PERMISSION_DENIED",
    "INVALID_SYNTAX",
    "LIMIT_EXCEEDED",
    "CROSS_TREE",
    "CONFLICT",
    "MODEL_ERROR",
    "UNAUTHENTICATED",
    "LOOP",
    "REJECTED",
    "UNAVAILABLE",
    "INSUFFICIENT_QUANTITY",
    "INSUFFICIENT_QUALITY",
    "UNADDRESSED_COUNTEREVIDENCE",
    "NEEDS_ESCALATION",
    "DOWNGRADE",
]


@dataclass(frozen=True)
class Meaning:
    """The HTTP status of a code, and whether a retry can help."""

    status: int
    retryable: bool


CODES: dict[Code, Meaning] = {
    "NOT_FOUND": Meaning(404, False),
    "PERMISSION_DENIED": Meaning(403, False),
    "INVALID_SYNTAX": Meaning(400, True),
    "LIMIT_EXCEEDED": Meaning(429, True),
    "CROSS_TREE": Meaning(409, True),
    "CONFLICT": Meaning(409, True),
    "MODEL_ERROR": Meaning(502, False),
    "UNAUTHENTICATED": Meaning(401, False),
    "LOOP": Meaning(409, False),
    "REJECTED": Meaning(409, False),
    "UNAVAILABLE": Meaning(503, True),
    # Of claims: what a commitment lacks.
    "INSUFFICIENT_QUANTITY": Meaning(409, False),
    "INSUFFICIENT_QUALITY": Meaning(409, False),
    "UNADDRESSED_COUNTEREVIDENCE": Meaning(409, False),
    "NEEDS_ESCALATION": Meaning(409, False),
    "DOWNGRADE": Meaning(409, False),
}


TOO_LARGE = 413  # the status of a refusal that is about a size

Present = TypeVar("Present")


def require(value: Present | None, what: str) -> Present:
    """The value, which has to be there. Raises RuntimeError if it is None, which is a fault of
    ours; other than by `assert`, also under `python -O`."""
    if value is None:
        raise RuntimeError(f"{what} is missing")
    return value


class CommandError(Exception):
    """A refusal with its code, a plain sentence, and what to do about it.

    `is_size`: something sent is too large, rather than too much was asked for. `lacks`: the
    permissions that are missing, which the sentence names and pages do not. `status` overrides
    the code's own where a request is refused (405, 415); `retryable` likewise (MODEL_ERROR by its
    reason). Of a line that was run, `canonical` is what it was read as, "" if it could not be, and
    `step` the number of its step, None if none was written.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        hint: str,
        is_size: bool = False,
        lacks: Sequence[str] = (),
        status: int | None = None,
        retryable: bool | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint
        self.is_size = is_size
        self.lacks = tuple(lacks)
        self.status = status or (TOO_LARGE if is_size else CODES[code].status)
        self.retryable = CODES[code].retryable if retryable is None else retryable
        self.canonical = ""
        self.step: int | None = None

    @property
    def reply(self) -> str:
        """The `✗` text of docs/model.md §5.2."""
        head = f"✗ {self.code}: {self.message}"
        return f"{head}\n  hint: {self.hint}" if self.hint else head

    @property
    def body(self) -> dict[str, object]:
        """The error body of docs/model.md §14.3."""
        lacks = {"lacks": list(self.lacks)} if self.lacks else {}
        return {
            "ok": False,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "retryable": self.retryable,
            **lacks,
        }


# Items that may not be seen are reported in the same words as missing ones.
LOOK_AGAIN = "check how it is written; what is not shared with you is not found either"


def not_found(what: str, hint: str = LOOK_AGAIN) -> CommandError:
    """The refusal for an item that is missing or may not be seen: the same sentence for both."""
    return CommandError("NOT_FOUND", f"{what} was not found.", hint=hint)
