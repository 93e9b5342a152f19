"""The settings of groves and people: names, defaults and allowed values. Pure. See docs/model.md
§14.3.

Only values that were set are stored. `limits.value_of` and `limits.values_of` read the settings of
a grove with their defaults, and `read_preferences` those of a person.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final, Literal, get_args

from loom.rules import windows
from loom.rules.errors import CommandError
from loom.rules.names import TAG_COLOURS
from loom.rules.provider_kinds import RESERVE

# Budgets of turns: a grove can change the numbers of each.


BudgetName = Literal["quick", "standard", "thorough"]
STEPS_A_DAY: Final = 1000  # steps of one agent in one tree, in 24 hours
TOKENS: Final = 100_000
USUAL_BUDGET: Final[BudgetName] = "standard"


@dataclass(frozen=True)
class Budget:
    """What one turn may use: steps, nesting of windows, distinct items, rounds, time in
    milliseconds, and tokens sent and written. `day`: steps of the agent in a tree in 24 hours."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int = TOKENS
    day: int = STEPS_A_DAY


BUDGETS: Final[dict[BudgetName, Budget]] = {
    "quick": Budget(20, 3, 15, 3, 60_000),
    "standard": Budget(100, 10, 50, 12, 300_000),
    "thorough": Budget(500, 20, 200, 40, 1_200_000),
}


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
    assert one.least is not None and one.most is not None
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or not one.least <= value <= one.most:
        whole = "a whole number" if one.kind == "integer" else "a number"
        raise _wrong(f"{one.name} is {whole} from {one.least:,.15g} to {one.most:,.15g}.", one.says)


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
            status=413,
        )


def _wrong(said: str, hint: str) -> CommandError:
    return CommandError("INVALID_SYNTAX", said, hint=hint)


# Keyboard shortcuts.

Where = Literal["free", "typing", "any"]


@dataclass(frozen=True)
class Action:
    """What a key does. `where`: when nothing is being typed, only while typing, or always."""

    id: str
    combo: str
    where: Where = "free"


MOVES = (
    Action("parent", "ArrowLeft"),
    Action("child", "ArrowRight"),
    Action("sibling-before", "ArrowUp"),
    Action("sibling-after", "ArrowDown"),
    Action("root", "Home"),
    Action("leaf", "End"),
)
ACTIONS = (
    Action("command", "Mod+k", "any"),
    Action("find", "Mod+f", "any"),
    Action("keys", "?"),
    Action("send", "Mod+Enter", "any"),
    Action("stop", "Escape", "any"),
    Action("undo", "Mod+z"),
    Action("redo", "Mod+Shift+z"),
    *MOVES,
    Action("bookmark-before", "["),
    Action("bookmark-after", "]"),
    Action("walk", "w"),
    Action("hoist", "h"),
    *(Action(f"{one.id}-typing", f"Alt+{one.combo}", "typing") for one in MOVES),
    Action("continue", "g"),
    Action("edit", "e"),
    Action("respond", "r"),
    Action("annotate", "a"),
    Action("link", "l"),
    Action("bookmark", "b"),
    Action("prune", "x"),
    Action("split", "s"),
    Action("pin", "p"),
    Action("open", "o"),
    Action("stash", "S"),
    Action("compare", "c"),
    Action("more", "."),
    Action("focus", "f"),
    Action("read", "v"),
    *(Action(f"take-{number}", str(number)) for number in range(1, 10)),
)
ACTIONS_BY_ID = {action.id: action for action in ACTIONS}
NAMED = (
    "Enter|Escape|Backspace|Delete|Insert|Home|End|PageUp|PageDown|Space"
    "|ArrowLeft|ArrowRight|ArrowUp|ArrowDown|F[1-9]|F1[0-2]"
)
_COMBO = re.compile(rf"(Mod\+)?(Alt\+)?(Shift\+)?({NAMED}|[^\s\x00-\x1f])")
_ALONE_WHILE_TYPING = re.compile(r"Escape|F\d+")


def bound_keys(own: Mapping[str, str]) -> dict[str, str]:
    """Each action's shortcut, the person's own if they have set one; empty if it has none."""
    return {action.id: own.get(action.id, action.combo) for action in ACTIONS}


def checked_keys(given: Mapping[str, str]) -> dict[str, str]:
    """The shortcuts that differ from the defaults. Refuses those that cannot be pressed, would
    block typing, or are used twice in one place."""
    for name, combo in given.items():
        if name not in ACTIONS_BY_ID:
            raise CommandError("NOT_FOUND", f"There is no action {name}.", hint="reload the page")
        if combo:
            _demand_pressable(ACTIONS_BY_ID[name], combo)
    own = {name: combo for name, combo in given.items() if combo != ACTIONS_BY_ID[name].combo}
    _demand_apart(bound_keys(own))
    return own


