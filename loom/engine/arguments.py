"""Arguments of a command: a frozen model, how each field is written on a line, and the form that
follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from loom.errors import CommandError
from loom.language.forms import Form, Part, PartKind, ValueKind
from loom.language.refs import Ref
from loom.language.slices import parse_ref


@dataclass(frozen=True)
class Written:
    """How one field is written on the line; the names mean the same as in grammar.forms.Part."""

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
    """Marks a field, in `Annotated`, that no step may store: a password, a key, a link."""


class Args(BaseModel):
    """Base class of all arguments: read-only, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


ArgsT = TypeVar("ArgsT", bound=Args)


def checked(kind: type[ArgsT], values: Mapping[str, Any]) -> ArgsT:
    """Arguments from what a form sent, such as `{"n": "3"}`. Raises CommandError INVALID_SYNTAX if
    they are not valid."""
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


# A reference in a command's arguments: text in JSON, a Ref in Python.
RefField = Annotated[Ref, BeforeValidator(_as_ref), WithJsonSchema({"type": "string"})]


def form_of(verb: str, args: type[Args], *, makes_window: bool = False) -> Form:
    """The written form of a command: one part for each field, in the order of the fields."""
    parts = tuple(_part(name, field) for name, field in args.model_fields.items())
    return Form(verb, parts, makes_window)


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
