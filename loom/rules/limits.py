"""Limits of a participant: permissions, the settings of its grove, the budget of a turn, loops,
and how long its windows stay visible. Pure.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final, Literal

from loom.grammar.batches import MAX_COMMANDS
from loom.rules.errors import CommandError
from loom.rules.options import BUDGETS, SETTINGS, Budget
from loom.rules.providers import NANO

# Roles, the permissions of docs/model.md §5.1, and advice if one is missing.


Role = Literal["reader", "writer", "owner"]


class Permission(StrEnum):
    """A permission of an actor. The order is that of the table in docs/model.md §5.1, and of every
    list of permissions that is stored or shown."""

    LOOM = "loom_aware"
    WRITE = "loom_write"
    GENERATE = "loom_generate"
    READ_DOCUMENTS = "doc_read"
    WRITE_DOCUMENTS = "doc_write"
    CROSS_TREE = "cross_tree"
    WEB_SEARCH = "web_search"


LOOM, WRITE, GENERATE = Permission.LOOM, Permission.WRITE, Permission.GENERATE
READ_DOCUMENTS, WRITE_DOCUMENTS = Permission.READ_DOCUMENTS, Permission.WRITE_DOCUMENTS
CROSS_TREE, WEB_SEARCH = Permission.CROSS_TREE, Permission.WEB_SEARCH
# The highest role that an API key allows: reader, writer, or that of its person.
Scope = Literal["read", "write", "owner"]
SCOPES: tuple[Scope, ...] = ("read", "write", "owner")
_ROLE_OF_SCOPE: dict[Scope, Role] = {"read": "reader", "write": "writer", "owner": "owner"}
ROLES: tuple[Role, ...] = ("reader", "writer", "owner")
_ALL = frozenset(Permission)
OF_ROLE: dict[Role, frozenset[Permission]] = {
    "reader": frozenset({LOOM, READ_DOCUMENTS, CROSS_TREE}),
    "writer": _ALL,
    "owner": _ALL,
}
Preset = Literal["collaborator", "analysis", "subject"]
# Presets of an agent's permissions: all, looking and reading, or text only.
PRESETS: dict[Preset, tuple[Permission, ...]] = {
    "collaborator": tuple(Permission),
    "analysis": (LOOM, READ_DOCUMENTS),
    "subject": (),
}
# The permissions that a permission requires.
NEEDS: dict[Permission, Permission] = {
    WRITE: LOOM,
    GENERATE: LOOM,
    WRITE_DOCUMENTS: READ_DOCUMENTS,
}


def limited(role: Role, scope: Scope) -> Role:
    """The role, or a lower one if the scope of the key does not allow it."""
    most = _ROLE_OF_SCOPE[scope]
    return min(role, most, key=ROLES.index)


def named(names: Iterable[str]) -> frozenset[Permission]:
    """The permissions with these names. ValueError for an unknown name."""
    return frozenset(map(Permission, names))


def in_order(permissions: Collection[str]) -> list[str]:
    """The names of the permissions, in the order of the table."""
    return [one.value for one in Permission if one in permissions]


def lacking(needed: frozenset[Permission], held: frozenset[Permission]) -> list[str]:
    """The names of needed permissions that are missing, in the order of the table."""
    return in_order(needed - held)


def remedy(needed: frozenset[Permission], role: Role, *, asked_by: str = "") -> str:
    """Advice about a missing permission, for a person with that role, or for an agent in a turn
    that somebody with that role started."""
    if not asked_by:
        return "Ask an owner of the grove to make you a writer."
    if lacking(needed, OF_ROLE[role]):
        return f"{asked_by}, who started this turn, may not do this either; conclude without it."
    return (
        "An owner of the grove can give you this permission; "
        "→ help marks with * what you may not use."
    )


def preset_of(names: Iterable[str]) -> Preset | None:
    """The preset that gives exactly these permissions."""
    held = set(names)
    return next((preset for preset, given in PRESETS.items() if set(given) == held), None)


def broken_rule(names: list[str]) -> str:
    """The sentence about the rule that a list of permission names breaks; "" if it breaks none."""
    known = in_order(tuple(Permission))
    unknown = [name for name in names if name not in known]
    if unknown:
        return f"There is no permission {unknown[0]!r}; there are {', '.join(known)}."
    for permission, base in NEEDS.items():
        if permission in names and base not in names:
            return f"{permission} needs {base} too."
    return ""


# The settings of a grove, with their defaults.


def value_of(settings: Mapping[str, Any], name: str) -> Any:
    """A setting as it was set, else its default."""
    return settings.get(name, SETTINGS[name].default)


def number_of(settings: Mapping[str, Any], name: str) -> int:
    """The same, for a setting that is a whole number."""
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
    plain = budget_of(preset)
    return Budget(
        steps=number_of(settings, f"{preset}_steps"),
        depth=number_of(settings, f"{preset}_depth"),
        items=number_of(settings, f"{preset}_items"),
        rounds=number_of(settings, f"{preset}_rounds"),
        milliseconds=number_of(settings, f"{preset}_seconds") * 1000,
        tokens=plain.tokens,
        day=number_of(settings, "steps_a_day"),
    )


# The budget of a turn, and what it has used.

Next = Literal["go on", "conclude", "end"]
HOURS_OF_A_DAY: Final = 24
BEYOND: Final = 20  # lines of a round that are read in addition to the steps of the turn
# Verbs that still run when the budget is used up.
ALWAYS: Final = frozenset({"help", "budget", "think"})


@dataclass(frozen=True)
class Spent:
    """What a turn has used. `depth` is the nesting depth of windows, including those of the next
    line; `rounds` counts finished ones; `steps_today` are the agent's in this tree."""

    steps: int = 0
    depth: int = 0
    items: int = 0
    rounds: int = 0
    milliseconds: int = 0
    tokens: int = 0
    steps_today: int = 0


