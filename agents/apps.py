"""Model participants."""

from importlib import import_module

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Model participants."""

    name = "agents"
    label = "agents"

    def ready(self) -> None:
        for module in (
            "agents.grove_settings",
            "agents.json_calls",
            "agents.prose",
            "agents.token_calls",
        ):
            import_module(module)
