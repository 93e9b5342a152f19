"""The gateway: programs of others set their base URL to it, and their sessions become trees."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register actions, and what is erased with a tree.
COMMANDS = (
    "agents.gateway.erasing",
    "agents.gateway.keys",
    "agents.gateway.recording",
    "agents.gateway.hiding",
    "agents.gateway.attaching",
    "agents.gateway.unrecorded",
)


class GatewayConfig(AppConfig):
    """The gateway: programs of others set their base URL to it, and their sessions become trees."""

    name = "agents.gateway"
    label = "gateway"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
