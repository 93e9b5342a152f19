"""What all features share: management commands. Each feature is an app of its own."""

from django.apps import AppConfig


class LoomConfig(AppConfig):
    """The shared world, without models or commands of its own."""

    name = "loom"
    label = "loom"
