"""Import and export."""

from django.apps import AppConfig


class TransferConfig(AppConfig):
    """Import and export."""

    name = "loom.transfer"
    label = "transfer"
