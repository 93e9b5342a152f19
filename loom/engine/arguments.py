"""Arguments of a command: a frozen model, how each field is written on a line, and the form that
follows from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from loom.errors import CommandError
from loom.language.arguments import parse_place
from loom.language.forms import Form, FormPart, PartKind, ValueKind
from loom.language.refs import DocumentPlace, Ref
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
    bare: bool = False
    strict: bool = False


SHOWN = 80  # characters of a wrong value in a refusal


class Secret:
    """Marks a field, in `Annotated`, that no step may store: a password, a key, a link."""


class Args(BaseModel):
    """Base class of all arguments: read-only, and unknown fields are refused. What checks them is
    made by their first use: no process uses all."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True
    )


ArgsT = TypeVar("ArgsT", bound=Args)


def checked(kind: type[ArgsT], values: Mapping[str, Any]) -> ArgsT:
    """Arguments from what a form sent, such as `{"n": "3"}`. Raises CommandError INVALID_SYNTAX if
    they are not valid."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        raise refusal_of(error) from None


def refusal_of(error: ValidationError) -> CommandError:
    """The refusal of arguments that are not valid: about the first field that is wrong."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing" and name == "content":  # a field of a form that was left empty
        return CommandError("INVALID_SYNTAX", "The text is empty.", hint="Write something.")
    if first["type"] == "missing":
        return CommandError("INVALID_SYNTAX", f"{name} is missing.", hint=f"give {name}")
    if first["type"] == "extra_forbidden":
        return CommandError("INVALID_SYNTAX", f"There is no argument {name}.", hint="leave it out")
    shown = repr(first["input"])
    if len(shown) > SHOWN:
        shown = f"{shown[:SHOWN]}…"
    hint = "send a list" if first["type"] == "tuple_type" else first["msg"]
    return CommandError("INVALID_SYNTAX", f"{name} can't be {shown}.", hint=hint)


def written_of(args: type[Args]) -> dict[str, Written]:
    """How each field of a command's arguments is written on a line."""
    return {
        name: written
        for name, field in args.model_fields.items()
        for written in field.metadata
        if isinstance(written, Written)
    }


def schema_of(args: type[Args]) -> dict[str, Any]:
    """The JSON schema of a command's arguments. A literal word, such as `clear`, is given as
    true."""
    schema = args.model_json_schema()
    for name, written in written_of(args).items():
        if written.kind == "word" and written.lead:
            schema["properties"][name] = {
                "const": True,
                "title": schema["properties"][name]["title"],
            }
    return schema


def _as_ref(value: Any) -> Any:
    return parse_ref(value) if isinstance(value, str) else value


# A reference in a command's arguments: text in JSON, a Ref in Python.
RefField = Annotated[Ref, BeforeValidator(_as_ref), WithJsonSchema({"type": "string"})]


def _as_place(value: Any) -> Any:
    return parse_place(value) if isinstance(value, str) else value


# A place in a document: `start`, `end`, `line:12` or `§heading` in JSON, a DocumentPlace in Python.
PlaceField = Annotated[
    DocumentPlace, BeforeValidator(_as_place), WithJsonSchema({"type": "string"})
]


def form_of(verb: str, args: type[Args], *, makes_window: bool = False) -> Form:
    """The written form of a command: one part for each field, in the order of the fields."""
    parts = tuple(_part(name, field) for name, field in args.model_fields.items())
    return Form(verb, parts, makes_window)


def _part(name: str, field: Any) -> FormPart:
    written = next((m for m in field.metadata if isinstance(m, Written)), None)
    if written is None:
        raise TypeError(f"{name} does not say how it is written")
    optional = not field.is_required()
    return FormPart(
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
        bare=written.bare,
        strict=written.strict,
    )