def budget_of(preset: str) -> Budget:
    """The budget of a preset. Raises INVALID_SYNTAX for any other word."""
    for name, budget in BUDGETS.items():
        if name == preset:
            return budget
    raise CommandError(
        "INVALID_SYNTAX",
        f"There is no budget {preset[:40]!r}.",
        hint=f"there are {', '.join(BUDGETS)}",
    )


def extended(budget: Budget, steps: int) -> Budget:
    """The budget with this many more steps, as granted after `budget extend`."""
    return replace(budget, steps=budget.steps + steps)


def what_is_over(budget: Budget, spent: Spent) -> str | None:
    """The sentence about the first part of the budget that is used up; None while lines may run. A
    number is used up when it reaches its limit; the depth only when it exceeds it, so that windows
    at the deepest level can still be used and closed.
    """
    if spent.steps_today >= budget.day:
        return f"All {budget.day:,} steps of this agent here in {HOURS_OF_A_DAY} hours are used."
    used = (
        ("steps", spent.steps, budget.steps),
        ("items", spent.items, budget.items),
        ("rounds", spent.rounds, budget.rounds),
        ("tokens", spent.tokens, budget.tokens),
    )
    for name, have, most in used:
        if have >= most:
            return f"All {most:,} {name} of this turn are used."
    if spent.milliseconds >= budget.milliseconds:
        return f"The time of this turn, {clock(budget.milliseconds)}, is over."
    if spent.depth > budget.depth:
        return f"Windows lie at most {budget.depth} deep in this turn."
    return None


def is_late(budget: Budget, spent: Spent) -> bool:
    """Whether the time of a turn is over."""
    return spent.milliseconds >= budget.milliseconds


def may_still_run(verb: str) -> bool:
    """Whether a verb runs even if the budget is used up."""
    return verb in ALWAYS


def refusal(budget: Budget, spent: Spent, verb: str) -> CommandError | None:
    """LIMIT_EXCEEDED for a line with this verb, or None if it may run."""
    over = what_is_over(budget, spent)
    if over is None or may_still_run(verb):
        return None
    return CommandError(
        "LIMIT_EXCEEDED",
        over,
        hint="write your answer now, without further commands; → budget shows what is left",
    )


def most_lines(budget: Budget) -> int:
    """How many lines of one round are read: lines that still run without a budget, and refused
    ones, need a limit too."""
    return min(budget.steps + BEYOND, MAX_COMMANDS)


def not_run(over: int, budget: Budget) -> str:
    """The message about the lines of a reply that were over the limit and not read."""
    return (
        f"! LIMIT_EXCEEDED: {over:,} lines more were not run. At most {most_lines(budget)} lines"
        " of a reply are: send the others in your next reply."
    )


def next_round(budget: Budget, spent: Spent, *, concluding: bool) -> Next:
    """What follows a round that asks for another one: a round, the last round that may only
    conclude, or, after that (`concluding`), the end."""
    if concluding:
        return "end"
    return "conclude" if what_is_over(budget, replace(spent, depth=0)) else "go on"


