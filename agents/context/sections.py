"""The texts of an agent's path, and the sections of its view: name, order, renderer. Pure."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any

from agents.context.values import Action, Near, Pane, Twig, View
from loom.rules.node_values import count, escaped, frames_escaped, plain
from loom.rules.windows import numbered

# The texts of a path, and how many tokens they have.


Counted = Callable[[str], int]


@dataclass(frozen=True)
class Part:
    """One text of the path and whose it is: `user`, `assistant` or GAP."""

    role: str
    text: str

    @cached_property
    def size(self) -> int:
        """About how many tokens it has. Parts of a path are counted in request after request."""
        return count(self.text)


def total(parts: Sequence[Part], counted: Counted) -> int:
    """About how many tokens the parts have together."""
    if counted is count:
        return sum([part.size for part in parts])
    return sum(counted(part.text) for part in parts)


@dataclass(frozen=True)
class Own(Part):
    """The reader's own text, and what names it afterwards."""

    named: str = ""


MOST = 240  # characters of a sentence
_END = re.compile(r"(?<=[.!?…。！？])\s|\n")


def first_sentence(text: str) -> str:
    """The first sentence on one line, cut where it has no end."""
    line = " ".join(_END.split(text.strip(), maxsplit=1)[0].split())
    return line if len(line) <= MOST else f"{line[:MOST]}…"


@dataclass(frozen=True)
class Stop:
    """A node of the path. `at` is its time in UTC, `2026-11-21 02:07`; `is_own`: the reader
    wrote it; `is_imported`: a file says so, and nobody else."""

    local_id: str
    text: str
    author: str
    kind: str
    at: str
    is_own: bool = False
    is_imported: bool = False
    summary: str = ""

    @cached_property
    def size(self) -> int:
        """About how many tokens its text has."""
        return count(self.text)

    @cached_property
    def sentence(self) -> str:
        """Its first sentence."""
        return first_sentence(self.text)

    @cached_property
    def part(self) -> Part:
        """It as one block; the header of an own one is said in the next user block."""
        if self.is_own:
            named = f"[{self.local_id}] you · {self.at[-5:]}Z (above)"
            return Own("assistant", escaped(self.text), named)
        header = f"[{self.local_id}] {plain(self.author)} ({self.kind}) · {self.at}Z"
        mark = " · imported" if self.is_imported else ""
        return Part("user", f"{header}{mark}\n{escaped(self.text)}")


# The sections of the WORKSPACE message.


Renderer = Callable[[View], str]
Shrinker = Callable[[View], View]
# From where the request is assembled to fields of View. Rows are read outside this package.
Collector = Callable[[Any], dict[str, Any]]


@dataclass(eq=False)
class Section:
    """One section of the WORKSPACE message: how it is collected, rendered and shrunk.

    `render` returns its body ("": left out), with other people's texts escaped. `shrink`
    removes from the values what the section can do without; of the sections that have one,
    the lowest `priority` shrinks first. `in_brief` keeps what a model that can read little is
    sent. Of a section that is stated `by_lines` only the new lines are stated again.
    `collect` reads its values; agents.agent_prompt binds it with `collector`.
    """

    name: str
    order: int
    render: Renderer
    shrink: Shrinker | None = None
    priority: int = 0
    in_brief: Shrinker | None = None
    by_lines: bool = False
    collect: Collector | None = None

    def shrunk(self, view: View) -> View:
        """The values without what it can do without, and with its name, where that is anything."""
        assert self.shrink is not None
        less = replace(self.shrink(view), shortened=(*view.shortened, self.name))
        return view if self.render(less) == self.render(view) else less

    def collector(self, collect: Collector) -> Collector:
        """Binds the function that reads the section's values; a decorator."""
        assert self.collect is None, self.name
        self.collect = collect
        return collect


_sections: dict[str, Section] = {}


def section(
    name: str,
    order: int,
    *,
    shrink: Shrinker | None = None,
    priority: int = 0,
    in_brief: Shrinker | None = None,
    by_lines: bool = False,
) -> Callable[[Renderer], Section]:
    """Registers the section that a renderer makes, which takes the renderer's name."""

    def register(render: Renderer) -> Section:
        made = Section(name, order, render, shrink, priority, in_brief, by_lines)
        _sections[name] = made
        return made

    return register


def every() -> list[Section]:
    """All sections, in their order."""
    return sorted(_sections.values(), key=lambda one: one.order)


def shrinking() -> list[Section]:
    """The sections that can shrink, in the order in which they do."""
    return sorted((one for one in every() if one.shrink), key=lambda one: one.priority)


def collected(place: Any) -> dict[str, Any]:
    """The fields of View that the sections are rendered from, read for a place."""
    fields: dict[str, Any] = {}
    for one in every():
        if one.collect is not None:
            fields |= one.collect(place)
    return fields


def in_brief(view: View) -> View:
    """The values that a model that can read little is sent."""
    for one in every():
        if one.in_brief is not None:
            view = one.in_brief(view)
    return view


