"""Ten tasks as a strong model writes them, replayed through the reader and a real tree.

Each task is a list of rounds; a round is a reply and the outcome that each of its lines should
have. Counted: lines accepted, lines that ran wrongly (another line than was meant, or one that
should not run), and lines that vanished (neither run nor answered).

Run: python -m bench.experience [all]
"""

import re
import sys
from collections import Counter
from dataclasses import dataclass

from bench.house import open_house

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
    total: Counter[str] = Counter()
    for name, rounds in TASKS.items():
        found, notes = replay(name, rounds)
        total += found
        print(f"{name:<20} {_shown(found)}")
        for note in notes if shows_all else ():
            print(f"    {note}")
    print(f"{'all':<20} {_shown(total)}")
    share = total["accepted"] / max(1, total["meant to run"])
    print(
        f"accepted {share:.1%} (aim ≥ 98 %), wrong {total['wrong']}, vanished {total['vanished']}"
    )


def _shown(found: Counter[str]) -> str:
    keys = ("meant to run", "accepted", "answered", "wrong", "vanished")
    return " · ".join(f"{key} {found[key]}" for key in keys)


def replay(name: str, rounds: tuple[Round, ...]) -> tuple[Counter[str], list[str]]:
    """The counts of one task, and a sentence for each line that did not do what was meant."""
    from agents.reply import read_reply
    from agents.subject_prompt import language
    from bench.trees import grow, make_owner
    from loom.commands.execute import Request, execute_line
    from loom.rules.errors import CommandError

    actor = make_owner(re.sub(r"\W", "", name))
    tree, end = grow(actor, count=4, chain=3)
    ids = {"a": end.local_id, "b": "", "c": ""}
    for key, text in (("b", "A cold harbour at night."), ("c", "She waited.")):
        line = f'respond {ids["a"]} "{text}"'
        ids[key] = str(execute_line(actor, tree, Request(line)).body["refs"][0])
    counts: Counter[str] = Counter()
    notes: list[str] = []
    for one in rounds:
        reply, meant = one.reply, one.meant
        for key, value in ids.items():
            reply = reply.replace(f"{{{key}}}", value)
            meant = tuple(line.replace(f"{{{key}}}", value) for line in meant)
        outcomes: list[str] = []
        for said in read_reply(reply, language(), finished=True).commands:
            if said.line is None:
                outcomes.append(REFUSED)
                continue
            try:
                execute_line(actor, tree, Request(said.text.strip()))
                outcomes.append(said.line.canonical.removeprefix("→ "))
            except CommandError as refused:
                outcomes.append(REFUSED)
                notes.append(f"{said.text} {refused.reply}")
        _count(counts, notes, meant, outcomes)
    return counts, notes


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
    open_house()
    main("all" in sys.argv[1:])
