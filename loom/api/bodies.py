"""Request bodies: read within bounds, then checked by one frozen model each."""

from collections.abc import Mapping
from datetime import datetime
from math import isfinite
from typing import IO, Annotated, Any, Literal, TypeVar

from django.utils.dateparse import parse_datetime
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    create_model,
)
from pydantic_core import ErrorDetails, from_json, to_json
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from loom.commands import groves, marks, participants, people, saved
from loom.commands import trees as tree_commands
from loom.rules import options
from loom.rules.errors import CommandError
from loom.rules.options import SETTINGS
from loom.rules.permissions import Role, Scope
from loom.rules.providers import DEFAULT_CONTEXT

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 64


class BoundedJSON(BaseParser):
    """JSON of at most 8 MiB and 64 levels, UTF-8, finite numbers, whole characters."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """The value. LIMIT_EXCEEDED (413) over the bounds, INVALID_SYNTAX for the rest."""
        raw = stream.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"A body has at most {MAX_BYTES:,} bytes.",
                hint="send less at once",
                status=413,
            )
        return read_json(raw)


def read_json(raw: bytes) -> Any:
    """The value of JSON bytes within the bounds. The parser itself refuses what is no UTF-8,
    half a character, a constant such as NaN, and more than 200 levels."""
    try:
        value = from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        if "recursion limit" in str(error):
            raise _too_deep() from None
        raise CommandError(
            "INVALID_SYNTAX", f"The body is not JSON: {error}.", hint="send JSON in UTF-8"
        ) from None
    is_deep = raw.count(b"[") + raw.count(b"{") > MAX_DEPTH
    if is_deep or b"\\u0000" in raw or b"Infinity" in to_json(value, inf_nan_mode="constants"):
        _demand_storable(value)
    return value


def _too_deep() -> CommandError:
    said = f"A body has at most {MAX_DEPTH} levels."
    return CommandError("LIMIT_EXCEEDED", said, hint="flatten it", status=413)


def _demand_storable(value: Any) -> None:
    """Refuses U+0000, also in keys, infinite numbers, and more than MAX_DEPTH levels."""
    level, depth = [value], 0
    while level:
        below: list[Any] = []
        for one in level:
            if isinstance(one, list | dict):
                if depth == MAX_DEPTH:
                    raise _too_deep()
                below.extend(one)
                if isinstance(one, dict):
                    below.extend(one.values())
            elif isinstance(one, str) and "\0" in one:
                raise CommandError("INVALID_SYNTAX", "A text contains U+0000.", hint="remove it")
            elif isinstance(one, float) and not isfinite(one):
                raise CommandError(
                    "INVALID_SYNTAX", "A number is too large.", hint="send a smaller one"
                )
        level, depth = below, depth + 1


class Body(BaseModel):
    """Base of all bodies: nothing is converted, stripped or ignored. The schema describes
    them as they are read: what has a default may be left out."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, json_schema_mode_override="validation"
    )


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class Part(Body):
    """Base of bodies of which any field may be left out; what is not sent stays as it is.

    Defaults only make fields optional and are never read: `sent` is what counts.
    """

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    @property
    def sent(self) -> dict[str, Any]:
        """The fields that were sent, by name."""
        return self.model_dump(exclude_unset=True)


B = TypeVar("B", bound=Body)


def read(request: Request, model: type[B]) -> B:
    """The request's body as `model`. INVALID_SYNTAX with a plain sentence where it is not."""
    given = request.data
    if not isinstance(given, dict):
        raise CommandError(
            "INVALID_SYNTAX", "The body must be an object.", hint='such as {"name": …}'
        )
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False)[0], model) from None


# What pydantic finds → the sentence returned. {field} is where, the rest comes from its context.
_SAID = {
    "missing": "{field} is missing",
    "extra_forbidden": "there is no field {field} here",
    "string_type": "{field} must be a text",
    "int_type": "{field} must be a whole number",
    "float_type": "{field} must be a number",
    "bool_type": "{field} must be true or false",
    "list_type": "{field} must be a list",
    "dict_type": "{field} must be an object",
    "literal_error": "{field} must be {expected}",
    "string_too_short": "{field} must not be empty",
    "string_too_long": "{field} has at most {max_length} characters",
    "too_long": "{field} has at most {max_length} entries",
    "greater_than_equal": "{field} must be at least {ge:g}",
    "less_than_equal": "{field} must be at most {le:g}",
}
_OVER = {"string_too_long": 413, "too_long": 413, "less_than_equal": 429}


def _refusal(found: ErrorDetails, model: type[Body]) -> CommandError:
    kind = found["type"]
    field = ".".join(str(part) for part in found["loc"]) or "the body"
    said = _SAID.get(kind, "{field}: " + _plain(found["msg"])).format(
        field=field, **found.get("ctx", {})
    )
    sentence = said[0].upper() + said[1:] + "."
    names = (one.alias or name for name, one in model.model_fields.items())
    hint = f"fields: {', '.join(names)}"
    if kind in _OVER:
        return CommandError("LIMIT_EXCEEDED", sentence, hint=hint, status=_OVER[kind])
    return CommandError("INVALID_SYNTAX", sentence, hint=hint)


