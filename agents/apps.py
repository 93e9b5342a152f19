"""The app agents: model participants. It imports loom; loom never imports it."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Providers, contexts and the tasks that run generations."""

    name = "agents"
    label = "agents"
