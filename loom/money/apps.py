"""Prices, limits and spending."""

from django.apps import AppConfig


class MoneyConfig(AppConfig):
    """Prices, limits and spending."""

    name = "loom.money"
    label = "money"
