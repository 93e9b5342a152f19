"""Writes loom/rules/prices.json anew from the price list that litellm brings as a data file.

Reads the file without importing litellm, and asks nothing over the network.
Run: .venv/bin/python script/prices.py DATE
"""

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent.parent / "loom" / "rules" / "prices.json"
LIST = "litellm/model_prices_and_context_window_backup.json"
# Where each provider is asked: its prices hold there, and not at another address.
HOSTS = {
    "anthropic": "api.anthropic.com",
    "cerebras": "api.cerebras.ai",
    "deepseek": "api.deepseek.com",
    "fireworks_ai": "api.fireworks.ai",
    "gemini": "generativelanguage.googleapis.com",
    "groq": "api.groq.com",
    "mistral": "api.mistral.ai",
    "moonshot": "api.moonshot.ai",
    "openai": "api.openai.com",
    "openrouter": "openrouter.ai",
    "together_ai": "api.together.xyz",
    "xai": "api.x.ai",
}
# From how many tokens on a provider keeps a prompt's beginning (read 2026-11-21).
CACHES_FROM = {
    "anthropic": 1024,
    "deepseek": 1024,
    "gemini": 2048,
    "groq": 1024,
    "moonshot": 1024,
    "openai": 1024,
    "xai": 1024,
}
COSTS = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)


def _row(known: dict[str, Any]) -> list[float | None]:
    """USD per million tokens: read, written, read from the cache, kept in the cache."""
    costs = [known.get(name) for name in COSTS]
    return [None if cost is None else round(cost * 1e6, 6) for cost in costs]


def main() -> None:
    """Prints how many models have a price."""
    wheel = importlib.metadata.distribution("litellm")
    listed = json.loads(Path(str(wheel.locate_file(LIST))).read_text())
    models = {}
    for name, known in sorted(listed.items()):
        provider = known.get("litellm_provider")
        if provider not in HOSTS or known.get("mode") not in ("chat", "completion", "responses"):
            continue
        row = _row(known)
        if row[0] is not None and row[1] is not None:
            models[f"{provider}:{name.removeprefix(f'{provider}/')}"] = row
    table = {
        "source": f"the price list in litellm {wheel.version}",
        "date": sys.argv[1],
        "unit": "USD per million tokens: read, written, read from the cache, kept in the cache",
        "hosts": HOSTS,
        "caches_from": CACHES_FROM,
        "models": models,
    }
    lines = json.dumps(table, indent=1, sort_keys=False)
    OUT.write_text(lines.replace("\n   ", " ").replace("\n  ]", "]") + "\n")
    print(f"{len(models)} models")


if __name__ == "__main__":
    main()
