"""The kinds of providers that a form offers, their samplers and limits, and the checks of a probe.
Pure.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from loom.errors import CommandError
from loom.people.participant_fields import DEFAULT_CONTEXT

# Samplers: optional settings of a request.


MAX_STOPS, MAX_STOP = 16, 200
MAX_BIAS, MAX_GRAMMAR = 300, 20_000
MAX_LINE = 30_000


@dataclass(frozen=True)
class Sampler:
    """One number in a request. `off`: the value without effect; `probe`: one with a visible
    effect."""

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
SAMPLERS_BY_NAME = {sampler.name: sampler for sampler in SAMPLERS}
# Settings that are not numbers: stop texts, biases by token, and a GBNF grammar.
OTHERS = ("stop", "logit_bias", "grammar")
SAMPLER_NAMES = (*SAMPLERS_BY_NAME, *OTHERS)
# A preset may also have these, which are separate options of a line.
REQUEST_OPTIONS = {
    "temperature": Sampler("temperature", 0, 2, None, 1),
    "tokens": Sampler("tokens", 1, 8192, None, 1, is_whole=True),
}


def checked_samplers(
    given: object, *, only: tuple[str, ...] = (*REQUEST_OPTIONS, *SAMPLER_NAMES)
) -> dict[str, Any]:
    """The settings, if each has a known name and a valid value; INVALID_SYNTAX otherwise. None and
    empty values are left out."""
    if not isinstance(given, Mapping):
        raise _refused("Settings are an object of names and values.", '{"top_p": 0.9}')
    checked = {}
    for name, value in given.items():
        if name not in only:
            raise _refused(f"There is no setting {str(name)[:40]!r}.", ", ".join(only))
        if value is not None and value not in ("", [], {}):
            checked[str(name)] = _CHECKS.get(name, _number)(str(name), value)
    return checked


def _refused(message: str, hint: str) -> CommandError:
    return CommandError("INVALID_SYNTAX", message, hint=hint)


def _number(name: str, value: object) -> float | int:
    option = {**SAMPLERS_BY_NAME, **REQUEST_OPTIONS}[name]
    between = f"{name} is {'a whole number' if option.is_whole else 'a number'} from "
    between += (
        f"{option.lowest:g} to {int(option.highest) if option.is_whole else f'{option.highest:g}'}."
    )
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise _refused(between, f"{name}={option.probe:g}")
    if not option.lowest <= value <= option.highest or (option.is_whole and value != int(value)):
        raise _refused(between, f"{name}={option.probe:g}")
    return int(value) if option.is_whole else float(value)


def _stop(name: str, value: object) -> list[str]:
    stops = [value] if isinstance(value, str) else value
    if not isinstance(stops, list | tuple) or len(stops) > MAX_STOPS:
        raise _refused(f"stop is a list of at most {MAX_STOPS} texts.", '{"stop": ["\\n\\n"]}')
    if not all(isinstance(text, str) and 0 < len(text) <= MAX_STOP for text in stops):
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


def sampler_schemas() -> dict[str, Any]:
    """JSON schemas of the settings, by name. A null or an empty value is left out."""
    numbers = {
        name: {
            "type": ["integer" if option.is_whole else "number", "null"],
            "minimum": option.lowest,
            "maximum": option.highest,
        }
        for name, option in {**REQUEST_OPTIONS, **SAMPLERS_BY_NAME}.items()
    }
    stop = {"type": "string", "minLength": 1, "maxLength": MAX_STOP}
    bias = {"type": "number", "minimum": -100, "maximum": 100}
    return {
        **numbers,
        "stop": {"type": "array", "items": stop, "maxItems": MAX_STOPS},
        "logit_bias": {
            "type": "object",
            "propertyNames": {"pattern": "^[0-9]+$"},
            "additionalProperties": bias,
            "maxProperties": MAX_BIAS,
        },
        "grammar": {"type": "string", "maxLength": MAX_GRAMMAR},
    }


def read_samplers(written: str) -> dict[str, Any]:
    """The settings in a line: JSON, or `top_p=0.9 seed=7`."""
    if len(written) > MAX_LINE:
        raise _refused(f"Settings have at most {MAX_LINE} characters.", "shorten the grammar")
    text = written.strip()
    if text.startswith("{"):
        try:
            return checked_samplers(json.loads(text))
        except ValueError as error:
            raise _refused(f"The settings are not JSON: {error}.", '{"top_p": 0.9}') from None
    settings: dict[str, Any] = {}
    for part in text.replace(",", " ").split():
        name, _sign, value = part.partition("=")
        if name in settings:
            raise _refused(f"{name[:40]} is given twice.", f"{name[:40]}={value[:40]}")
        try:
            settings[name] = int(value) if value.lstrip("-").isdecimal() else float(value)
        except ValueError:
            raise _refused(f"{part[:40]!r} is no setting.", "top_p=0.9 top_k=40") from None
    return checked_samplers(settings)


def samplers_written(settings: Mapping[str, Any]) -> str:
    """The settings as a line names them; `read_samplers` reverses it."""
    if all(name not in OTHERS for name in settings):
        return " ".join(f"{name}={value!r}" for name, value in settings.items())
    return json.dumps(dict(settings), ensure_ascii=False, separators=(",", ":"))


# Kinds of providers that a form offers.


@dataclass(frozen=True)
class Kind:
    """A kind of provider. `url`: its default address, "" if one must be given; `own`: the address
    is the adapter's own and is not stored; `lists`: it can list its models; `variable`: the
    environment variable that usually has its key."""

    name: str
    title: str
    url: str = ""
    own: bool = False
    lists: bool = True
    model: str = ""
    variable: str = ""


LOCAL: Final = "local"
RESERVE: Final = 1024  # tokens of a context, reserved for the answer (docs/model.md §6.3)
RESERVED_SHARE: Final = 4  # of a context, at most this part is reserved
LOCAL_LIMITS: Final = (4096, 2048)  # tokens read and written by other local models, if unsaid
LOCAL_WINDOW: Final = 1200  # tokens that the embedded model reads within 5 s on two cores
KINDS: Final = (
    Kind(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        own=True,
        model="gpt-4o-mini",
        variable="OPENAI_API_KEY",
    ),
    Kind(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        own=True,
        model="claude-sonnet-4-5",
        variable="ANTHROPIC_API_KEY",
    ),
    Kind("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", model="vendor/model"),
    Kind("ollama", "Ollama", "http://127.0.0.1:11434/v1", model="llama3.2"),
    Kind("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", model="model"),
    Kind("custom", "OpenAI-compatible", model="model"),
    Kind("litellm", "LiteLLM", own=True, lists=False, model="gemini/gemini-2.0-flash"),
    Kind(LOCAL, "the embedded model", own=True, lists=False, model="smollm2"),
)
# Providers that may come after `litellm:`. tests/providers/test_litellm_connections.py shows
# for each that it connects to the checked address only, follows no redirect and sends no key
# of the environment. The first are asked by the OpenAI SDK, the second by LiteLLM's handler.
LITELLM_BY_SDK: Final = frozenset(
    (
        *("ai21", "baseten", "cerebras", "custom_openai", "dashscope", "deepinfra"),
        *("featherless_ai", "friendliai", "github", "helicone", "hyperbolic", "inception"),
        *("lambda_ai", "litellm_proxy", "llamafile", "lm_studio", "meta_llama", "moonshot"),
        *("nebius", "novita", "nscale", "nvidia_nim", "openai", "parasail", "perplexity"),
        *("sambanova", "scaleway", "v0", "vercel_ai_gateway", "volcengine", "wandb"),
        *("xinference", "zai"),
    )
)
LITELLM_BY_HANDLER: Final = frozenset(
    (
        *("anthropic", "compactifai", "deepseek", "fireworks_ai", "gemini", "groq"),
        *("hosted_vllm", "minimax", "mistral", "openrouter", "ovhcloud", "together_ai", "xai"),
    )
)
# Services that search the web. One without a default address is hosted by its users.
SEARCH_SERVICES: Final = (
    Kind("searxng", "SearXNG"),
    Kind("brave", "Brave Search", "https://api.search.brave.com/res/v1", own=True),
    Kind("tavily", "Tavily", "https://api.tavily.com", own=True),
)
_BY_NAME: Final = {kind.name: kind for kind in KINDS}


def why_not_litellm(model: str, *, has_key: bool) -> str:
    """Why `litellm:` may not call this model, as a sentence; "" if it may. `model` is the part
    after the colon, such as `gemini/gemini-2.0-flash`."""
    provider, _, name = model.partition("/")
    if provider not in LITELLM_BY_SDK | LITELLM_BY_HANDLER:
        known = ", ".join(sorted(LITELLM_BY_SDK | LITELLM_BY_HANDLER))
        return f"litellm: asks only providers whose connections are checked: {known}."
    if not name or name.startswith("responses/"):
        return "A model of litellm: is written provider/model, such as gemini/gemini-2.0-flash."
    if not has_key:
        return "A litellm: participant needs a key of its own; one of the environment is not sent."
    return ""


def usual_limits(model_ref: str, base_url: str) -> tuple[int, int | None]:
    """The default number of tokens that a participant reads and writes (None: the provider's):
    `local:` models at their own address are usually small."""
    is_small = model_ref.partition(":")[0] == LOCAL and base_url != ""
    return LOCAL_LIMITS if is_small else (DEFAULT_CONTEXT, None)


def search_service(name: str) -> Kind | None:
    """The kind of web search service with that name; None if there is none."""
    return next((service for service in SEARCH_SERVICES if service.name == name), None)


def kind_of(name: str) -> Kind:
    """The kind with this name; for unknown names that of another OpenAI-compatible API."""
    return _BY_NAME.get(name, _BY_NAME["custom"])


# The checks of a probe, in order, and those that change a request.

# Ways to make a chat continue a text, best first: bench/prose.py.
WAYS: Final = ("prefill", "continue_final", "few_shot", "instruction")
CHECKS: Final = (
    "chat",
    "completion",
    "streaming",
    "n",
    "logprobs",
    "system",
    *WAYS,
    "usage",
    "grammar",
    "images",
    *(sampler.name for sampler in SAMPLERS),
    "logit_bias",
)
# Of these a participant's capabilities say how it is asked.
REMEMBERED: Final = (*WAYS, "grammar", "images")
# Samplers that a kind of provider supports according to its documentation; used until a probe has
# checked. Of other kinds only stop texts are assumed.
_DOCUMENTED: Final[dict[str, frozenset[str]]] = {
    "openai": frozenset(
        ("top_p", "frequency_penalty", "presence_penalty", "seed", "stop", "logit_bias")
    ),
    "anthropic": frozenset(("top_p", "top_k", "stop")),
    "litellm": frozenset(("top_p", "frequency_penalty", "presence_penalty", "seed", "stop")),
}
PROBED: Final = (*(sampler.name for sampler in SAMPLERS), "logit_bias")


def samplers_of(model_ref: str, can: Mapping[str, bool]) -> frozenset[str]:
    """The samplers that a participant's endpoint supports: found by the probe, else as documented
    for its kind."""
    if any(name in can for name in PROBED):
        taken = {name for name in PROBED if can.get(name)}
        return frozenset(taken | {"stop"} | ({"grammar"} if can.get("grammar") else set()))
    documented = _DOCUMENTED.get(model_ref.partition(":")[0], frozenset({"stop"}))
    return documented | ({"grammar"} if can.get("grammar") else frozenset())


def room_in(context_limit: int, reserve: int = RESERVE) -> int:
    """The most tokens that a request may have: those of the context without what is reserved for
    the answer, which is at most a quarter of a small one."""
    return context_limit - min(reserve, context_limit // RESERVED_SHARE)
