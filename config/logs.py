"""How log lines are written: without the secrets of links and keys, and as JSON (`HEDDLE_LOG=json`)
without anything that could be a text."""

import logging
import re
import time
import traceback
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from loom.platform import request_log

# Anyone with such an address or key can sign in, so none may be in a log: sign-in links,
# invitations, public links, and our own API keys.
_SECRET = re.compile(r"(/(?:signin|invitations|public)/)[^\s/?#\"']+|\bhd_[A-Za-z0-9_-]{16,}")
FRAMES = 40  # of a traceback, the last ones
OURS = ("heddle", "heddle.")


def masked(text: str) -> str:
    """The text with "…" in place of each secret."""
    return _SECRET.sub(lambda match: f"{match[1] or ''}…", text)


class MaskingFormatter(logging.Formatter):
    """Masks the whole line, a traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        """The line as it is written."""
        return masked(super().format(record))


class TextlessFormatter(JsonFormatter):
    """Writes a line of JSON: time, level, logger, message, the request and who sent it, and of an
    error its types and where it was raised. What an exception says is left out, as a database
    names the values that it refuses; so is what packages put into their messages."""

    converter = staticmethod(time.gmtime)

    def __init__(self, **options: Any) -> None:
        super().__init__(json_ensure_ascii=False, **options)

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """Sets the fields of a line; others that a record has, such as Django's request, are not
        in it."""
        log_data["time"] = self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{record.msecs:03.0f}Z"
        log_data["level"] = record.levelname.lower()
        log_data["logger"] = record.name
        log_data["message"] = masked(_message(record))
        log_data |= getattr(record, "fields", {})
        request = request_log.current.get()
        if request is not None:
            log_data["request"] = request.uid
            log_data["who"] = request.who or None
        if record.exc_info and record.exc_info[1] is not None:
            log_data["error"], log_data["frames"] = _error(record.exc_info[1])

    def formatException(self, ei: Any) -> str:
        """Nothing: `add_fields` says what may be said."""
        return ""


def _message(record: logging.LogRecord) -> str:
    """What a line says: of our own, with what it says of an error left out; of a package, its first
    line with the places of what it inserts."""
    text = str(record.msg)
    if record.name.startswith(OURS):
        args = record.args
        if isinstance(args, tuple):
            args = tuple(_typed(argument) for argument in args)
        return text % args if args else text
    if record.name == "django.request" and isinstance(record.args, tuple) and record.args:
        return str(record.args[0])  # such as "Not Found"; the route is in the line of the request
    return text.strip().partition("\n")[0]


def _typed(given: object) -> object:
    return type(given).__name__ if isinstance(given, BaseException) else given


def _error(error: BaseException) -> tuple[list[str], list[str]]:
    """The types of an exception and its causes, and where it passed."""
    kinds: list[str] = []
    frames: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(kinds) < FRAMES:
        kinds.append(f"{type(seen).__module__}.{type(seen).__qualname__}")
        frames += [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(seen.__traceback__)
        ]
        seen = seen.__cause__ or seen.__context__
    return kinds, frames[-FRAMES:]
