"""Finding by meaning: vectors of texts, and what follows from them."""

import os
from importlib import import_module

from django.apps import AppConfig

from loom.site.routes import add_routes
from loom.site.slots import add_to_slot

# The modules that register commands, tasks, and what search adds to words.
COMMANDS = (
    "loom.meaning.effects",
    "loom.meaning.embedder_settings",
    "loom.meaning.endpoint_embedder",
    "loom.meaning.multilingual",  # after what a grove may have chosen
    "loom.meaning.queries",
    "loom.meaning.commands",
    "loom.meaning.tasks",
)


class MeaningConfig(AppConfig):
    """Finding by meaning. Nothing else knows of it: without its line among the installed apps,
    everything else works as before."""

    name = "loom.meaning"
    label = "meaning"
    paths_of_pages = "loom.meaning.pages.PATHS"

    def ready(self) -> None:
        # Read when NumPy is loaded. A product of one vector gains nothing from threads, which wait
        # for each other on a busy machine.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        add_routes("loom.meaning.urls")
        add_to_slot("grove-settings", "meaning/settings_link.html")
        add_to_slot("tree-menu", "meaning/shade.html")
        add_to_slot("right-pane", "meaning/surprise.html")
        add_to_slot("node-facts", "meaning/tokens_link.html")
        for module in COMMANDS:
            import_module(module)