def _plain(message: str) -> str:
    return message.removeprefix("Value error, ").replace("{", "(").replace("}", ")")


# What is sent to the API: one frozen model a body.


MAX_TEXT = 1_000_000
Word = Annotated[str, Field(min_length=1, max_length=80)]


def _instant(value: Any) -> datetime:
    found = parse_datetime(value) if isinstance(value, str) else None
    if found is None or found.tzinfo is None:
        raise ValueError("must be a time with its zone, such as 2026-11-21T02:07:00Z")
    return found


Instant = Annotated[
    datetime,
    BeforeValidator(_instant),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]


class DraftSent(Body):
    """A draft. `seen`: the `at` of the draft as the writer saw it last, "" for none; another
    one is CONFLICT. Left out: whatever is kept is replaced."""

    kind: Literal["buffer", "edit", "note"]
    text: str
    seen: str | None = None


class LineSent(Body):
    """One command. `at`: a local id, what `here` means; `wait`: seconds until it must have
    been answered; `key`: a repeat with the same one, within
    HEDDLE_RECEIPT_DAYS, runs nothing twice. null is left out."""

    line: str
    dry_run: bool | None = False
    key: str | None = Field("", max_length=64)
    at: str | None = Field("", max_length=8)
    wait: float | None = Field(0, ge=0, le=120)


class TurnSent(Body):
    """A turn for a participant. `node`: where (else at the caller's position);
    `input`: the caller's words, which become a node first; `budget`: else the agent's own."""

    model_config = ConfigDict(populate_by_name=True)

    participant: str = Field(min_length=1, max_length=32)
    node: str = Field("", max_length=8)
    input: str = ""
    form: Literal["continuation", "aside"] = Field("continuation", alias="as")
    budget: Literal["", "quick", "standard", "thorough"] = ""


class StepsSent(Body):
    """How many steps more."""

    steps: int = Field(ge=1, le=500)


class GroveSent(Body):
    """A new grove."""

    name: str = Field(min_length=1, max_length=200)


class GroveChanged(Part):
    """What changes of a grove; of `settings` only those that are named."""

    name: str = Field("", min_length=1, max_length=200)
    settings: dict[str, Any] = {}


_KINDS: dict[str, Any] = {
    "integer": int | None,
    "number": float | None,
    "string": str | None,
    "boolean": bool | None,
    "object": dict[str, str] | None,
}
_SETTINGS: dict[str, Any] = {name: (_KINDS[one.kind], None) for name, one in SETTINGS.items()}
GroveSettings: type[Part] = create_model(
    "GroveSettings",
    __base__=Part,
    __doc__="Settings of a grove to change; null: back to the default.",
    **_SETTINGS,
)


class WorkspaceChanged(Part):
    """Settings of a workspace, those that are named; null: as in its grove or tree."""

    settings: dict[str, Any] = {}


class SettingsChanged(Part):
    """What changes of the caller's own settings; values as `GET settings` gives them."""

    name: str = Field("", max_length=people.MAX_SHOWN)
    theme: options.Theme = "system"
    language: str = Field("", max_length=20)
    prose: options.Prose = "serif"
    size: options.Size = "medium"
    width: options.Width = "medium"
    leading: options.Leading = "medium"
    align: options.Align = "start"
    nodes: options.Nodes = "full"
    paste: options.Paste = "plain"
    styled: bool = True
    temperature: float | None = Field(None, ge=0, le=2)
    edits: options.Edits = "ask"
    verbose: bool = False
    keys: dict[str, str] = {}


class TagChanged(Body):
    """A tag, and its new name or colour (empty: no colour); what is left out stays."""

    tag: str = Field(min_length=1, max_length=200)
    name: str = Field("", max_length=marks.MAX_TAG_NAME)
    colour: str | None = Field(None, max_length=40)


class TagNamed(Body):
    """A tag by its name."""

    tag: str = Field(min_length=1, max_length=200)


class SavedSent(Body):
    """What is kept under a name: a search (`q`, `type`, `tag`, …), a preset (`top_p`, `stop`, …),
    or an arrangement of windows (`lines` that open them); a `shared` preset is everybody's in the
    grove."""

    kind: saved.Kind
    name: str = Field(min_length=1, max_length=saved.MAX_NAME)
    body: dict[str, Any]
    shared: bool = False


class SavedRenamed(Body):
    """What is kept, by its id, and its new name."""

    id: str
    name: str = Field(min_length=1, max_length=saved.MAX_NAME)


class SavedNamed(Body):
    """What is kept, by its id."""

    id: str


class SettingsPinned(Body):
    """Settings that hold at a node and below it; {} takes them off."""

    node: str = Field(min_length=1, max_length=8)
    settings: dict[str, Any]


