"""The arguments of commands and actions, and how they are written on a line."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from loom.grammar.forms import Form, Part, PartKind, ValueKind
from loom.grammar.refs import Ref
from loom.grammar.slices import parse_ref
from loom.rules.errors import CommandError


@dataclass(frozen=True)
class Written:
    """How one field is written on the line; names and meaning as in grammar.forms.Part."""

    kind: PartKind
    lead: str = ""
    key: str = ""
    value: ValueKind = "word"
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    refs: tuple[str, ...] = ()
    but: tuple[str, ...] = ()
    needs: str = ""
    shown: str = ""


class Secret:
    """Marks a field, in `Annotated`, whose value no step may keep: a password, a key, a link."""


class Args(BaseModel):
    """Base of all arguments: read only, nothing unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


ArgsT = TypeVar("ArgsT", bound=Args)


def checked(kind: type[ArgsT], values: Mapping[str, Any]) -> ArgsT:
    """Arguments made of what a form sent, such as `{"n": "3"}`. Raises CommandError
    INVALID_SYNTAX for what they cannot hold."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise CommandError(
            "INVALID_SYNTAX", f"{name} can't be {first['input']!r}.", hint=first["msg"]
        ) from None


def _as_ref(value: Any) -> Any:
    return parse_ref(value) if isinstance(value, str) else value


# A reference in a command's arguments: on the wire a text, inside a Ref.
RefField = Annotated[Ref, BeforeValidator(_as_ref), WithJsonSchema({"type": "string"})]


def form_of(verb: str, args: type[Args]) -> Form:
    """The written form of a command: one part a field, in the order of the fields."""
    return Form(verb, tuple(_part(name, field) for name, field in args.model_fields.items()))


def _part(name: str, field: Any) -> Part:
    written = next((m for m in field.metadata if isinstance(m, Written)), None)
    if written is None:
        raise TypeError(f"{name} does not say how it is written")
    optional = not field.is_required()
    return Part(
        name=name,
        kind=written.kind,
        optional=optional,
        lead=written.lead,
        key=written.key,
        value=written.value,
        default=field.get_default() if optional else None,
        minimum=written.minimum,
        maximum=written.maximum,
        choices=written.choices,
        many=written.many,
        refs=written.refs,
        but=written.but,
        needs=written.needs,
        shown=written.shown,
    )
