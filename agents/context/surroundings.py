"""What lies around the reader and what he did: OUTLINE, PATH, MEMORY. PURE. See
docs/model.md §6.1."""

from collections.abc import Sequence
from itertools import groupby

from agents.context.sections import section
from agents.context.view import Deed, Near, Twig, View
from loom.rules.framing import frames_escaped, plain

# Verbs as they are told; others are told by the name of the verb.
PAST = {
    "annotate": "annotated",
    "bookmark": "bookmarked",
    "continue": "continued from",
    "edit": "edited",
    "exclude": "excluded",
    "find": "searched",
    "include": "included",
    "link": "linked",
    "list": "listed",
    "prune": "pruned",
    "resolve": "resolved",
    "respond": "wrote",
    "restore": "restored",
    "split": "split",
    "switch": "switched to",
    "tag": "tagged",
    "tree": "looked at the tree",
    "undo": "undid",
    "unlink": "unlinked",
    "view": "viewed",
}


@section("OUTLINE", 20)
def outline(view: View) -> str:
    """The tree as far as the reader's outline is unfolded."""
    bars: list[str] = []
    lines = []
    for twig in view.outline:
        del bars[max(twig.level - 1, 0) :]
        branch = "└─ " if twig.is_last else "├─ "
        lines.append(f"{''.join(bars)}{branch if twig.level else ''}{_twig(twig)}")
        if twig.level:
            bars.append("   " if twig.is_last else "│  ")
    return frames_escaped("\n".join(lines))


def _twig(twig: Twig) -> str:
    """`+ [a7x2]* "…" [3+] ●`: `-` open, `+` folded, `·` without continuations."""
    hidden = twig.continuations - twig.shown
    symbol = "+" if hidden else "-" if twig.continuations else "·"
    parts = [
        f"{symbol} [{twig.local_id}]{'*' if twig.is_here else ''}",
        twig.words,
        f"[{hidden}+]" if hidden else "",
        "●" if twig.is_hit else "",
    ]
    return " ".join(part for part in parts if part)


@section("PATH", 30)
def path(view: View) -> str:
    """What may have changed about the nodes that were read."""
    return frames_escaped("\n".join(_near(one) for one in view.near))


def _near(near: Near) -> str:
    parts = [
        f"[{near.local_id}] {plain(near.author)} ({near.kind})",
        near.age,
        _counted(near.continuations, "continuation"),
        _counted(near.annotations, "annotation"),
        "bookmarked" if near.is_bookmarked else "",
        " ".join(f"#{plain(tag)}" for tag in near.tags),
    ]
    return " · ".join(part for part in parts if part)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}" if number else ""


@section("MEMORY", 50)
def memory(view: View) -> str:
    """The reader's last lines, told by what they did."""
    if not view.deeds:
        return ""
    if view.is_short:
        return f"Recent actions: {len(view.deeds)}"
    told = [
        _deeds(verb, [*run])
        for verb, run in groupby(view.deeds, key=lambda one: (one.verb, one.outcome))
    ]
    return f"Recent actions: {' · '.join(told)}"


def _deeds(said: tuple[str, str], run: Sequence[Deed]) -> str:
    """`viewed a7x2, b3k9`, `searched (2)`, `✗ prune (PERMISSION_DENIED)`."""
    verb, outcome = said
    if outcome != "ok":
        return f"✗ {verb} ({outcome})"
    named = dict.fromkeys(node for one in run for node in one.nodes)
    words = PAST.get(verb, verb)
    told = f"{words} {', '.join(named)}" if named else words
    return told if len(run) <= max(len(named), 1) else f"{told} ({len(run)})"