def _demand_pressable(action: Action, combo: str) -> None:
    found = _COMBO.fullmatch(combo)
    if found is None:
        raise CommandError("INVALID_SYNTAX", f"{combo} is not a key.", hint="press it in its field")
    mod, alt, shift, key = found.groups()
    if alt and (mod or len(key) == 1):
        raise CommandError(
            "INVALID_SYNTAX",
            f"{combo} types a symbol on some keyboards.",
            hint="choose Ctrl, or Alt with an arrow",
        )
    if shift and len(key) == 1 and not mod:
        raise CommandError("INVALID_SYNTAX", f"{combo} already includes Shift.", hint="press it")
    if action.where != "free" and not (mod or alt or _ALONE_WHILE_TYPING.fullmatch(key)):
        raise CommandError(
            "INVALID_SYNTAX",
            f"{combo} would block typing, because this action also works while you type.",
            hint="add Ctrl, or Alt with an arrow",
        )


def _demand_apart(combos: Mapping[str, str]) -> None:
    held: dict[tuple[str, str], str] = {}
    for name, combo in combos.items():
        where = ACTIONS_BY_ID[name].where
        for place in ("free", "typing") if where == "any" else (where,):
            before = held.setdefault((combo, place), name)
            if combo and before != name:
                raise CommandError(
                    "CONFLICT",
                    f"{combo} is used twice: for {before} and {name}.",
                    hint="give one of them another key",
                )


# The preferences of one person: fonts, nodes, defaults. Stored as plain values per user.

Prose = Literal["serif", "sans", "mono"]
Size = Literal["small", "medium", "large", "larger"]
Width = Literal["narrow", "medium", "wide"]
Leading = Literal["tight", "medium", "loose"]
Align = Literal["start", "justified"]
Paste = Literal["plain", "markdown"]
Nodes = Literal["full", "quiet", "plain"]
Edits = Literal["ask", "version", "fork"]
Theme = Literal["system", "light", "dark"]
THEMES: tuple[str, ...] = get_args(Theme)
CHOICES: dict[str, tuple[str, ...]] = {
    "prose": get_args(Prose),
    "size": get_args(Size),
    "width": get_args(Width),
    "leading": get_args(Leading),
    "align": get_args(Align),
    "nodes": get_args(Nodes),
    "paste": get_args(Paste),
    "edits": get_args(Edits),
}
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8}){0,2}")


@dataclass(frozen=True)
class Preferences:
    """The preferences of one person. `temperature`: 0 to 2, or None for the model's own;
    `language`: a language code, or "" for the browser's; `styled`: whether Markdown in a buffer is
    rendered; `paste`: what becomes of pasted formatted text."""

    prose: Prose = "serif"
    size: Size = "medium"
    width: Width = "medium"
    leading: Leading = "medium"
    align: Align = "start"
    nodes: Nodes = "full"
    paste: Paste = "plain"
    styled: bool = True
    temperature: float | None = None
    edits: Edits = "ask"
    verbose: bool = False
    language: str = ""
    keys: dict[str, str] = field(default_factory=dict)

    @property
    def stored(self) -> dict[str, Any]:
        """As JSON: only what differs from the defaults."""
        first = asdict(Preferences())
        return {name: value for name, value in asdict(self).items() if value != first[name]}


def read_preferences(stored: object) -> Preferences:
    """The stored preferences; those that this version does not know are left out."""
    known = {one.name for one in fields(Preferences)}
    given = stored if isinstance(stored, dict) else {}
    fits = {name: value for name, value in given.items() if name in known and _fits(name, value)}
    return Preferences(**fits)


def keys_of(stored: object) -> dict[str, str]:
    """The person's own shortcuts, by action, from what is stored."""
    return read_preferences(stored).keys


def language_of(stored: object) -> str:
    """The person's language, from what is stored; "" for that of the browser."""
    return read_preferences(stored).language


def _fits(name: str, value: object) -> bool:
    if name in CHOICES:
        return value in CHOICES[name]
    if name == "temperature":
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return value is None or (is_number and 0 <= value <= 2)  # type: ignore[operator]
    if name == "language":
        return isinstance(value, str) and (not value or bool(_LANGUAGE.fullmatch(value)))
    if name in ("verbose", "styled"):
        return isinstance(value, bool)
    is_table = isinstance(value, dict)
    return is_table and all(
        one in ACTIONS_BY_ID and isinstance(combo, str)
        for one, combo in value.items()  # type: ignore[attr-defined]
    )


def changed_preferences(before: Preferences, given: Mapping[str, Any]) -> Preferences:
    """The preferences with some changes. Refuses unknown names and invalid values."""
    wanted = dict(given)
    if isinstance(wanted.get("keys"), dict):
        wanted["keys"] = checked_keys(wanted["keys"])
    for name, value in wanted.items():
        if name not in asdict(before) or not _fits(name, value):
            hint = f"one of {', '.join(CHOICES[name])}" if name in CHOICES else "see settings"
            raise CommandError("INVALID_SYNTAX", f"{name} can't be {value!r}.", hint=hint)
    return Preferences(**{**asdict(before), **wanted})
