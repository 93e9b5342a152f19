"""The app loom: trees, groves and each participant's view of them."""

from django.apps import AppConfig


class LoomConfig(AppConfig):
    """Loads every command into the registry once the models are there."""

    name = "loom"
    label = "loom"

    def ready(self) -> None:
        from loom import commands

        commands.load()
