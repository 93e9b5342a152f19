"""Accounts at organisations."""

from importlib import import_module

from django.apps import AppConfig


class IdentitiesConfig(AppConfig):
    """Only the protocols know of it."""

    name = "loom.identities"
    label = "identities"

    def ready(self) -> None:
        import_module("loom.identities.commands")
