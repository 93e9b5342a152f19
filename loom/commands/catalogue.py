"""The registry as plain data and as a page: for the API, the command bar and docs."""

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


def reference() -> str:
    """The commands as Markdown, by group: docs/commands.md is exactly this."""
    lines = [
        "# Commands",
        "",
        "Made from the registry by `manage.py reference`; a test fails when it is stale.",
        "People type these lines after `→` in the command bar; models write them at the start",
        "of a line. CAPITALS stand for arguments, `[x]` may be left out, `a|b` is a choice,",
        "`n:1≤10` has the default 1 and the maximum 10.",
    ]
    group = ""
    for one in registry.every():
        if one.group != group:
            group = one.group
            lines += ["", f"## {group}"]
        also = f" Also: {', '.join(f'`{word}`' for word in one.aliases)}." if one.aliases else ""
        needs = ", ".join(f"`{name}`" for name in one.permissions)
        lines += ["", f"### `→ {one.syntax}`", "", f"{one.summary} Needs {needs}.{also}"]
    return "\n".join(lines) + "\n"
