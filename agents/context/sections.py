"""The sections of a request to a loom-aware agent: the texts of its path, INSTRUCTIONS, RESULTS,
and those of the WORKSPACE message. Pure."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Any

from agents.context.panes import pane_text
from agents.context.values import (
    BRIEF,
    DOCUMENTS,
    HOW,
    MEMORY,
    MODES,
    SECTIONS,
    WHERE,
    AgentLine,
    LineReply,
    OutlineLine,
    PathLine,
    PromptSection,
    Round,
    Syntax,
    WorkspaceView,
    section,
)
from loom.language.refs import label_named, tag_named
from loom.language.slices import LEAST_RESULT, PART_CHARACTERS, parts_of
from loom.people.names import as_sent
from loom.text.counts import MOST_COUNTED, counted, folded
from loom.text.frames import escaped, frames_escaped
from loom.text.shortening import plain
from loom.text.tokens import count, thousands

# The texts of a path, and how many tokens they have.


Counted = Callable[[str], int]


@dataclass(frozen=True)
class PathPart:
    """One text of the path and its role: `user`, `assistant` or GAP."""

    role: str
    text: str

    @cached_property
    def size(self) -> int:
        """The approximate number of tokens. Cached, because parts of a path are counted in every
        request."""
        return count(self.text)


def total(parts: Sequence[PathPart], counted: Counted) -> int:
    """The approximate number of tokens of all parts."""
    if counted is count:
        return sum([part.size for part in parts])
    return sum(counted(part.text) for part in parts)


@dataclass(frozen=True)
class Own(PathPart):
    """A text of the agent itself, and the line that names it afterwards."""

    named: str = ""


MOST = 240  # characters of a sentence
_END = re.compile(r"(?<=[.!?…。！？])\s|\n")


def first_sentence(text: str) -> str:
    """The first sentence on one line, cut if it is long."""
    line = " ".join(_END.split(text.strip(), maxsplit=1)[0].split())
    return line if len(line) <= MOST else f"{line[:MOST]}…"


@dataclass(frozen=True)
class Stop:
    """A node of the path. `at` is its time in UTC, `2026-11-21 02:07`; `is_own`: the agent wrote
    it; `is_imported`: its author and time come from a file."""

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
    def part(self) -> PathPart:
        """The node as one block; the header of the agent's own text is in the next user block."""
        if self.is_own:
            named = f"[{self.local_id}] you · {self.at[-5:]}Z (above)"
            return Own("assistant", escaped(self.text), named)
        header = f"[{self.local_id}] {as_sent(self.author)} ({self.kind}) · {self.at}Z"
        mark = " · imported" if self.is_imported else ""
        return PathPart("user", f"{header}{mark}\n{escaped(self.text)}")


# INSTRUCTIONS: what a loom-aware agent is taught about its tree and its commands.


@dataclass(frozen=True)
class Teaching:
    """What INSTRUCTIONS depend on: the commands that may be used, the types of `lists`, and the
    `agents` and `models` that may be asked. Nothing of a tree, so that they are the same in all."""

    commands: tuple[Syntax, ...]
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @property
    def verbs(self) -> set[str]:
        """The first words of the commands."""
        return {command.verb for command in self.commands}


@lru_cache(maxsize=64)
def instructions(teaching: Teaching, *, brief: bool = False) -> str:
    """The section: what is used every day in a line each, the other verbs by their names. With
    `brief`, the version for models with a small context."""
    if brief:
        shown = dict.fromkeys(command.example for command in teaching.commands if command.example)
        return framed("INSTRUCTIONS", "\n".join([BRIEF, *shown]))
    how = HOW if "annotate" in teaching.verbs else HOW.replace("→ annotate here", "→ think")
    lines = [WHERE, how]
    if any(command.of_documents for command in teaching.commands):
        lines.append(DOCUMENTS)
    if "hide" in teaching.verbs:
        lines.append(MEMORY)
    group = ""
    daily = {command.taught: command.group for command in teaching.commands if command.taught}
    for taught, of in daily.items():
        if of != group:
            group = of
            lines.append(f"{group}:")
        lines.append(f"→ {taught}")
    lines += [*_details(teaching), _rare(teaching)]
    return framed("INSTRUCTIONS", "\n".join(lines))


