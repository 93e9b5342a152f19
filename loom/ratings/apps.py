"""Ratings: + and − on texts, blind comparisons, and what becomes of each model's candidates.

Removing this folder and its line in config/settings.py removes them."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = ("loom.ratings.commands.rating",)


class RatingsConfig(AppConfig):
    """Ratings: + and − on texts, blind comparisons, and what becomes of candidates."""

    name = "loom.ratings"
    label = "ratings"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot

        for module in COMMANDS:
            import_module(module)
        add_routes("loom.ratings.urls")
        add_to_slot("grove-tabs", "parts/ratings_tab.html")
        add_to_slot("card", "parts/rating_buttons.html")
        add_to_slot("node-tools", "parts/rating_buttons_of_node.html")
