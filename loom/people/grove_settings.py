"""The settings of a grove: names, defaults, allowed values. Each feature registers its own, in a
file of this name. Only values that were set are stored. Pure. See docs/model.md §14.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from loom.errors import CommandError, require
from loom.people.names import TAG_COLOURS

# The settings of a grove.

Kind = Literal["integer", "number", "string", "boolean", "object"]
MAX_COLOURS: Final = 1000
MAX_COLOUR: Final = 40  # characters of a tag or colour


@dataclass(frozen=True)
class Setting:
    """One setting: its default, its description (translated in pages), and for a number the
    `least` and `most`."""

    name: str
    kind: Kind
    default: Any
    says: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    of: str = ""  # the budget that it is part of

    def bounds(self) -> dict[str, Any]:
        """Its values as a JSON schema."""
        schema: dict[str, Any] = {"type": self.kind}
        if self.kind in ("integer", "number"):
            return {**schema, "minimum": self.least, "maximum": self.most}
        if self.kind == "string":
            return {
                **schema,
                "maxLength": 200,
                **({"enum": [*self.choices]} if self.choices else {}),
            }
        if self.kind == "object":
            return {**schema, "additionalProperties": {"type": "string", "enum": [*TAG_COLOURS]}}
        return schema

    def schema(self) -> dict[str, Any]:
        """It as a property of a JSON schema."""
        bounds = {"minimum": self.least, "maximum": self.most}
        return {
            "type": self.kind,
            "default": self.default,
            "description": f"{self.says} ({self.of})" if self.of else self.says,
            **{name: value for name, value in bounds.items() if value is not None},
            **({"enum": list(self.choices)} if self.choices else {}),
        }


def translated_in_pages(text: str) -> str:
    """The text itself; as `_` it marks a text that pages translate."""
    return text


def number(name: str, default: int, says: str, least: int, most: int, *, of: str = "") -> Setting:
    """A setting that is a whole number from `least` to `most`."""
    return Setting(name, "integer", default, says, least, most, of=of)


SETTINGS: Final[dict[str, Setting]] = {}


def add_settings(*settings: Setting) -> None:
    """Registers settings of a feature. Pages and the API list them in this order."""
    SETTINGS.update({setting.name: setting for setting in settings})


add_settings(Setting("tag_colours", "object", {}, "colours by tag name"))


def settings_schema() -> dict[str, Any]:
    """The JSON schema of the settings."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: setting.schema() for name, setting in SETTINGS.items()},
    }


def demand_settings(given: Mapping[str, Any]) -> None:
    """Raises INVALID_SYNTAX for unknown settings and values that are not allowed; None stands for
    the default."""
    unknown = next((name for name in given if name not in SETTINGS), None)
    if unknown is not None:
        hint = " or ".join(SETTINGS)
        raise CommandError("INVALID_SYNTAX", f"There is no setting {unknown[:40]!r}.", hint=hint)
    for name, value in given.items():
        if value is not None:
            _demand_one(SETTINGS[name], value)


def _demand_one(setting: Setting, value: Any) -> None:
    if setting.kind == "object":
        _demand_colours(value)
    elif setting.kind in ("integer", "number"):
        _demand_number(setting, value)
    elif setting.kind == "boolean" and not isinstance(value, bool):
        raise _wrong(f"{setting.name} is true or false.", setting.says)
    elif setting.kind == "string" and not (
        isinstance(value, str)
        and len(value) <= 200
        and (not setting.choices or value in setting.choices)
    ):
        words = " or ".join(choice or '""' for choice in setting.choices) or "a text"
        raise _wrong(f"{setting.name} is {words}.", setting.says)


def _demand_number(setting: Setting, value: Any) -> None:
    kinds = (int,) if setting.kind == "integer" else (int, float)
    least, most = (
        require(setting.least, "the least value"),
        require(setting.most, "the largest value"),
    )
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        whole = "a whole number" if setting.kind == "integer" else "a number"
        raise _wrong(f"{setting.name} is {whole} from {least:,.15g} to {most:,.15g}.", setting.says)


def _demand_colours(given: Any) -> None:
    if not isinstance(given, dict) or not all(
        isinstance(text, str) and len(text) <= MAX_COLOUR for text in [*given, *given.values()]
    ):
        raise _wrong("tag_colours must be an object of tags and colours.", '{"draft": "amber"}')
    unknown = next((colour for colour in given.values() if colour not in TAG_COLOURS), None)
    if unknown is not None:
        raise _wrong(f"{unknown!r} is not a colour of tags.", " or ".join(TAG_COLOURS))
    if len(given) > MAX_COLOURS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {MAX_COLOURS} tags have colours.",
            hint="remove the colour of another tag first",
            is_size=True,
        )


def _wrong(reason: str, hint: str) -> CommandError:
    return CommandError("INVALID_SYNTAX", reason, hint=hint)


# The settings of a grove, with their defaults.


def value_of(settings: Mapping[str, Any], name: str) -> Any:
    """A setting as it was set, else its default."""
    return settings.get(name, SETTINGS[name].default)


def number_of(settings: Mapping[str, Any], name: str) -> int:
    """A setting that is a whole number, as it was set, else its default."""
    return int(value_of(settings, name))


def values_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """All settings with their values."""
    return {name: value_of(settings, name) for name in SETTINGS}
