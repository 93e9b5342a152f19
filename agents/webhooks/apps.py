"""Webhooks: events of a grove or a tree, sent to an address of somebody's choice."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register actions.
COMMANDS = ("agents.webhooks.commands",)


class WebhooksConfig(AppConfig):
    """Webhooks: events of a grove or a tree, sent to an address of somebody's choice."""

    name = "agents.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
