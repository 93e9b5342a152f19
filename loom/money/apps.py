"""Prices, limits and spending."""

from importlib import import_module

from django.apps import AppConfig


class MoneyConfig(AppConfig):
    """Prices, limits and spending."""

    name = "loom.money"
    label = "money"

    def ready(self) -> None:
        import_module("loom.money.grove_settings")
        import_module("loom.money.erasing")
