"""`help`: the registry, read aloud."""

from typing import Annotated

from loom.commands import registry
from loom.commands.args import Args, Written
from loom.commands.context import Context, Reply
from loom.commands.registry import Command, command
from loom.rules.refusals import Refused


class Help(Args):
    """Of which verb."""

    verb: Annotated[str, Written("word")] = ""


@command("help", group="Meta", klass="look", letters="A")
def help_(context: Context, args: Help) -> Reply:
    """Lists the commands by group, with `*` on what you may not use; or explains one."""
    verb = registry.aliases().get(args.verb.lower(), args.verb.lower())
    if verb:
        return _explained(verb)
    lines: list[str] = []
    for group in dict.fromkeys(one.group for one in registry.every()):
        lines.append(group)
        lines += [
            f"  {_star(context, one)}→ {one.syntax}"
            for one in registry.every()
            if one.group == group
        ]
    lines.append("* you may not use it here")
    return Reply("\n".join(lines))


def _star(context: Context, one: Command) -> str:
    return "" if one.letters <= context.actor.letters else "* "


def _explained(verb: str) -> Reply:
    if verb not in registry.verbs():
        raise Refused("NOT_FOUND", f"There is no command {verb!r}.", hint="→ help lists them all")
    lines = []
    for one in registry.forms()[verb]:
        found = registry.find(verb, registry.forms()[verb].index(one))
        needs = ", ".join(found.permissions)
        lines += [f"→ {found.syntax}", f"  {found.summary}", f"  needs {needs}"]
        if found.aliases:
            lines.append(f"  also: {', '.join(found.aliases)}")
    return Reply("\n".join(lines))
