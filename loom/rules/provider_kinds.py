"""The kinds of providers that a form offers: how each is spoken to and where it is. PURE.

The first part of a model_ref names the kind; any other word there means OpenAI's shape at the
participant's base_url.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Kind:
    """`url`: where it is when none is given, "" where one must be; `own`: the address is the
    adapter's own and is not stored; `lists`: it says which models it has."""

    name: str
    title: str
    url: str = ""
    own: bool = False
    lists: bool = True
    model: str = ""


LOCAL: Final = "local"
KINDS: Final = (
    Kind("openai", "OpenAI", "https://api.openai.com/v1", own=True, model="gpt-4o-mini"),
    Kind(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        own=True,
        model="claude-sonnet-4-5",
    ),
    Kind("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", model="vendor/model"),
    Kind("ollama", "Ollama", "http://127.0.0.1:11434/v1", model="llama3.2"),
    Kind("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", model="model"),
    Kind("custom", "OpenAI's shape, elsewhere", model="model"),
    Kind("litellm", "LiteLLM", own=True, lists=False, model="gemini/gemini-2.0-flash"),
    Kind(LOCAL, "the embedded model", own=True, lists=False, model="smollm2"),
)
_BY_NAME: Final = {kind.name: kind for kind in KINDS}


def kind_of(name: str) -> Kind:
    """The kind of this name; of any other word OpenAI's shape elsewhere."""
    return _BY_NAME.get(name, _BY_NAME["custom"])
