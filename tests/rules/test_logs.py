"""Lines of JSON hold no text: not what an exception says, nor what a package inserts."""

import json
import logging
import sys
from typing import Any

from config.logs import TextlessFormatter

TEXT = "aubergine"


def written(name: str, message: str, *args: object, error: bool = False, **extra: Any) -> Any:
    given = sys.exc_info() if error else None
    record = logging.LogRecord(name, logging.WARNING, __file__, 1, message, args, given)
    record.__dict__.update(extra)
    line = TextlessFormatter().format(record)
    assert TEXT not in line and "\n" not in line
    return json.loads(line)


def test_an_error_is_its_types_and_where_it_passed() -> None:
    try:
        try:
            int(TEXT)
        except ValueError as first:
            raise KeyError(TEXT) from first
    except KeyError:
        line = written("heddle.run", "could not count %d", 7, error=True)
    assert line["message"] == "could not count 7"
    assert line["error"] == ["builtins.KeyError", "builtins.ValueError"]
    assert any("test_an_error_is_its_types" in frame for frame in line["frames"])


def test_of_an_error_that_a_message_names_only_its_type_is_said() -> None:
    line = written("heddle.run", "away: %s", OSError(TEXT))
    assert line["message"] == "away: OSError"


def test_packages_say_the_fixed_part_of_their_first_line() -> None:
    assert written("django.request", "%s: %s", "Not Found", f"/{TEXT}")["message"] == "Not Found"
    assert written("celery", "Task %(id)s: %(exc)s", {"id": 1, "exc": TEXT})["level"] == "warning"
    line = written("asyncio", f"Task exception was never retrieved\n<Task {TEXT}>")
    assert line["message"] == "Task exception was never retrieved"


def test_what_else_a_record_has_is_not_written() -> None:
    line = written("heddle.run", "one", request=f"<GET {TEXT}>", note=TEXT)
    assert sorted(line) == ["level", "logger", "message", "time"]


def test_keys_and_links_are_masked() -> None:
    line = written("heddle.run", "at %s", f"/signin/{TEXT}")
    assert line["message"] == "at /signin/…"
