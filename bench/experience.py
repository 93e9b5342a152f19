"""Ten tasks as a strong model writes them, replayed as turns against a scripted provider.

Each task is a list of rounds; a round is a reply and the outcome that each of its lines should
have. Counted: lines accepted, lines that ran wrongly (another line than was meant, or one that
should not run), lines that vanished (neither run nor answered), rounds and turns, about how
many tokens were sent and written, and the share of each request that repeats the one before.

Run: python -m bench.experience [all]
"""

import re
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from bench.installation import open_installation

if TYPE_CHECKING:
    from loom.engine.models import Step
    from tests.providers.scripted import ScriptedProvider

REFUSED = "✗"


@dataclass(frozen=True)
class Round:
    """A reply, and what should become of its lines: canonical lines, or ✗ for an answer that
    names what to write. `{a}`, `{b}`, `{c}` are texts of the tree."""

    reply: str
    meant: tuple[str, ...]


TASKS: dict[str, tuple[Round, ...]] = {
    "read the path": (
        Round(
            "I start with the path.\n\n→ path {c}\n→ view {c} full",
            ("view branch:{c}", "view {c} full"),
        ),
        Round("- → view {a}\n- → view {b}", ("view {a}", "view {b}")),
        Round("It begins in {a}.", ()),
    ),
    "look around": (
        Round("→ look", ("view here",)),
        Round("→ tree depth=3\n→ list {b} children", ("tree depth:3", "list {b} continuations")),
        Round("→ list {b} ancestors", ("view branch:{b}",)),
    ),
    "find a word": (
        Round('→ search "harbour"', ('find "harbour"',)),
        Round("→ find “cold harbour” max=3", ('find "cold harbour" max:3',)),
        Round("→ find cold harbour", (REFUSED,)),
    ),
    "mark what matters": (
        Round(
            '→ tag {a} #best, #cold.\n→ bookmark {b} as "turn"',
            ("tag {a} #best #cold", 'bookmark {b} "turn"'),
        ),
        Round("- → tag {c} #seen", (REFUSED,)),
        Round("→ tag {c} #seen\n✓ tagged {c}\n→ tag {b} best", ("tag {c} #seen", REFUSED)),
        Round("I tagged what I found.", ()),
    ),
    "ask and object": (
        Round('→ annotate {a}: "why here?" as question', ('annotate {a} "why here?" as:question',)),
        Round(
            '→ annotate {b} type:objection "too soon"', ('annotate {b} "too soon" as:objection',)
        ),
        Round("→ annotate {b} this is fine", (REFUSED,)),
    ),
    "write on": (
        Round(
            "→ respond to {c}:\nThe boat came in.\n\nNobody spoke.\n←",
            ("respond {c}\nThe boat came in.\n\nNobody spoke.\n←",),
        ),
        Round("→ respond {c}\nThe boat came in.", ('respond {c} "The boat came in."',)),
        Round("→ respond {c}\nOne.\n\n→ tag {c} #done", (REFUSED,)),
        Round('→ branch from {a} "Another way."', ('respond {a} "Another way."',)),
    ),
    "revise": (
        Round('→ edit {b} replace: "cold" with: "icy"', ('edit {b} replace:"cold" with:"icy"',)),
        Round('→ edit {c} "She said "no" and left."', (REFUSED,)),
        Round("→ fork {c} “She left.”", ('edit {c} "She left." as:fork',)),
    ),
    "compare": (
        Round("→ compare {a} and {b}", ("compare {a} {b}",)),
        Round("→ diff {b} {c} as:side", ("compare {b} {c} as:side",)),
        Round("**→ view {a} and {b}**", (REFUSED,)),
        Round("→ view {a} and {b}", ("view {a}", "view {b}")),
    ),
    "connect": (
        Round("→ link {a} -> {b} type:supports", ("link {a} to {b} as:supports",)),
        Round("→ link {b} supports {c}", (REFUSED,)),
        Round('→ link "{b}" to "{c}" as:supports.', ("link {b} to {c} as:supports",)),
        Round("→ list {a} links", ("list {a} links",)),
    ),
    "tidy and undo": (
        Round("⇒ prune {c}", (REFUSED,)),
        Round("```\n→ prune {c}\n```", (REFUSED,)),
        Round("I would → prune {c} now.", (REFUSED,)),
        Round("→ prune {c}.", ("prune {c}",)),
        Round("→ undo the last step", ("undo",)),
        Round("> → prune {c}\nis what I decided against.", ()),
    ),
}


def main(shows_all: bool) -> None:
    """Replays every task in a tree of its own and prints the counts."""
    from tests.providers.scripted import ScriptedProvider

    total: Counter[str] = Counter()
    shares: list[float] = []
    with ScriptedProvider() as provider:
        for name, rounds in TASKS.items():
            task = Task(name, provider).replay(rounds)
            total += task.counts
            shares += task.shares
            print(f"{name:<18} {_shown(task.counts)}{_kept(task.shares)}")
            for note in task.notes if shows_all else ():
                print(f"    {note}")
    print(f"{'all':<18} {_shown(total)}{_kept(shares)}")
    share = total["accepted"] / max(1, total["meant to run"])
    print(
        f"accepted {share:.1%} (aim ≥ 98 %), wrong {total['wrong']}, vanished {total['vanished']}, "
        f"tokens a task {total['tokens'] // len(TASKS):,}, kept{_kept(shares)} (aim ≥ 0.90)"
    )


