"""Import and export."""

from importlib import import_module

from django.apps import AppConfig


class TransferConfig(AppConfig):
    """Import and export."""

    name = "loom.transfer"
    label = "transfer"

    def ready(self) -> None:
        import_module("loom.transfer.effects")
        import_module("loom.transfer.erasing")
        import_module("loom.transfer.thinking_files")
