"""`help`: the registry, read aloud."""

from typing import Annotated

from loom.commands import registry
from loom.commands.args import Args, Written
from loom.commands.context import Context, Reply
from loom.commands.registry import Command, command
from loom.rules.permissions import lacking
from loom.rules.refusals import Refused


class Help(Args):
    """Of which verb."""

    verb: Annotated[str, Written("word")] = ""


@command("help", group="Meta", klass="look", letters="A")
def help_(context: Context, args: Help) -> Reply:
    """Lists the commands by group, with `*` on what you may not use; or explains one."""
    verb = registry.aliases().get(args.verb.lower(), args.verb.lower())
    if verb:
        return _explained(context, verb)
    lines: list[str] = []
    for group in dict.fromkeys(one.group for one in registry.every()):
        lines.append(group)
        lines += [f"  {_listed(context, one)}" for one in registry.every() if one.group == group]
    if any(lacking(one.letters, context.actor.letters) for one in registry.every()):
        lines.append("* you may not use it here")
    return Reply("\n".join(lines))


def _listed(context: Context, one: Command) -> str:
    """`→ view REF [full|summary]`, and `→ continue* [from REF]` where it is not permitted."""
    star = "*" if lacking(one.letters, context.actor.letters) else ""
    return f"→ {one.verb}{star}{one.syntax.removeprefix(one.verb)}"


def _explained(context: Context, verb: str) -> Reply:
    if verb not in registry.verbs():
        raise Refused("NOT_FOUND", f"There is no command {verb!r}.", hint="→ help lists them all")
    lines = []
    for one in (one for one in registry.every() if one.verb == verb):
        lines += [
            _listed(context, one),
            f"  {one.summary}",
            f"  needs {', '.join(one.permissions)}",
        ]
        missing = lacking(one.letters, context.actor.letters)
        if missing:
            lines.append(f"  * you may not use it here: {', '.join(missing)} is missing")
        if one.aliases:
            lines.append(f"  also: {', '.join(one.aliases)}")
    return Reply("\n".join(lines))