class SummariesSent(Body):
    """Of what summaries are wanted: nodes by their ids, and with `tree` a new one of the tree.
    `again`: also where there is one, or one has failed."""

    nodes: list[Annotated[str, Field(max_length=8)]] = Field(default_factory=list, max_length=100)
    tree: bool = False
    again: bool = False


class MemberNamed(Body):
    """A user by name."""

    user: str = Field(min_length=1, max_length=people.MAX_NAME)


class MemberSent(MemberNamed):
    """A user by name, and the role."""

    role: Role


class InvitationSent(Body):
    """Which role, for how many people, and until when (or for how many days)."""

    role: Role
    uses: int = Field(1, ge=1, le=groves.MAX_USES)
    days: float = Field(7, gt=0, le=groves.MAX_DAYS)
    expires_at: Instant | None = None


class PublicLinkSent(Body):
    """For how many days anybody may read the tree."""

    days: float = Field(7, gt=0, le=tree_commands.MAX_DAYS)


class LinkNamed(Body):
    """The id of an invitation or a public link."""

    id: str = Field(min_length=1, max_length=32)


class SearchServiceSent(Body):
    """The service by which a grove searches the web. `base_url`: empty for the kind's own;
    `api_key`: null keeps the one that is stored for this address; `price_usd`: of one search."""

    kind: str = Field(min_length=1, max_length=12)
    base_url: str = Field("", max_length=500)
    api_key: str | None = Field(None, max_length=500)
    allow_private: bool = False
    price_usd: float = Field(0, ge=0, le=10)


class ParticipantChanged(Part):
    """What changes of a model participant, in the words of the model; `api_key` is never
    shown again, and an empty one takes the old one away."""

    name: str = Field("", min_length=1, max_length=participants.MAX_NAME)
    model_ref: str = Field("", min_length=3, max_length=200)
    base_url: str = Field("", max_length=500)
    allow_private: bool = False
    auth: Literal["bearer", "basic", "none"] = "bearer"
    endpoint: Literal["chat", "completion"] = "chat"
    capabilities: list[Word] = Field([], max_length=32)
    persona: str = Field("", max_length=MAX_TEXT)
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=1_000_000)
    stop: list[Annotated[str, Field(min_length=1, max_length=1000)]] = Field([], max_length=16)
    context_limit: int = Field(DEFAULT_CONTEXT, ge=256, le=10_000_000)
    archetype: Literal["reader", "writer", "editor", "auditor"] = "writer"
    authority: int = Field(0, ge=0, le=3)
    budget: Literal["quick", "standard", "thorough"] = "standard"
    tool_filter: list[Word] = Field([], max_length=256)
    parallel: int = Field(12, ge=1, le=256)
    prices: dict[str, float] = Field({}, max_length=5)
    permissions: list[str] = Field([], max_length=32)
    loom_aware: bool = False
    archived: bool = False
    api_key: str | None = Field(None, max_length=2000)


class ParticipantSent(ParticipantChanged):
    """A new model participant; without `grove` one of the caller's first. `template`: the name of
    a template, or a model of the grove whose model, address and key it takes; then `model_ref` may
    be left out."""

    grove: str = ""
    kind: Literal["model"] = "model"
    template: str = Field("", max_length=64)
    name: str = Field(min_length=1, max_length=participants.MAX_NAME)


class TreeSent(Body):
    """A new tree; without `grove` one of the caller's first. `mode` stays for good."""

    title: str = Field("", max_length=tree_commands.MAX_TITLE)
    mode: Literal["dialogue", "buffer"]
    grove: str = ""
    description: str = Field("", max_length=MAX_TEXT)
    system_context: str = Field("", max_length=MAX_TEXT)


class TreeChanged(Part):
    """What changes of a tree; mode and grove never do. `seen`: fields as the sender has read them;
    one that is something else by now is not overwritten (CONFLICT)."""

    title: str = Field("", max_length=tree_commands.MAX_TITLE)
    description: str = Field("", max_length=MAX_TEXT)
    system_context: str = Field("", max_length=MAX_TEXT)
    summary: str = Field("", max_length=MAX_TEXT)
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] = "truncateMiddle"
    memory: str = Field("", max_length=MAX_TEXT)
    author_note: str = Field("", max_length=MAX_TEXT)
    note_depth: int = 3
    lore_scan: int = 2000
    lore_budget: int = 1000
    archived: bool = False
    seen: dict[str, str | int] = {}


class TreeTyped(Body):
    """The title of the tree, typed again."""

    title: str


class KeySent(Body):
    """What an API key is called, what it may do at most (`read`: look; `write`: what a writer
    may; `owner`: all that you may), and after how many days it ends (null: never)."""

    name: str = Field(min_length=1, max_length=people.MAX_KEY_NAME)
    scope: Scope = "owner"
    days: int | None = Field(None, ge=1, le=people.MAX_KEY_DAYS)


class PasswordSent(Body):
    """The old password (empty where there is none yet) and the new one."""

    old: str = Field("", max_length=1000)
    new: str = Field(min_length=people.MIN_PASSWORD, max_length=1000)
