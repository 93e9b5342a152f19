"""The settings of a grove: names, defaults, allowed values. Only values that were set are
stored. Pure. See docs/model.md §14.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from loom.errors import CommandError, require
from loom.language.portals import MOST_DEEP
from loom.money.prices import NANO
from loom.participants.provider_kinds import RESERVE
from loom.people.names import TAG_COLOURS
from loom.turns.budgets import BUDGETS, STEPS_A_DAY, Budget, budget_of
from loom.workspace import window_rules as windows

# The settings of a grove.

Kind = Literal["integer", "number", "string", "boolean", "object"]
DAILY_USD: Final = 1.0
MAX_COLOURS: Final = 1000
MAX_COLOUR: Final = 40  # characters of a tag or colour
MOST_OF_A_RESULT: Final = 1_000_000  # tokens


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
        found: dict[str, Any] = {"type": self.kind}
        if self.kind in ("integer", "number"):
            return {**found, "minimum": self.least, "maximum": self.most}
        if self.kind == "string":
            return {
                **found,
                "maxLength": 200,
                **({"enum": [*self.choices]} if self.choices else {}),
            }
        if self.kind == "object":
            return {**found, "additionalProperties": {"type": "string", "enum": [*TAG_COLOURS]}}
        return found

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


def _(text: str) -> str:
    """Marks a text that pages translate."""
    return text


def _number(name: str, default: int, says: str, least: int, most: int, *, of: str = "") -> Setting:
    return Setting(name, "integer", default, says, least, most, of=of)


def _of_budget(of: str, budget: Budget) -> list[Setting]:
    seconds = budget.milliseconds // 1000
    return [
        _number(f"{of}_steps", budget.steps, _("lines of a turn"), 1, 100_000, of=of),
        _number(f"{of}_depth", budget.depth, _("nested windows of a turn"), 1, 100, of=of),
        _number(f"{of}_items", budget.items, _("different items of a turn"), 1, 100_000, of=of),
        _number(f"{of}_rounds", budget.rounds, _("rounds of a turn"), 1, 1_000, of=of),
        _number(f"{of}_seconds", seconds, _("seconds of a turn"), 1, 86_400, of=of),
        _number(f"{of}_tokens", budget.tokens, _("tokens of a turn"), 1_000, 100_000_000, of=of),
    ]


SETTINGS: Final[dict[str, Setting]] = {
    one.name: one
    for one in (
        Setting(
            "daily_budget_usd",
            "number",
            DAILY_USD,
            "US dollars that each member may spend per day; 0: no limit",
            0,
            1e9,
        ),
        _number(
            "result_threshold",
            0,
            _(
                "results of up to this many tokens are sent whole; 0: a tenth of the model's "
                "context, at least 4,000"
            ),
            0,
            MOST_OF_A_RESULT,
        ),
        Setting(
            "summary_model",
            "string",
            "",
            "the id of the model that makes summaries; empty: the first with a key; none: no "
            "summaries",
        ),
        _number("summary_words", 30, _("words up to which a text is its own summary"), 1, 1_000),
        _number("summary_tokens", 50, _("tokens of the summary of a node"), 8, 2_000),
        _number(
            "tree_summary_tokens", 120, _("tokens of the summary of a tree or document"), 8, 4_000
        ),
        _number(
            "tree_summary_every",
            10,
            _("new nodes after which the summary of a tree is updated"),
            1,
            1000,
        ),
        _number("truncation_kept", 4, _("number of last nodes that truncateMiddle keeps"), 1, 100),
        _number("truncation_reserve", RESERVE, _("tokens reserved for the answer"), 0, 100_000),
        _number("earlier_step", 8, _("nodes by which EARLIER grows"), 1, 100),
        _number(
            "trace_actions", 10, _("number of last actions in MEMORY and memory trace"), 1, 100
        ),
        _number("path_nodes", 12, _("number of last path nodes in PATH"), 1, 200),
        _number("outline_lines", 30, _("lines of OUTLINE"), 5, 500),
        _number("windows_share", 25, _("percent of the context for windows"), 1, 90),
        _number(
            "windows_visible", windows.MOST_VISIBLE, _("maximum number of visible windows"), 1, 500
        ),
        _number("portal_depth", MOST_DEEP, _("how deep portals lie inside portals"), 1, 40),
        _number(
            "windows_warn_lines", windows.WARNED, _("lines above which STATUS warns"), 1, 100_000
        ),
        _number("stashes", windows.MOST_STASHED, _("maximum number of stashed texts"), 1, 2_000),
        _number(
            "window_lines_max",
            0,
            _("maximum number of lines of all windows; 0: no limit"),
            0,
            1_000_000,
        ),
        Setting(
            "evict",
            "string",
            "",
            _("lru: over that limit, hide what was shown least recently; empty: refuse"),
            choices=("", "lru"),
        ),
        Setting("auto_open", "boolean", False, _("open items that the request of a turn names")),
        _number(
            "active_seconds",
            60,
            _("seconds for which others count as active after a line"),
            1,
            3_600,
        ),
        _number("continue_max", 10, _("maximum number of continuations per line"), 1, 10),
        _number("ask_depth", 1, _("turns in a row in which agents ask one another"), 1, 3),
        _number(
            "steps_a_day",
            STEPS_A_DAY,
            _("steps of an agent in a tree in 24 hours"),
            1,
            10**6,
        ),
        *(one for name, budget in BUDGETS.items() for one in _of_budget(name, budget)),
        Setting("tag_colours", "object", {}, "colours by tag name"),
    )
}


def settings_schema() -> dict[str, Any]:
    """The JSON schema of the settings."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {name: one.schema() for name, one in SETTINGS.items()},
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


