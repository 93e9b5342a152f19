"""The samplers that a request may carry: their names, bounds and JSON, whatever provider. PURE.

A set of them is a plain dict by name: `{"top_p": 0.9, "stop": ["\\n"]}`. On a line it is written
as `settings:"top_p=0.9 top_k=40"`, or as JSON.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from loom.rules.errors import CommandError

MAX_STOPS, MAX_STOP = 16, 200
MAX_BIAS, MAX_GRAMMAR = 300, 20_000
MAX_LINE = 30_000


@dataclass(frozen=True)
class Sampler:
    """One number that a request may carry. `off`: its value when it does nothing; `probe`: one at
    which it visibly does something."""

    name: str
    lowest: float
    highest: float
    off: float | None
    probe: float
    is_whole: bool = False


SAMPLERS = (
    Sampler("top_p", 0, 1, 1, 0.01),
    Sampler("top_k", 0, 1000, 0, 1, is_whole=True),
    Sampler("min_p", 0, 1, 0, 1),
    Sampler("typical_p", 0, 1, 1, 0.01),
    Sampler("repetition_penalty", 0, 10, 1, 5),
    Sampler("frequency_penalty", -2, 2, 0, 2),
    Sampler("presence_penalty", -2, 2, 0, 2),
    Sampler("seed", 0, 2**31 - 1, None, 7, is_whole=True),
)
BY_NAME = {one.name: one for one in SAMPLERS}
# These have no number: texts that end the answer, biases by token, and a GBNF grammar.
OTHERS = ("stop", "logit_bias", "grammar")
NAMES = (*BY_NAME, *OTHERS)
# A preset may also say these, which a line has as options of their own.
OPTIONS = {
    "temperature": Sampler("temperature", 0, 2, None, 1),
    "tokens": Sampler("tokens", 1, 8192, None, 1, is_whole=True),
}


def checked(given: object, *, only: tuple[str, ...] = (*OPTIONS, *NAMES)) -> dict[str, Any]:
    """The settings, if each has a name and value that there is; INVALID_SYNTAX otherwise. What is
    None or empty is left out."""
    if not isinstance(given, Mapping):
        raise _refused("Settings are an object of names and values.", '{"top_p": 0.9}')
    made = {}
    for name, value in given.items():
        if name not in only:
            raise _refused(f"There is no setting {str(name)[:40]!r}.", ", ".join(only))
        if value is not None and value not in ("", [], {}):
            made[str(name)] = _CHECKS.get(name, _number)(str(name), value)
    return made


def _refused(message: str, hint: str) -> CommandError:
    return CommandError("INVALID_SYNTAX", message, hint=hint)


def _number(name: str, value: object) -> float | int:
    one = {**BY_NAME, **OPTIONS}[name]
    between = f"{name} is {'a whole number' if one.is_whole else 'a number'} from "
    between += f"{one.lowest:g} to {int(one.highest) if one.is_whole else f'{one.highest:g}'}."
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(between, f"{name}={one.probe:g}")
    if not one.lowest <= value <= one.highest or (one.is_whole and value != int(value)):
        raise _refused(between, f"{name}={one.probe:g}")
    return int(value) if one.is_whole else float(value)


def _stop(name: str, value: object) -> list[str]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list | tuple) or len(stops) > MAX_STOPS:
        raise _refused(f"stop is a list of at most {MAX_STOPS} texts.", '{"stop": ["\\n\\n"]}')
    if not all(isinstance(one, str) and 0 < len(one) <= MAX_STOP for one in stops):
        raise _refused(f"A stop text has 1 to {MAX_STOP} characters.", '{"stop": ["\\n\\n"]}')
    return list(stops)


def _bias(name: str, value: object) -> dict[str, float]:
    hint = '{"logit_bias": {"1734": -100}}'
    if not isinstance(value, Mapping) or len(value) > MAX_BIAS:
        raise _refused(f"logit_bias is an object of at most {MAX_BIAS} tokens.", hint)
    for token, bias in value.items():
        is_number = isinstance(bias, int | float) and not isinstance(bias, bool)
        if not str(token).isdecimal() or not is_number or not -100 <= bias <= 100:
            raise _refused("logit_bias has token numbers and biases from -100 to 100.", hint)
    return {str(token): float(bias) for token, bias in value.items()}


def _grammar(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > MAX_GRAMMAR or "\0" in value:
        raise _refused(f"grammar is a text of at most {MAX_GRAMMAR} characters.", 'root ::= "yes"')
    return value


_CHECKS = {"stop": _stop, "logit_bias": _bias, "grammar": _grammar}


def read(written: str) -> dict[str, Any]:
    """The settings that a line names: JSON, or `top_p=0.9 seed=7`."""
    if len(written) > MAX_LINE:
        raise _refused(f"Settings have at most {MAX_LINE} characters.", "shorten the grammar")
    text = written.strip()
    if text.startswith("{"):
        try:
            return checked(json.loads(text))
        except ValueError as error:
            raise _refused(f"The settings are not JSON: {error}.", '{"top_p": 0.9}') from None
    found: dict[str, Any] = {}
    for part in text.replace(",", " ").split():
        name, _sign, value = part.partition("=")
        try:
            found[name] = int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            raise _refused(f"{part[:40]!r} is no setting.", "top_p=0.9 top_k=40") from None
    return checked(found)


def written(settings: Mapping[str, Any]) -> str:
    """The settings as a line names them; `read` returns the same."""
    if all(name not in OTHERS for name in settings):
        return " ".join(f"{name}={value!r}" for name, value in settings.items())
    return json.dumps(dict(settings), ensure_ascii=False, separators=(",", ":"))
