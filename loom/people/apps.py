"""Accounts, groves and their members, invitations, preferences."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = ("loom.people.effects", "loom.people.commands.groves")


class PeopleConfig(AppConfig):
    """Accounts, groves and their members, invitations, preferences."""

    name = "loom.people"
    label = "people"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
