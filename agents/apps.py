"""Model participants."""

from importlib import import_module

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Model participants."""

    name = "agents"
    label = "agents"

    def ready(self) -> None:
        import_module("agents.grove_settings")
