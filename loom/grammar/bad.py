"""Why a text could not be read. The rooms above turn it into their own refusal."""

from typing import Literal

Code = Literal["INVALID_SYNTAX", "LIMIT_EXCEEDED", "NOT_FOUND", "REJECTED"]

SHOWN = 40


class Bad(Exception):
    """A text that is not run: code, one plain sentence, what to do, and likely verbs."""

    def __init__(
        self,
        code: Code,
        message: str,
        hint: str,
        candidates: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.hint = hint
        self.candidates = candidates


def unread(message: str, hint: str) -> Bad:
    """The INVALID_SYNTAX that most refusals of this room are."""
    return Bad("INVALID_SYNTAX", message, hint)


def short(text: str) -> str:
    """`text` cut so that it can be repeated in a sentence, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
