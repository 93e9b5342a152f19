"""The registry as plain data: for the API, the command bar and generated docs."""

from typing import Any

from loom.access import Actor
from loom.commands import registry


def catalogue(actor: Actor | None = None) -> list[dict[str, Any]]:
    """One entry a form: verb, syntax, help, group, class, permissions, aliases, the JSON
    schema of its arguments, and with an actor whether he may use it."""
    return [
        {
            "verb": one.verb,
            "syntax": one.syntax,
            "help": one.summary,
            "group": one.group,
            "class": one.klass,
            "permissions": one.permissions,
            "aliases": list(one.aliases),
            "arguments": one.args.model_json_schema(),
            "allowed": actor is None or one.letters <= actor.letters,
        }
        for one in registry.every()
    ]