def rendered(view: View) -> list[tuple[str, str]]:
    """(name, framed text) of all sections that are not empty, in their order."""
    bodies = ((one.name, one.render(view)) for one in every())
    return [(name, framed(name, body)) for name, body in bodies if body]


EMPTY = "(empty now)"


def stated(sections: Sequence[tuple[str, str]], before: Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, text) of the sections that differ from what was stated `before`, by name; all of
    them where nothing was. Of those that are stated by lines only the new lines."""
    lines = []
    for name, text in sections:
        known = before.get(name)
        if known is None:
            lines.append((name, text))
        elif text != known:
            is_by_lines = _sections[name].by_lines
            lines.append((name, _new_lines(name, text, known) if is_by_lines else text))
    now = {name for name, _ in sections}
    lines += [(name, framed(name, EMPTY)) for name in before if name not in now]
    return [(name, text) for name, text in lines if text]


def _new_lines(name: str, text: str, known: str) -> str:
    old = set(known.split("\n"))
    lines = [line for line in text.split("\n") if line not in old]
    return framed(name, "\n".join(lines), more=" · new lines") if lines else ""


def framed(name: str, body: str, *, more: str = "") -> str:
    """A section between its whole lines `---NAME` and `---NAME_END`."""
    return f"---{name}{more}\n{body}\n---{name}_END"


def thousands(tokens: int) -> str:
    """`37`, `0.4k`, `18.6k`, `50k`: in thousands to a tenth; below a hundred exactly."""
    if tokens < 100:
        return f"{tokens}"
    return f"{tokens / 1000:.1f}".removesuffix(".0") + "k"


@section("STATUS", 10)
def status(view: View) -> str:
    """What is used of the context, by part, and of the turn's budget; whose request it is."""
    parts = [
        f"{name} {thousands(tokens)}" for name, tokens in view.tokens if tokens or name == "PROMPT"
    ]
    used = sum(tokens for _, tokens in view.tokens)
    sizes = " | ".join([*parts, f"{thousands(used)}/{thousands(view.limit)}"])
    asked = frames_escaped(f"request: {plain(view.request)}") if view.request else ""
    many, lines = len(view.panes), sum(one.count for one in view.panes)
    panes = f"windows {many} ({_counted(lines, 'line') or '0 lines'})" if many else ""
    spent = " · ".join(one for one in (view.budget, panes) if one)
    over = f"! windows have more than {view.most_lines} lines; → hide what you do not need"
    warned = over if lines > view.most_lines else ""
    return "\n".join(line for line in (sizes, spent, warned, asked) if line)


@section("NOTIFICATIONS", 80, by_lines=True)
def notifications(view: View) -> str:
    """What happened that the reader must know, a line each."""
    return "\n".join(frames_escaped(one) for one in view.notifications)


@section("LOOM", 90)
def loom(view: View) -> str:
    """The tree, the reader's position and permissions, and who else is there."""
    nodes = f"{view.nodes:,} node{'' if view.nodes == 1 else 's'}"
    branches = f"{view.branches:,} branch{'' if view.branches == 1 else 'es'}"
    title, mode = (view.title, view.mode) if view.home is None else view.home
    lines = [
        f'Tree: "{plain(title)}" ({mode} mode)',
        f"{nodes} · {branches} · depth: {view.depth}",
        f"Position: {_position(view.position) or 'not visible'}",
        f"Permissions: {', '.join(view.permissions) or 'none'}",
    ]
    if view.home is not None:
        lines.append(f'You were asked in the tree "{plain(view.title)}", whose path you read.')
    lines += [f"{kind} active at [{at}], depth:{depth}" for kind, at, depth in view.others]
    return frames_escaped("\n".join(lines))


def _position(ids: tuple[str, ...]) -> str:
    """`… → [a7x2] → [b3k9]*`: the last nodes of the path."""
    if not ids:
        return ""
    last = " → ".join(f"[{one}]" for one in ids[-2:])
    return f"… → {last}*" if len(ids) > 2 else f"{last}*"


# What is around the reader and what they did: OUTLINE, PATH, MEMORY. See docs/model.md §6.1.


# Verbs in the past tense; others keep the name of the verb.
PAST = {
    "annotate": "annotated",
    "bookmark": "bookmarked",
    "continue": "continued from",
    "edit": "edited",
    "close": "closed",
    "exclude": "excluded",
    "find": "searched",
    "hide": "hid",
    "include": "included",
    "link": "linked",
    "list": "listed",
    "open": "opened",
    "prune": "pruned",
    "recall": "recalled",
    "resolve": "resolved",
    "accept": "accepted",
    "reject": "rejected",
    "suggest": "suggested",
    "respond": "wrote",
    "restore": "restored",
    "show": "showed",
    "split": "split",
    "stash": "stashed",
    "switch": "switched to",
    "tag": "tagged",
    "tree": "looked at the tree",
    "undo": "undid",
    "unlink": "unlinked",
    "view": "viewed",
}


