"""How strong evidence is, what each level of certainty needs, and what a claim may do next. Pure
(docs/model.md §10)."""

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Strength = Literal["strong", "moderate", "weak"]
Level = Literal["tentative", "moderate", "strong", "definitive"]
Scope = Literal["node", "tree", "grove"]
State = Literal["hypothesis", "testing", "concluding", "committed", "withdrawn", "refuted"]
Act = Literal["cite", "address", "check", "conclude", "commit", "withdraw", "veto"]

LEVELS: tuple[Level, ...] = get_args(Level)
SCOPES: tuple[Scope, ...] = get_args(Scope)
STATES: tuple[State, ...] = get_args(State)
OPEN: tuple[State, ...] = ("hypothesis", "testing", "concluding")

# The evidence that each level needs, and how much of it must be strong.
NEEDS: Mapping[Level, tuple[int, int]] = {
    "tentative": (1, 0),
    "moderate": (3, 1),
    "strong": (5, 2),
    "definitive": (10, 5),
}

# What can be done in each state. Nobody but a person vetoes. Before a claim is concluded it is
# committed at tentative only.
ALLOWED: Mapping[State, tuple[Act, ...]] = {
    "hypothesis": ("cite", "address", "check", "withdraw"),
    "testing": ("cite", "address", "check", "conclude", "commit", "withdraw"),
    "concluding": ("cite", "address", "check", "conclude", "commit", "withdraw"),
    "committed": ("cite", "address", "check", "commit", "veto"),
    "withdrawn": (),
    "refuted": (),
}

ENDED_BY_A_VETO: tuple[Act, ...] = ("commit", "conclude", "veto")

# A trail says something if it has as many steps over as many link types.
LONG_TRAIL, WIDE_TRAIL = 3, 2
TAKEN_BACK = "taken back"  # the answer to evidence that whoever gave it has undone
MOST_PROOFS = 3  # levels of commitments that rest on commitments
MOST_AUTHORITY = 3


def normalised(statement: str) -> str:
    """The statement in the form in which two are the same: NFKC, case folded, without blanks at the
    ends and without the last full stop."""
    plain = unicodedata.normalize("NFKC", statement).casefold()
    return " ".join(plain.split()).rstrip(".!").rstrip()


@dataclass(frozen=True)
class Basis:
    """What is known of one piece of evidence. `gate`: the answer for a quote, "" without one;
    `is_own`: the claimant wrote it; `is_undercut`: an objection to the inference is open;
    `is_taken_back`: whoever gave it has undone that; `task_state`: the claim is that a task of it
    has this state, and it has."""

    gate: str = ""
    is_taken_back: bool = False
    task_state: str = ""
    is_own: bool = False
    is_undercut: bool = False
    has_passed: bool = False
    is_confirmed: bool = False
    is_verified: bool = False
    is_section: bool = False
    is_proof: bool = False
    trail: tuple[int, int] | None = None  # of a trail: its steps, and their link types


def strength_of(basis: Basis) -> tuple[Strength, str]:
    """How strong a piece of evidence is, and by what."""
    if basis.is_taken_back:
        return "weak", TAKEN_BACK
    if basis.gate not in ("", "found"):
        return "weak", f"quote {basis.gate}"
    if basis.is_undercut:
        return "weak", "undercut"
    if basis.task_state:
        return "strong", f"task is {basis.task_state}"
    if basis.is_own:
        return "weak", "own words"
    if basis.has_passed:
        return "strong", "by check"
    if basis.is_confirmed:
        return "strong", "confirmed by a person"
    if basis.is_proof:
        return "moderate", "a commitment"
    if basis.trail is not None:
        is_long = basis.trail[0] >= LONG_TRAIL and basis.trail[1] >= WIDE_TRAIL
        return ("moderate", "a trail") if is_long else ("weak", "a short trail")
    if basis.is_section:
        return "moderate", "a part of a document"
    if basis.is_verified:
        return "moderate", "verified"
    return "weak", "not verified"


@dataclass(frozen=True)
class Weights:
    """The evidence of a claim, each item once: how many of each strength are for it, how many
    against it are `open` (neither addressed nor undercut), and `unanswered` (not addressed).
    `explored`: what the claimant has only opened."""

    strong: int = 0
    moderate: int = 0
    weak: int = 0
    open: int = 0
    unanswered: int = 0
    explored: int = 0

    @property
    def total(self) -> int:
        """All evidence for the claim."""
        return self.strong + self.moderate + self.weak

    def counted(self, level: Level) -> int:
        """What counts for a level: weak evidence, and what was only opened, for tentative alone."""
        if level == "tentative":
            return self.total + self.explored
        return self.strong + self.moderate


Code = Literal[
    "INSUFFICIENT_QUANTITY",
    "INSUFFICIENT_QUALITY",
    "UNADDRESSED_COUNTEREVIDENCE",
    "NEEDS_ESCALATION",
]


@dataclass(frozen=True)
class Obligation:
    """One thing that a level demands, in the order in which it is checked."""

    code: Code
    have: int
    need: int
    says: str

    @property
    def is_met(self) -> bool:
        """Whether it is fulfilled. Of counter-evidence there must be none."""
        if self.code == "UNADDRESSED_COUNTEREVIDENCE":
            return self.have <= self.need
        return self.have >= self.need


def obligations(
    weights: Weights, level: Level, *, scope: Scope, authority: int
) -> tuple[Obligation, ...]:
    """What a level demands: quantity, quality, counter-evidence, scope."""
    many, strong = NEEDS[level]
    demands = [
        Obligation("INSUFFICIENT_QUANTITY", weights.counted(level), many, "evidence that counts"),
        Obligation("INSUFFICIENT_QUALITY", weights.strong, strong, "strong evidence"),
    ]
    if level in ("strong", "definitive"):
        left = weights.open if level == "strong" else weights.unanswered
        demands.append(Obligation("UNADDRESSED_COUNTEREVIDENCE", left, 0, "counter-evidence"))
    needed = authority_for(scope, level)
    demands.append(Obligation("NEEDS_ESCALATION", authority, needed, "authority"))
    return tuple(demands)


def authority_for(scope: Scope, level: Level) -> int:
    """The authority that a commitment needs: 0 for a node, 1 for a tree, 2 for a grove, and one
    more if it is definitive."""
    return SCOPES.index(scope) + (level == "definitive")


def missing(obligations: Iterable[Obligation]) -> Obligation | None:
    """The first that is not met; None if all are."""
    return next((obligation for obligation in obligations if not obligation.is_met), None)


def highest(weights: Weights) -> Level | None:
    """The highest level that the evidence allows, whatever the authority; None if none."""
    reached = [
        level
        for level in LEVELS
        if missing(obligations(weights, level, scope="node", authority=MOST_AUTHORITY)) is None
    ]
    return reached[-1] if reached else None
