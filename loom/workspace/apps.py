"""Each participant's own view: windows, memory, tasks, augments, drafts."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.workspace.grove_settings",
    "loom.workspace.effects",
    "loom.workspace.erasing",
    "loom.workspace.commands.move",
    "loom.workspace.commands.keeping",
    "loom.workspace.commands.memory",
    "loom.workspace.commands.augments",
    "loom.workspace.commands.tasks",
    "loom.workspace.commands.scratchpad",
    "loom.workspace.commands.saved",
)


class WorkspaceConfig(AppConfig):
    """Each participant's own view: windows, memory, tasks, augments, drafts."""

    name = "loom.workspace"
    label = "workspace"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