def _demand_one(one: Setting, value: Any) -> None:
    if one.kind == "object":
        _demand_colours(value)
    elif one.kind in ("integer", "number"):
        _demand_number(one, value)
    elif one.kind == "boolean" and not isinstance(value, bool):
        raise _wrong(f"{one.name} is true or false.", one.says)
    elif one.kind == "string" and not (
        isinstance(value, str) and len(value) <= 200 and (not one.choices or value in one.choices)
    ):
        words = " or ".join(choice or '""' for choice in one.choices) or "a text"
        raise _wrong(f"{one.name} is {words}.", one.says)


def _demand_number(one: Setting, value: Any) -> None:
    kinds = (int,) if one.kind == "integer" else (int, float)
    least, most = require(one.least, "the least value"), require(one.most, "the largest value")
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        whole = "a whole number" if one.kind == "integer" else "a number"
        raise _wrong(f"{one.name} is {whole} from {least:,.15g} to {most:,.15g}.", one.says)


def _demand_colours(given: Any) -> None:
    if not isinstance(given, dict) or not all(
        isinstance(one, str) and len(one) <= MAX_COLOUR for one in [*given, *given.values()]
    ):
        raise _wrong("tag_colours must be an object of tags and colours.", '{"draft": "amber"}')
    unknown = next((one for one in given.values() if one not in TAG_COLOURS), None)
    if unknown is not None:
        raise _wrong(f"{unknown!r} is not a colour of tags.", " or ".join(TAG_COLOURS))
    if len(given) > MAX_COLOURS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {MAX_COLOURS} tags have colours.",
            hint="remove the colour of another tag first",
            is_size=True,
        )


def _wrong(said: str, hint: str) -> CommandError:
    return CommandError("INVALID_SYNTAX", said, hint=hint)


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


def daily_limit(settings: Mapping[str, Any]) -> int:
    """The limit per day and member of a grove with these settings, in billionths of a dollar; 0
    means no limit."""
    return round(float(value_of(settings, "daily_budget_usd")) * NANO)


def budget_in(preset: str, settings: Mapping[str, Any]) -> Budget:
    """The budget of a preset in a grove with these settings. Raises INVALID_SYNTAX for an unknown
    preset."""
    budget_of(preset)
    return Budget(
        steps=number_of(settings, f"{preset}_steps"),
        depth=number_of(settings, f"{preset}_depth"),
        items=number_of(settings, f"{preset}_items"),
        rounds=number_of(settings, f"{preset}_rounds"),
        milliseconds=number_of(settings, f"{preset}_seconds") * 1000,
        tokens=number_of(settings, f"{preset}_tokens"),
        day=number_of(settings, "steps_a_day"),
    )