def _rare(teaching: Teaching) -> str:
    """`→ help VERB explains … Also, by → help GROUP: Make: split restore · Keep: resize …`."""
    groups: dict[str, list[str]] = {}
    named_once: set[str] = set()  # a verb whose forms are of two groups stands with the first
    for command in teaching.commands:
        if not command.taught and command.verb not in named_once:
            named_once.add(command.verb)
            groups.setdefault(command.group, []).append(command.verb)
    named = " · ".join(f"{group}: {' '.join(verbs)}" for group, verbs in groups.items())
    more = f"Also, by → help GROUP: {named}." if named else ""
    return f"→ help VERB explains a command. {more}".strip()


def _details(teaching: Teaching) -> list[str]:
    """Details that the table of commands leaves out: types of links, and who may be asked."""
    lines = []
    if teaching.types and teaching.verbs & {"list", "link"}:
        lines.append(f"TYPE of a link: {', '.join(teaching.types)}.")
    if "continue" in teaching.verbs and (teaching.agents or teaching.models):
        named = [f"agent:{label_named(plain(name))}" for name in teaching.agents]
        if named:
            lines.append(f"continue using one or several of {', '.join(named)}.")
        if teaching.models:
            lines.append(f"Their models: {', '.join(map(plain, teaching.models))}.")
    return lines


def mode_of(mode: str) -> str:
    """The section MODE: what differs between dialogues and buffers."""
    return framed("MODE", MODES[mode], more=f" {mode}")


# RESULTS: the answers to the lines of a round, in their order. See docs/model.md §6.4.


CUT = "…"
THRESHOLD = 4_000  # results of up to this many tokens are sent whole if there is room
SHARE = 10  # or up to a tenth of the limit, if that is more


