"""What a program asks of an agent beside its messages: the settings that go to the model, and what
an agent cannot do, which is refused: nothing is left out without a word. Pure."""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from agents.gateway.messages import Shape
from loom.errors import CommandError
from loom.participants.provider_kinds import (
    REQUEST_OPTIONS,
    SAMPLER_NAMES,
    SAMPLERS_BY_NAME,
    checked_samplers,
)

Body = Mapping[str, Any]
LENGTHS = ("max_completion_tokens", "max_output_tokens", "max_tokens")
STOPS = ("stop", "stop_sequences")
_BY_MESSAGE = "ask for it in words, or name a model of the provider"
_BY_WHOLE = "send the whole conversation, or previous_response_id"


def settings_of(body: Body, takes: Collection[str], agent: str) -> dict[str, Any]:
    """The settings of a request, by the names of a line's (`tokens`, `temperature`, samplers), for
    the agent of this name, whose provider takes these samplers. Raises CommandError for values that
    mean nothing, and for a sampler that would have an effect and is not taken."""
    given = {name: body.get(name) for name in ("temperature", *SAMPLER_NAMES)}
    given["stop"] = next((body[name] for name in STOPS if body.get(name)), None)
    length = next((name for name in LENGTHS if body.get(name) is not None), "")
    given["tokens"] = _most(length, body[length]) if length else None
    asked = checked_samplers(
        {name: value for name, value in given.items() if not _is_off(name, value)}
    )
    for name in asked:
        if name not in REQUEST_OPTIONS and name not in takes:
            raise CommandError(
                "INVALID_SYNTAX",
                f"The model of {agent} does not take {name}.",
                hint="leave it out, or name a model that takes it",
            )
    return asked


def _most(name: str, tokens: Any) -> int:
    """A maximum of tokens, that a program has named so; one above what a line may ask for is
    that."""
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise CommandError(
            "INVALID_SYNTAX", f"{name} is a whole number above 0.", hint=f'send "{name}": 1024'
        )
    return min(tokens, int(REQUEST_OPTIONS["tokens"].highest))


def _is_off(name: str, value: Any) -> bool:
    """Whether a setting is sent with the value that has no effect, as programs do."""
    sampler = SAMPLERS_BY_NAME.get(name)
    if sampler is None or isinstance(value, bool) or not isinstance(value, int | float):
        return value is None
    return value == sampler.off or (name == "top_k" and value == -1)


def demand_possible(shape: Shape, body: Body, agent: str) -> None:
    """Refuses what the agent of this name cannot do, with INVALID_SYNTAX."""
    for what, hint, is_asked in (*_IMPOSSIBLE, *_IMPOSSIBLE_IN.get(shape, ())):
        if is_asked(body):
            raise CommandError("INVALID_SYNTAX", f"{agent} does not take {what}.", hint=hint)


def _is_more_than(name: str, most: int) -> Callable[[Body], bool]:
    def is_more(body: Body) -> bool:
        value = body.get(name)
        return isinstance(value, int | float) and math.isfinite(value) and value > most

    return is_more


def _has(*names: str) -> Callable[[Body], bool]:
    return lambda body: any(body.get(name) not in (None, False, "", [], {}) for name in names)


def _has_format(*path: str) -> Callable[[Body], bool]:
    """Whether the program asks for another format than text there."""

    def has_format(body: Body) -> bool:
        value: Any = body
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return isinstance(value, dict) and value.get("type", "text") != "text"

    return has_format


def _has_sound(body: Body) -> bool:
    kinds = body.get("modalities")
    return bool(body.get("audio")) or (isinstance(kinds, list) and "audio" in kinds)


def _has_prompts(body: Body) -> bool:
    prompt = body.get("prompt")
    return isinstance(prompt, list) and (len(prompt) != 1 or not isinstance(prompt[0], str))


_Impossible = tuple[str, str, Callable[[Body], bool]]
_IMPOSSIBLE: tuple[_Impossible, ...] = (
    ("n over 1", "ask again: each answer is a branch beside the others", _is_more_than("n", 1)),
    ("best_of over 1", "ask again, and choose", _is_more_than("best_of", 1)),
    ("top_logprobs", "name a model of the provider", _is_more_than("top_logprobs", 0)),
    ("response_format", _BY_MESSAGE, _has_format("response_format")),
    ("functions", "send them as tools", _has("functions")),
    ("audio", "ask for text", _has_sound),
    ("web_search_options", _BY_MESSAGE, _has("web_search_options")),
)
_IMPOSSIBLE_IN: dict[Shape, tuple[_Impossible, ...]] = {
    "chat": (("logprobs", "name a model of the provider", _has("logprobs")),),
    "completions": (
        (
            "logprobs",
            "name a model of the provider",
            lambda body: body.get("logprobs") is not None and body["logprobs"] is not False,
        ),
        ("echo", "put the prompt in front of the answer", _has("echo")),
        ("suffix", "send the text up to the place alone", _has("suffix")),
        ("several prompts or tokens", "send one text in each request", _has_prompts),
    ),
    "messages": (
        ("output_format", _BY_MESSAGE, _has_format("output_format")),
        ("output_config.format", _BY_MESSAGE, _has_format("output_config", "format")),
        ("mcp_servers", "give the agent tools in Heddle", _has("mcp_servers")),
    ),
    "responses": (
        ("text.format", _BY_MESSAGE, _has_format("text", "format")),
        ("background", "wait for the answer, or ask for a stream", _has("background")),
        ("conversation", _BY_WHOLE, _has("conversation")),
        ("a stored prompt", "send its text as instructions", _has("prompt")),
    ),
}
