"""The registry as plain data, as the page docs/commands.md, and as the command `help`."""

from functools import cache
from typing import Annotated, Any

from loom.access import Actor
from loom.engine import registry
from loom.engine.arguments import Args, Written, schema_of, written_of
from loom.engine.context import Context, Reply
from loom.engine.registry import Command, command, describe_verb
from loom.engine.usable import unusable
from loom.errors import CommandError
from loom.language.forms import Form
from loom.language.verbs import Phrases, Verb
from loom.permissions import LOOM, in_order, lacking

# Defaults of optional parts whose form has no value to show: (verb, part).
_OTHERWISE = {
    ("view", "length"): "the first 30 words (full shows all of it)",
    ("view", "form"): "as:nodes",
    ("compare", "form"): "as:words; as:side where the texts are too long or too different",
    ("list", "type"): "how many links of each type",
    ("tree", "ref"): "from root",
    ("continue", "ref"): "from here",
    ("continue", "tokens"): "the tokens set for the agent",
    ("continue", "temperature"): "the temperature set for the agent",
    ("continue", "using"): "the agent you used last in this tree, else the first of the grove",
    ("respond", "ref"): "here",
    ("respond", "sources"): "no sources",
    ("edit", "way"): "as:version in a buffer, as:fork in a dialogue",
    ("resolve", "reason"): "no reason (an objection needs one)",
    ("unlink", "type"): "the one link between the two",
    ("bookmark", "ref"): "here",
    ("unbookmark", "ref"): "here",
    ("help", "verb"): "all commands",
}


def defaults_of(form: Form) -> list[str]:
    """The defaults of optional parts, such as `as:note`; nothing for flags and for parts that
    simply do nothing when they are left out."""
    defaults = []
    for part in form.parts:
        default = _OTHERWISE.get((form.verb, part.name), "")
        if (
            not default
            and part.kind == "option"
            and part.optional
            and part.default not in (None, "")
        ):
            default = f"{part.key}:{part.default}"
        if default:
            defaults.append(default)
    return defaults


def catalogue(actor: Actor | None = None) -> list[dict[str, Any]]:
    """One entry for each form: name, verb, syntax, help, group, class, permissions, aliases, the
    JSON schema of its arguments, and, if an actor is given, whether they may use it."""
    return [
        {
            "name": entry.name,
            "verb": entry.verb,
            "syntax": entry.syntax,
            "help": entry.summary,
            "group": entry.group,
            "class": entry.klass,
            "permissions": in_order(entry.permissions),
            "aliases": list(entry.aliases),
            "arguments": _schema(entry.args),
            "allowed": actor is None or entry.permissions <= actor.permissions,
        }
        for entry in registry.listed()
    ]


@cache
def _schema(args: type[Args]) -> dict[str, Any]:
    """The JSON schema of these arguments, made once (20 ms for all commands). Not to be changed."""
    return schema_of(args)


def json_call(command: Command) -> str:
    """How the command is called by name: `tag {ref, names: […]}`, with `?` after what may be left
    out."""
    required = {name for name, field in command.args.model_fields.items() if field.is_required()}
    parts = []
    for name, written in written_of(command.args).items():
        many = written.many or written.kind == "tags" or written.value in ("refs", "words")
        value = ": true" if written.kind == "word" and written.lead else ": […]" if many else ""
        parts.append(f"{name}{'' if name in required else '?'}{value}")
    return f"{command.name} {{{', '.join(parts)}}}"