def shown(budget: Budget, spent: Spent) -> str:
    """`steps 6/100 · depth 2/10 · items 9/50 · rounds 1/12 · 0:21/5:00`, as STATUS and the page
    show it."""
    return " · ".join(
        (
            f"steps {spent.steps}/{budget.steps}",
            f"depth {spent.depth}/{budget.depth}",
            f"items {spent.items}/{budget.items}",
            f"rounds {spent.rounds}/{budget.rounds}",
            f"{clock(spent.milliseconds)}/{clock(budget.milliseconds)}",
        )
    )


def clock(milliseconds: int) -> str:
    """Elapsed minutes and seconds: `0:21`, `5:00`, `75:09`."""
    minutes, seconds = divmod(max(milliseconds, 0) // 1000, 60)
    return f"{minutes}:{seconds:02}"


# Detection of loops, and the reaction to them (docs/model.md §7).

Decision = Literal["run", "warn", "refuse", "halt"]
Status = Literal["ok", "exact", "structural", "semantic"]
HISTORY: Final = 100  # steps of a turn that are considered
LONGEST: Final = 6  # steps of a block that repeats
TIMES: Final = 3  # repetitions of a block at the end that count as a loop
GRAM: Final = 3  # characters
# Two texts count as the same if the cosine is above 0.95: its square as a fraction, so that only
# whole numbers are compared.
_SQUARE: Final = (361, 400)
_DECISIONS: Final[tuple[Decision, ...]] = ("run", "warn", "refuse", "halt")


@dataclass(frozen=True)
class Past:
    """One step, or the line that would be next. `line` is canonical, or as given if it could not
    be parsed; `items` are those it touches, each with its version; `changed` says whether it
    changed the tree or grove (a refused line did not, and a thought does not count, because
    thinking would hide every loop); `moved`, whether it changed what the agent has in view, as
    `hide`, `back` and `todo toggle` do; `failed`, whether it was refused by itself, so that it may
    run once something else has run; `result` names the window of its answer, such as `#14`.
    """

    seq: int
    line: str
    position: str
    items: tuple[tuple[str, str], ...] = ()
    changed: bool = False
    result: str = ""
    moved: bool = False
    failed: bool = False


@dataclass(frozen=True)
class Said:
    """The prose of one round, and whether one of its lines changed the tree or grove."""

    text: str
    changed: bool = False


@dataclass(frozen=True)
class Verdict:
    """The decision about a line (or, by `semantic`, about a turn) and its reason: `earlier` is the
    repeated step, or for `semantic` the repeated round, counted from 1; if the line is not run,
    the position goes back to `position`."""

    decision: Decision = "run"
    status: Status = "ok"
    earlier: int = 0
    position: str = ""
    result: str = ""

    @property
    def warning(self) -> str:
        """The warning that is added to the answer; "" if there is none."""
        return "" if self.decision == "run" else f"! {self.message} Next time it is not run."

    @property
    def message(self) -> str:
        """What repeats, as a sentence."""
        if self.status == "exact":
            return f"This is step {self.earlier} again, and nothing it touches has changed."
        if self.status == "structural":
            return f"Your steps repeat since step {self.earlier}, and nothing has changed."
        return f"What you write is what you wrote in round {self.earlier}."

    @property
    def refusal(self) -> CommandError:
        """LOOP, with a reference to what is repeated."""
        there = f"its answer is {self.result}; " if self.result else ""
        halted = "the turn was halted; " if self.decision == "halt" else ""
        return CommandError(
            "LOOP", self.message, hint=f"{halted}{there}look at something else, or conclude"
        )


OK: Final = Verdict()


def look(past: Sequence[Past], now: Past) -> Verdict:
    """The decision about the line `now` after the steps `past`, oldest first."""
    recent = _since_change(past[-HISTORY:])
    found = (_exact(recent, now), _structural(recent, now))
    return max(found, key=lambda verdict: _DECISIONS.index(verdict.decision))


def _since_change(past: Sequence[Past]) -> Sequence[Past]:
    last = max((at for at, one in enumerate(past) if one.changed), default=-1)
    return past[last + 1 :]


def _exact(past: Sequence[Past], now: Past) -> Verdict:
    ran = max((at for at, one in enumerate(past) if not one.failed), default=-1)
    same = [
        one
        for at, one in enumerate(past)
        if _state(one) == _state(now) and not one.moved and (at > ran or not one.failed)
    ]
    return _verdict("exact", len(same), same[0]) if same else OK


def _state(one: Past) -> tuple[object, ...]:
    return one.line, one.position, one.items


def _structural(past: Sequence[Past], now: Past) -> Verdict:
    pairs = [(one.line, one.items) for one in (*past, now)]
    for size in range(1, LONGEST + 1):
        length = _periodic(pairs, size)
        if length >= TIMES * size:
            first = (*past, now)[len(pairs) - length]
            return _verdict("structural", length - TIMES * size + 1, first)
    return OK


def _periodic(pairs: Sequence[object], size: int) -> int:
    """How many of the last pairs equal the pair `size` before them, including that first block."""
    at = len(pairs) - 1
    while at >= size and pairs[at] == pairs[at - size]:
        at -= 1
    return len(pairs) - 1 - at + size


def _verdict(status: Status, times: int, earlier: Past) -> Verdict:
    decision = _DECISIONS[min(times, len(_DECISIONS) - 1)]
    return Verdict(decision, status, earlier.seq, earlier.position, earlier.result)


def semantic(rounds: Sequence[Said]) -> Verdict:
    """Whether the prose of the last round repeats earlier rounds of the turn: if one since the
    last change of the tree or grove is alike, warn; if two, halt. Rounds of under three characters
    are ignored."""
    if not rounds:
        return OK
    since = max((at for at, one in enumerate(rounds[:-1]) if one.changed), default=-1) + 1
    now = grams(rounds[-1].text)
    alike = [at for at in range(since, len(rounds) - 1) if is_alike(grams(rounds[at].text), now)]
    if not alike or rounds[-1].changed:
        return OK
    return Verdict("halt" if len(alike) > 1 else "warn", "semantic", alike[0] + 1)


def grams(text: str) -> Counter[str]:
    """The trigrams of a text in lower case, with whitespace collapsed, and their counts."""
    plain = " ".join(text.lower().split())
    return Counter(plain[at : at + GRAM] for at in range(len(plain) - GRAM + 1))


def is_alike(one: Counter[str], other: Counter[str]) -> bool:
    """Whether the cosine of two texts is above 0.95, strictly."""
    dot = sum(count * other[gram] for gram, count in one.items() if gram in other)
    sizes = _size(one) * _size(other)
    return dot * dot * _SQUARE[1] > sizes * _SQUARE[0]


def _size(vector: Counter[str]) -> int:
    return sum(count * count for count in vector.values())


# How long a window stays visible. One that is kept stays; any other is hidden at the end of the
# turn in which it was opened, or of the next turn if it was opened between turns. `show`, or its
# number in the answer, extends it by one turn (docs/model.md §3).

_NUMBER = re.compile(r"(?<![\w#&])#([1-9][0-9]{0,8})(?![\w-])")


@dataclass(frozen=True)
class State:
    """The state of one window. `is_extended`: it stays for one more turn."""

    is_visible: bool = True
    is_kept: bool = False
    is_extended: bool = False
    is_closed: bool = False

    def _open(self) -> "State":
        if self.is_closed:
            raise CommandError("REJECTED", "This window is closed.", hint="open it again")
        return self

    def shown(self, *, in_turn: bool, keep: bool = False) -> "State":
        """Visible; during a turn for one turn more. With `keep` it stays until it is hidden."""
        kept = self._open().is_kept or keep
        return State(is_visible=True, is_kept=kept, is_extended=in_turn and not kept)

    def hidden(self) -> "State":
        """Hidden; a kept window stays kept when it is shown again."""
        return replace(self._open(), is_visible=False, is_extended=False)

    def closed(self) -> "State":
        """Closed permanently."""
        self._open()
        return State(is_visible=False, is_closed=True)

    def after_turn(self, *, is_mentioned: bool) -> "State":
        """The state after the end of a turn, whose answer may have mentioned the window."""
        if self.is_closed or self.is_kept:
            return self
        if self.is_visible and (self.is_extended or is_mentioned):
            return replace(self, is_extended=False)
        return State(is_visible=is_mentioned)


def mentioned(text: str) -> set[int]:
    """The numbers of windows that a text mentions: `#14`, but not `#1st` or `a#1`."""
    return {int(found) for found in _NUMBER.findall(text)}
