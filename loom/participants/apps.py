"""Model participants: their settings, templates, keys and addresses."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = ("loom.participants.effects", "loom.participants.commands")


class ParticipantsConfig(AppConfig):
    """Model participants: their settings, templates, keys and addresses."""

    name = "loom.participants"
    label = "participants"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