def threshold_of(limit: int, taken: int, chosen: int = 0) -> int:
    """The most tokens of a result that is sent whole: the `chosen` number, else a tenth of the
    limit, at least THRESHOLD; at most half of what is still free, and never less than
    LEAST_RESULT."""
    most = min(chosen or max(THRESHOLD, limit // SHARE), max(limit - taken, 0) // 2)
    return max(most, LEAST_RESULT)


def results(
    done: Round,
    counted: Counted,
    *,
    threshold: int = THRESHOLD,
    room: int | None = None,
    size: int = PART_CHARACTERS,
) -> str:
    """The section for one round; "" if nothing was asked. Of a result longer than `threshold`, or
    half of what the results before it leave of `room`, the first part (of `size` characters) is
    sent."""
    parts: list[str] = []
    for reply in done.replies:
        if not (reply.reply or reply.number):
            continue
        most = threshold if room is None else max(min(threshold, room // 2), LEAST_RESULT)
        parts.append(_answer(reply, counted, most, size))
        room = None if room is None else max(room - counted(parts[-1]), 0)
    parts += done.notes
    if done.dropped:
        parts.append(
            f"({done.dropped:,} characters after your commands were dropped: results come first)"
        )
    return framed("RESULTS", "\n".join(parts)) if parts else ""


def _answer(answer: LineReply, counted: Counted, threshold: int, size: int) -> str:
    if not answer.number:
        return frames_escaped(answer.reply)
    body = frames_escaped(_shortened(answer, counted, threshold, size))
    line = frames_escaped(_line_of(answer))
    return f"---RESULT #{answer.number} {line}\n{body}\n---RESULT_END #{answer.number}"


def _line_of(answer: LineReply) -> str:
    return answer.line.removeprefix("→").strip().partition("\n")[0]


def _shortened(answer: LineReply, counted: Counted, threshold: int, size: int) -> str:
    """The result; if it is too long its first part, how much that is, and the line that shows the
    next part."""
    tokens = counted(answer.reply)
    if tokens <= threshold:
        return answer.reply
    first = parts_of(answer.reply, size)[0]
    rest = f"→ view #{answer.number} part:2"
    if counted(first) > threshold:
        first = first[: 4 * threshold]
        while first and counted(first) > threshold:
            first = first[: len(first) * 3 // 4]
        rest = f"→ view #{answer.number} part:1, alone in its message, shows more, then part:2"
    return f"{first}{CUT}\n({_shown(first, answer.reply, tokens)} · {rest})"


def left_out(done: Round) -> Round:
    """An older round for which no room is left: its results by their numbers, its text in brief."""
    replies = tuple(
        replace(reply, reply=f"(left out here: → view #{reply.number})") if reply.number else reply
        for reply in done.replies
    )
    text = done.text if len(done.text) <= BRIEF_TEXT else f"{done.text[:BRIEF_TEXT]}{CUT}"
    return replace(done, replies=replies, text=text)


BRIEF_TEXT = 400  # characters of the text of a round that is left out


def _shown(first: str, whole: str, tokens: int) -> str:
    return f"{len(first):,} of {len(whole):,} characters, {tokens:,} tokens in all"


# The sections of the WORKSPACE message.


def every() -> list[PromptSection]:
    """All sections, in their order."""
    return sorted(SECTIONS.values(), key=lambda section_: section_.order)


def shrinking() -> list[PromptSection]:
    """The sections that can shrink, in the order in which they do."""
    return sorted(
        (section_ for section_ in every() if section_.shrink),
        key=lambda section_: section_.priority,
    )


def collected(place: Any, names: Collection[str] = ()) -> dict[str, Any]:
    """The fields of View for a place, read from the database by the collectors: of the sections
    with these `names`, of all without any."""
    fields: dict[str, Any] = {}
    for section_ in every():
        if section_.collect is not None and (not names or section_.name in names):
            fields |= section_.collect(place)
    return fields


def in_brief(view: WorkspaceView) -> WorkspaceView:
    """The values that are sent to a model with a small context."""
    for section_ in every():
        if section_.in_brief is not None:
            view = section_.in_brief(view)
    return view


def rendered(view: WorkspaceView, names: Collection[str] = ()) -> list[tuple[str, str]]:
    """(name, framed text) of all sections that are not empty, in their order; only of those with
    these `names`, if there are any."""
    shown = [section_ for section_ in every() if not names or section_.name in names]
    bodies = ((section_.name, section_.render(view)) for section_ in shown)
    return [(name, framed(name, body)) for name, body in bodies if body]


EMPTY = "(empty now)"


def stated(sections: Sequence[tuple[str, str]], before: Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, text) of the sections that differ from what was sent `before`, by name; all of them
    if nothing was. For sections that are stated by lines, only the new lines."""
    lines = []
    for name, text in sections:
        known = before.get(name)
        if known is None:
            lines.append((name, text))
        elif text != known:
            lines.append((name, _differing(SECTIONS[name], text, known)))
    now = {name for name, _ in sections}
    lines += [(name, _emptied(SECTIONS[name], before[name])) for name in before if name not in now]
    lines.sort(key=lambda line: SECTIONS[line[0]].order)
    return [(name, text) for name, text in lines if text]


def _differing(section_: PromptSection, text: str, known: str) -> str:
    """What is sent of a section that was sent as `known` before."""
    if section_.since is not None:
        return section_.since(text, known)
    return _new_lines(section_.name, text, known) if section_.by_lines else text


def _emptied(section_: PromptSection, known: str) -> str:
    """What is sent of a section that was not empty before, and is now."""
    return section_.since("", known) if section_.since is not None else framed(section_.name, EMPTY)


def _new_lines(name: str, text: str, known: str) -> str:
    old = set(known.split("\n"))
    lines = [line for line in text.split("\n") if line not in old]
    return framed(name, "\n".join(lines), more=" · new lines") if lines else ""


def framed(name: str, body: str, *, more: str = "") -> str:
    """A section between its frame lines `---NAME` and `---NAME_END`."""
    return f"---{name}{more}\n{body}\n---{name}_END"


HIDDEN = "HIDDEN"  # windows that were sent in this turn and are not shown so any more


@section("STATUS", 10)
def status(view: WorkspaceView) -> str:
    """How much of the context is used, by part, and of the turn's budget; and whose request it
    is."""
    parts = [
        f"{name} {thousands(tokens)}{' until this turn ends' if name == HIDDEN else ''}"
        for name, tokens in view.tokens
        if tokens or name == "PROMPT"
    ]
    used = sum(tokens for _, tokens in view.tokens)
    sizes = " | ".join([*parts, f"{thousands(used)}/{thousands(view.limit)}"])
    asked = frames_escaped(f"request: {plain(view.request)}") if view.request else ""
    many, lines = len(view.panes), sum(pane.count for pane in view.panes)
    panes = f"windows {many} ({_counted(lines, 'line') or '0 lines'})" if many else ""
    spent = " · ".join(part for part in (view.budget, panes) if part)
    over = f"! windows have more than {view.most_lines} lines; → hide what you do not need"
    warned = over if lines > view.most_lines else ""
    return "\n".join(line for line in (sizes, spent, view.warning, warned, asked) if line)


@section("NOTIFICATIONS", 80, by_lines=True)
def notifications(view: WorkspaceView) -> str:
    """Events that the agent needs to know about, one line each."""
    return "\n".join(escaped(notification) for notification in view.notifications)


@section("LOOM", 90)
def loom(view: WorkspaceView) -> str:
    """The tree, the agent's position and permissions, and who else is there."""
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
    last = " → ".join(f"[{uid}]" for uid in ids[-2:])
    return f"… → {last}*" if len(ids) > 2 else f"{last}*"


# The agent's surroundings and recent actions: OUTLINE, PATH, MEMORY. See docs/model.md §6.1.


def _folded(view: WorkspaceView) -> WorkspaceView:
    return replace(view, outline=())


@section("OUTLINE", 20, shrink=_folded, priority=1, in_brief=_folded)
def outline(view: WorkspaceView) -> str:
    """The tree as the agent's outline shows it."""
    bars: list[str] = []
    lines = []
    for line in view.outline:
        del bars[max(line.level - 1, 0) :]
        branch = "└─ " if line.is_last else "├─ "
        lines.append(f"{''.join(bars)}{branch if line.level else ''}{_outline_line(line)}")
        if line.level:
            bars.append("   " if line.is_last else "│  ")
    return frames_escaped("\n".join(lines))


def _outline_line(line: OutlineLine) -> str:
    """`+ [a7x2]* "…" [3+] ●`: `-` open, `+` folded, `·` without continuations."""
    if line.left_out:
        return f"… {line.left_out:,} node{'' if line.left_out == 1 else 's'} …"
    hidden = line.continuations - line.shown
    symbol = "+" if hidden else "-" if line.continuations else "·"
    parts = [
        f"{symbol} [{line.local_id}]{'*' if line.is_here else ''}",
        line.words,
        folded(hidden) if hidden else "",
        f"● {line.score:.2f}" if line.score is not None else "",
    ]
    return " ".join(part for part in parts if part)


NEAR_IN_BRIEF = 4  # lines of PATH for a model with a small context


def _nearest(view: WorkspaceView) -> WorkspaceView:
    return replace(view, near=view.near[-NEAR_IN_BRIEF:])


@section("PATH", 30, in_brief=_nearest, by_lines=True)
def path(view: WorkspaceView) -> str:
    """What may have changed about the nodes of the path, and which of them have no line."""
    lines = []
    for near in view.near:
        if near.skipped:
            lines.append(_skipped(near.skipped))
        lines.append(_near(near))
    return frames_escaped("\n".join(lines))


def _skipped(ids: Sequence[str]) -> str:
    """`… [r2d4]–[c4m2], 8 nodes`."""
    if len(ids) == 1:
        return f"… [{ids[0]}]"
    return f"… [{ids[0]}]–[{ids[-1]}], {len(ids):,} nodes"


def _near(near: PathLine) -> str:
    parts = [
        f"[{near.local_id}] {as_sent(near.author)} ({near.kind})",
        near.words,
        near.age,
        _counted(near.continuations, "continuation"),
        _counted(near.annotations, "annotation"),
        _counted(near.links, "link"),
        "bookmarked" if near.is_bookmarked else "",
        " ".join(tag_named(plain(tag)) for tag in near.tags),
    ]
    return " · ".join(part for part in parts if part)


def _counted(number: int, thing: str) -> str:
    return counted(number, thing, most=MOST_COUNTED) if number else ""


SHORT = 300  # tokens of a window of the turn for which there is little room


def _beginnings(view: WorkspaceView) -> WorkspaceView:
    panes = (pane if pane.is_kept else pane.within(SHORT) for pane in view.panes)
    return replace(view, panes=tuple(panes))


def windows_in(text: str) -> dict[str, str]:
    """The windows in the text of a section or message, by number, each with its frame. What they
    show is escaped, so no line of it begins or ends one."""
    texts: dict[str, str] = {}
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("---WINDOW #"):
            lines = []
        lines.append(line)
        if line.startswith("---WINDOW_END #"):
            texts[line.removeprefix("---WINDOW_END ")] = "\n".join(lines)
    return texts


def _windows_since(text: str, known: str) -> str:
    """The windows that were not sent as they are now, and the numbers of all others: `---WINDOWS ·
    new #4 · changed #2 · hidden #1`."""
    now, before = windows_in(text), windows_in(known)
    new = [number for number in now if number not in before]
    changed = [number for number in now if number in before and before[number] != now[number]]
    hidden = [number for number in before if number not in now]
    same = [number for number in now if before.get(number) == now[number]]
    kinds = (("new", new), ("changed", changed), ("hidden", hidden))
    more = "".join(f" · {kind} {' '.join(numbers)}" for kind, numbers in kinds if numbers)
    body = [now[number] for number in now if number in new or number in changed]
    body += [f"(as above: {' '.join(same)})"] if same else []
    return framed(WINDOWS, "\n".join(body or ["(none is visible now)"]), more=more)


WINDOWS = "WINDOWS"


@section(WINDOWS, 40, shrink=_beginnings, priority=9, in_brief=_beginnings, since=_windows_since)
def windows(view: WorkspaceView) -> str:
    """What the agent keeps in view: texts with numbered lines, results, stashes."""
    return "\n".join(map(pane_text, view.panes))


@section("CLAIMS", 43)
def claims(view: WorkspaceView) -> str:
    """How much evidence the agent sees, its open claims, and the newest evidence."""
    return frames_escaped("\n".join(plain(claim) for claim in view.claims))


@section("TODOS", 45)
def todos(view: WorkspaceView) -> str:
    """The agent's tasks that are not archived, in order, with their notes."""
    return frames_escaped("\n".join(plain(task) for task in view.tasks))


@section("SCRATCHPAD", 47)
def scratchpad(view: WorkspaceView) -> str:
    """The one text that the agent keeps in every request."""
    return escaped(view.scratchpad)


@section("MEMORY", 50, shrink=lambda view: view, priority=2)
def memory(view: WorkspaceView) -> str:
    """The agent's last lines, grouped by what they did, what is hidden, and the labels of its
    stashes."""
    quoted = " · ".join(label_named(label) for label in view.stashed)
    stashes = [f"Stashed (not in context): {quoted}"] if quoted else []
    return frames_escaped("\n".join([*_recent(view), *_hidden(view), *stashes]))


def _hidden(view: WorkspaceView) -> list[str]:
    """`Hidden (→ show #n): #3 view a7x2 full · #5 [b3k9] lines 3–7`."""
    if not view.hidden or "MEMORY" in view.shortened:
        return []
    named = " · ".join(f"#{number} {_brief(what)}" for number, what in view.hidden)
    return [f"Hidden (→ show #n; → memory windows lists all): {named}"]


MOST_OF_NAME = 60  # characters of what a hidden window shows


def _brief(what: str) -> str:
    words = plain(what)
    return words if len(words) <= MOST_OF_NAME else f"{words[:MOST_OF_NAME]}…"


def _recent(view: WorkspaceView) -> list[str]:
    if not view.actions:
        return []
    if "MEMORY" in view.shortened:
        return [f"Recent actions: {len(view.actions)}"]
    parts = [
        _actions(verb, [*run])
        for verb, run in groupby(view.actions, key=lambda action: (action.verb, action.outcome))
    ]
    return [f"Recent actions: {' · '.join(parts)}"]


def _actions(group: tuple[str, str], run: Sequence[AgentLine]) -> str:
    """`viewed a7x2, b3k9`, `searched (2)`, `✗ prune (PERMISSION_DENIED)`."""
    verb, outcome = group
    if outcome != "ok":
        return f"✗ {verb} ({outcome})"
    named = dict.fromkeys(node for section_ in run for node in section_.nodes)
    words = run[0].past or verb
    line = f"{words} {', '.join(named)}" if named else words
    return line if len(run) <= max(len(named), 1) else f"{line} ({len(run)})"