def reference() -> str:
    """The commands as Markdown, by group: docs/commands.md is exactly this."""
    lines = [
        "# Commands",
        "",
        "Made from the registry by `manage.py reference`; a test fails when it is stale.",
        "People type these lines after `→` in the command bar; models write them at the start",
        "of a line. CAPITALS are arguments, `[x]` may be left out, `a|b` is a choice,",
        "`n:1≤10` has the default 1 and the maximum 10.",
        "",
        "Programs call a command by its name with JSON (`POST …/commands` with `command` and",
        "`args`). References are texts such as `a7x2`, `here` or `#4`, and a word of the line such",
        "as `clear` is `true`. The verb alone is enough as a name: the form follows from",
        "the arguments. `?` marks what may be left out.",
    ]
    group = ""
    for entry in registry.listed():
        if entry.group != group:
            group = entry.group
            lines += ["", f"## {group}"]
        also = (
            f" Also: {', '.join(f'`{word}`' for word in entry.aliases)}." if entry.aliases else ""
        )
        needs = ", ".join(f"`{name}`" for name in in_order(entry.permissions))
        lines += ["", f"### `→ {entry.syntax}`", "", f"{entry.summary} Needs {needs}.{also}"]
        lines += ["", f"By name: `{json_call(entry)}`."]
    return "\n".join(lines) + "\n"


# `help`: the registry as text.


class Help(Args):
    """The verb or group to explain; without one all are listed."""

    verb: Annotated[str, Written("word")] = ""


describe_verb(
    Verb(
        "help",
        example="See all commands: → help",
        taught="help [VERB|GROUP]",
        is_harmless=True,
        outlives_budget=True,
        phrases=(
            Phrases("how do i use|how does|explain command|what does|manual|man|what is command"),
            Phrases("what can i do|what commands are there|which commands are there|commands"),
            Phrases(
                "which commands can i use|what commands can i use|list of commands|i need help"
            ),
            Phrases(
                "list commands|show commands|show available commands|show help|give me help|usage"
            ),
        ),
        dropped=("about command commands do does for i on use using with work"),
    )
)


@command("help", group="Meta", klass="look", permissions={LOOM})
def help_(context: Context, args: Help) -> Reply:
    """Lists the commands by group, with `*` on what you may not use; or explains one, or those of
    a group (`help keep`)."""
    verb = registry.aliases().get(args.verb.lower(), args.verb.lower())
    without = unusable(context.actor)
    listed = [entry for entry in registry.listed() if entry.verb not in without]
    group = next((entry.group for entry in listed if entry.group.lower() == verb), None)
    if group is not None:
        listed = [entry for entry in listed if entry.group == group]
        lines = [f"{_listed(context, entry)}\n  {entry.summary}" for entry in listed]
        return Reply("\n".join(lines))
    if verb:
        return _explained(context, verb)
    lines = []
    for group in dict.fromkeys(entry.group for entry in listed):
        lines.append(group)
        lines += [f"  {_listed(context, entry)}" for entry in listed if entry.group == group]
    if any(lacking(entry.permissions, context.actor.permissions) for entry in listed):
        lines.append("* you may not use it here")
    return Reply("\n".join(lines))


def _listed(context: Context, entry: Command) -> str:
    """`→ view REF [full|summary]`, and `→ continue* [from REF]` where it is not permitted."""
    star = "*" if lacking(entry.permissions, context.actor.permissions) else ""
    return f"→ {entry.verb}{star}{entry.syntax.removeprefix(entry.verb)}"


def _explained(context: Context, verb: str) -> Reply:
    if verb not in registry.verbs():
        raise CommandError(
            "NOT_FOUND", f"There is no command {verb!r}.", hint="→ help lists them all"
        )
    lines = []
    for entry in (entry for entry in registry.listed() if entry.verb == verb):
        lines += [
            _listed(context, entry),
            f"  {entry.summary}",
            f"  needs {', '.join(in_order(entry.permissions))}",
        ]
        defaults = defaults_of(entry.form)
        if defaults:
            lines.append(f"  if left out: {' · '.join(defaults)}")
        missing = lacking(entry.permissions, context.actor.permissions)
        if missing:
            lines.append(f"  * you may not use it here: {', '.join(missing)} is missing")
        if why := unusable(context.actor).get(verb):
            lines.append(f"  {why}")
        if entry.aliases:
            lines.append(f"  also: {', '.join(entry.aliases)}")
    return Reply("\n".join(lines))