def _folded(view: View) -> View:
    return replace(view, outline=())


@section("OUTLINE", 20, shrink=_folded, priority=1, in_brief=_folded)
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
    if twig.left_out:
        return f"… {twig.left_out:,} node{'' if twig.left_out == 1 else 's'} …"
    hidden = twig.continuations - twig.shown
    symbol = "+" if hidden else "-" if twig.continuations else "·"
    parts = [
        f"{symbol} [{twig.local_id}]{'*' if twig.is_here else ''}",
        twig.words,
        f"[{hidden}+]" if hidden else "",
        f"● {twig.score:.2f}" if twig.score is not None else "",
    ]
    return " ".join(part for part in parts if part)


NEAR_IN_BRIEF = 4  # lines of PATH for a model that can read little


def _nearest(view: View) -> View:
    return replace(view, near=view.near[-NEAR_IN_BRIEF:])


@section("PATH", 30, in_brief=_nearest, by_lines=True)
def path(view: View) -> str:
    """What may have changed about the nodes that were read; says which have no line."""
    lines = []
    for one in view.near:
        if one.skipped:
            lines.append(_skipped(one.skipped))
        lines.append(_near(one))
    return frames_escaped("\n".join(lines))


def _skipped(ids: Sequence[str]) -> str:
    """`… [r2d4]–[c4m2], 8 nodes`."""
    if len(ids) == 1:
        return f"… [{ids[0]}]"
    return f"… [{ids[0]}]–[{ids[-1]}], {len(ids):,} nodes"


def _near(near: Near) -> str:
    parts = [
        f"[{near.local_id}] {plain(near.author)} ({near.kind})",
        near.words,
        near.age,
        _counted(near.continuations, "continuation"),
        _counted(near.annotations, "annotation"),
        _counted(near.links, "link"),
        "bookmarked" if near.is_bookmarked else "",
        " ".join(f"#{plain(tag)}" for tag in near.tags),
    ]
    return " · ".join(part for part in parts if part)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}" if number else ""


def _kept_only(view: View) -> View:
    return replace(view, panes=tuple(one for one in view.panes if one.is_kept))


@section("WINDOWS", 40, shrink=_kept_only, priority=0, in_brief=_kept_only)
def windows(view: View) -> str:
    """What the reader keeps in view: texts with numbered lines, results, stashes."""
    return "\n".join(map(_pane, view.panes))


def _pane(pane: Pane) -> str:
    head = [
        f"#{pane.number} {plain(pane.name)}",
        pane.extent,
        f"revision {pane.revision}" if pane.revision else "",
        pane.kind,
        *map(plain, pane.notes),
        "keep" if pane.is_kept else "",
        pane.stale,
        f"label {plain(pane.label)}" if pane.label else "",
    ]
    if pane.lines is None:
        body = f"(no room for its text here; → show #{pane.number} after you hid others)"
    else:
        texts = frames_escaped("\n".join(one.text for one in pane.lines)).split("\n")
        rows = zip(pane.lines, texts, strict=True)
        body = "\n".join(numbered(one._replace(text=text)) for one, text in rows)
    title = " · ".join(one for one in head if one)
    changed = "".join(f"\n({plain(one)})" for one in pane.changes)
    links = "".join(f"\n▶ [{kind}] ──→ {to}" for kind, to in pane.links)
    return f"---WINDOW {title}{changed}\n{body}{links}\n---WINDOW_END #{pane.number}"


@section("TODOS", 45)
def todos(view: View) -> str:
    """The reader's tasks that are not archived, in their order, with their notes."""
    return frames_escaped("\n".join(plain(one) for one in view.tasks))


@section("MEMORY", 50, shrink=lambda view: view, priority=2)
def memory(view: View) -> str:
    """The reader's last lines, by what they did, and the labels of what was put aside."""
    quoted = " · ".join(f'"{plain(one)}"' for one in view.stashed)
    stashes = [f"Stashed (not in context): {quoted}"] if quoted else []
    return frames_escaped("\n".join([*_recent(view), *stashes]))


def _recent(view: View) -> list[str]:
    if not view.actions:
        return []
    if "MEMORY" in view.shortened:
        return [f"Recent actions: {len(view.actions)}"]
    parts = [
        _actions(verb, [*run])
        for verb, run in groupby(view.actions, key=lambda one: (one.verb, one.outcome))
    ]
    return [f"Recent actions: {' · '.join(parts)}"]


def _actions(said: tuple[str, str], run: Sequence[Action]) -> str:
    """`viewed a7x2, b3k9`, `searched (2)`, `✗ prune (PERMISSION_DENIED)`."""
    verb, outcome = said
    if outcome != "ok":
        return f"✗ {verb} ({outcome})"
    named = dict.fromkeys(node for one in run for node in one.nodes)
    words = PAST.get(verb, verb)
    line = f"{words} {', '.join(named)}" if named else words
    return line if len(run) <= max(len(named), 1) else f"{line} ({len(run)})"
