"""One call by name and JSON: what a page, a button, the API or another program wants done names a
command or an action and gives its arguments as JSON. Nobody builds a line by joining strings."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from loom.access import Actor
from loom.engine import registry
from loom.engine.actions import actions
from loom.engine.arguments import Args, Written, checked, refusal_of, written_of
from loom.engine.context import Answer, Request
from loom.engine.execute import BARE, execute, line_of
from loom.engine.registry import Command
from loom.errors import CommandError
from loom.language.arguments import demand_values
from loom.language.refs import ParseError
from loom.language.slices import parse_ref
from loom.people.models import Grove, User
from loom.trees.models import Tree, Workspace


def run(
    actor: Actor | User | None,
    stream: Tree | Grove | None,
    name: str,
    values: Mapping[str, Any],
    *,
    workspace: Workspace | None = None,
    request: Request = BARE,
) -> Any:
    """Runs a command in a tree, or an action on the tree or grove that it changes (None: it makes
    one), with JSON-able arguments. Items are named by uid or local id and looked up under the lock,
    through `access`. Returns the `Answer` of a command, what an action's function returns.

    Raises CommandError: NOT_FOUND for another name, INVALID_SYNTAX for arguments that it does not
    take, and what it is refused with."""
    action = actions().get(name)
    if action is not None:
        return execute(actor, stream, action, checked(action.args, values))
    if not isinstance(actor, Actor) or not isinstance(stream, Tree):
        raise TypeError("a command runs in a tree, for somebody")
    return run_command(actor, stream, name, values, workspace=workspace, request=request)


def run_command(
    actor: Actor,
    tree: Tree,
    name: str,
    values: Mapping[str, Any],
    *,
    workspace: Workspace | None = None,
    request: Request = BARE,
) -> Answer:
    """Runs a command with JSON-able arguments. `name` is a verb, whose form then follows from the
    arguments, or the name of one of its forms, such as `write_append`. Raises CommandError."""
    command, args = arguments_of(name, values)
    return execute(actor, tree, command.run, args, workspace=workspace, request=request)


def line_for(name: str, values: Mapping[str, Any]) -> str:
    """The canonical line, with its arrow, of a command with JSON-able arguments. Raises
    CommandError."""
    return line_of(*arguments_of(name, values)).canonical


def arguments_of(name: str, values: Mapping[str, Any]) -> tuple[Command, Args]:
    """The command of this name with its arguments. Of several forms of a verb it is the first whose
    fields and kinds of items the arguments fit. Raises CommandError."""
    forms = registry.named(name)
    if not forms:
        hint = "GET /api/commands lists the names and their arguments"
        raise CommandError("NOT_FOUND", f"There is no command {name[:40]!r}.", hint=hint)
    refusals: list[tuple[int, CommandError]] = []
    for command in forms:
        try:
            return command, _arguments(command, values, is_named=len(forms) == 1)
        except CommandError as refused:
            fields = command.args.model_fields
            needed = {field_name for field_name, field in fields.items() if field.is_required()}
            strange = len(set(values) - set(fields)) + len(needed - set(values))
            refusals.append((strange, refused))
    # The nearest form says what is wrong; the last of those as near, which is the common one.
    raise min(reversed(refusals), key=lambda refusal: refusal[0])[1]


def _arguments(command: Command, values: Mapping[str, Any], *, is_named: bool) -> Args:
    given = dict(values)
    written = written_of(command.args)
    for field, how in written.items():
        literal = how.lead if how.kind == "word" else ""
        if literal and (given.get(field) is True or (is_named and field not in given)):
            given[field] = literal
        elif literal and given.get(field, literal) != literal:
            raise _wrong_word(command, field, how)
    try:
        args = command.args.model_validate(given)
        refs = {
            field: parse_ref(value)
            for field, how in written.items()
            if how.value == "ref" and isinstance(value := getattr(args, field), str)
            if value not in how.choices
        }
        args = args.model_copy(update=refs)
        demand_values(command.form, {field: getattr(args, field) for field in written})
    except ValidationError as error:
        raise refusal_of(error) from None
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=bad.hint) from None
    return args


def _wrong_word(command: Command, field: str, written: Written) -> CommandError:
    return CommandError(
        "INVALID_SYNTAX",
        f"{field} of {command.name} can only be true.",
        hint=f'leave it out, or send {{"{field}": true}} for the word {written.lead}',
    )