def _shown(counts: Counter[str]) -> str:
    keys = ("meant to run", "accepted", "answered", "wrong", "vanished", "rounds", "turns")
    return " · ".join([*(f"{key} {counts[key]}" for key in keys), f"tokens {counts['tokens']:,}"])


def _kept(shares: list[float]) -> str:
    """The mean share of a request that repeats the one before it; "" of a single request."""
    return f" · prefix {sum(shares) / len(shares):.2f}" if shares else ""


class Task:
    """One task: an agent, a tree, and what became of the lines of its replies. A reply that
    asks for no other round ends a turn; the next reply is that of a new turn."""

    def __init__(self, name: str, provider: "ScriptedProvider") -> None:
        from django.conf import settings

        from bench.trees import grow, make_owner
        from loom.engine.context import Request
        from loom.engine.execute import execute_line
        from loom.people.models import Participant

        self.provider = provider
        self.counts: Counter[str] = Counter()
        self.shares: list[float] = []
        self.notes: list[str] = []
        self.actor = make_owner(re.sub(r"\W", "", name))
        self.tree, end = grow(self.actor, count=4, chain=3)
        self.ids = {"a": end.local_id, "b": "", "c": ""}
        for key, text in (("b", "A cold harbour at night."), ("c", "She waited.")):
            line = f'respond {self.ids["a"]} "{text}"'
            answer = execute_line(self.actor, self.tree, Request(line))
            self.ids[key] = str(answer.body["refs"][0])
        settings.PROVIDER_ALLOW = (provider.entry,)
        self.agent = Participant.objects.create(
            grove=self.actor.grove,
            kind="model",
            name="Marie",
            model_ref="openai:marie",
            base_url=provider.url,
            context_limit=50_000,
            permissions=["loom_aware", "loom_write"],
        )

    def replay(self, rounds: tuple[Round, ...]) -> "Task":
        """Runs all replies, in as many turns as they make."""
        rest = [self._named(round_) for round_ in rounds]
        while rest:
            rest = rest[self._turn(rest) :]
        return self

    def _named(self, round_: Round) -> Round:
        reply, meant = round_.reply, round_.meant
        for key, value in self.ids.items():
            reply = reply.replace(f"{{{key}}}", value)
            meant = tuple(line.replace(f"{{{key}}}", value) for line in meant)
        return Round(reply, meant)

    def _turn(self, rest: list[Round]) -> int:
        """Runs one turn with these replies; how many of them it took."""
        from bench.prefix import common, text_of
        from loom.engine.models import Step
        from loom.text.tokens import count
        from tests.agents.acting import asked, went
        from tests.providers.scripts import says

        before = len(self.provider.seen)
        self.provider._queue.clear()
        self.provider.script(*(says(round_.reply) for round_ in rest), says("That is all."))
        turn = went(asked(self.actor, self.tree, self.agent, node=self.ids["a"]))
        taken = rest[: len(turn.rounds)]
        for number, round_ in enumerate(taken, 1):
            steps = Step.objects.filter(turn_uid=turn.uid, turn_place__startswith=f"{number}.")
            told = [step for step in steps.order_by("seq") if step.canonical or step.line]
            _count(self.counts, self.notes, round_.meant, [_outcome(step) for step in told])
        sent = [text_of(seen.json) for seen in self.provider.seen[before:]]
        self.shares += [common(*pair) / len(pair[0]) for pair in pairwise(sent)]
        self.counts["tokens"] += sum(map(count, sent)) + sum(
            count(round_.reply) for round_ in taken
        )
        self.counts["rounds"] += len(sent)
        self.counts["turns"] += 1
        return max(1, len(taken))


def _outcome(step: "Step") -> str:
    if step.undoes_id:
        return "undo"  # its step says which step it undid
    return step.canonical.removeprefix("→ ") if step.outcome == "ok" else REFUSED


def _count(
    counts: Counter[str], notes: list[str], meant: tuple[str, ...], outcomes: list[str]
) -> None:
    counts["meant to run"] += sum(line != REFUSED for line in meant)
    counts["vanished"] += max(0, len(meant) - len(outcomes))
    for at, outcome in enumerate(outcomes):
        wanted = meant[at] if at < len(meant) else None
        if outcome == wanted:
            counts["answered" if outcome == REFUSED else "accepted"] += 1
        elif outcome != REFUSED:
            counts["wrong"] += 1
            notes.append(f"ran {outcome!r} instead of {wanted!r}")
        else:
            notes.append(f"refused {wanted!r}")


if __name__ == "__main__":
    open_installation()
    main("all" in sys.argv[1:])
