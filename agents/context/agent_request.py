"""The exact request that a loom-aware agent is sent, and whether its answer needs another round.
Pure. See docs/model.md §6.1."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from agents.context.sections import (
    HIDDEN,
    Counted,
    Own,
    PathPart,
    Stop,
    Teaching,
    framed,
    in_brief,
    instructions,
    left_out,
    mode_of,
    rendered,
    results,
    shrinking,
    stated,
    threshold_of,
    total,
    windows,
    windows_in,
)
from agents.context.subject_request import GAP, JOINT, KEPT_AT_THE_END, Fitted, fit
from agents.context.values import (
    AugmentLine,
    Earlier,
    Portion,
    Round,
    Syntax,
    TurnRequest,
    WorkspaceView,
)
from loom.language.slices import PART_CHARACTERS
from loom.people.names import as_sent
from loom.text.frames import BOUNDARY, OWN, escaped, frames_escaped, marks_escaped
from loom.text.shortening import plain
from loom.text.tokens import count

HEADER = 8  # tokens of the line that names one of the agent's own texts


STEP = 8  # nodes by which EARLIER grows; few steps keep the provider's cache valid for longer


@dataclass(frozen=True)
class Aware:
    """Everything that a request to a loom-aware agent is made from. `closing` ends the message of
    every round; `request` is not in `path`. `stated` contains the sections as they were last sent
    to the agent, by name. `agents` and `models` may be named in `continue`, `types` are those
    of links; `augments` in the order in which they are sent. `threshold`: results of up to this
    many tokens are sent whole (0: depends on the limit), of others `part` characters; `kept`: the
    last nodes that truncateMiddle keeps; `step`: nodes by which EARLIER grows."""

    persona: str
    system_context: str
    commands: tuple[Syntax, ...]
    path: tuple[Stop, ...]
    rounds: tuple[Round, ...]
    view: WorkspaceView
    closing: str
    request: TurnRequest | None = None
    truncation: str = "truncateMiddle"
    limit: int = 3072
    counted: Counted = count
    stated: Mapping[str, str] = field(default_factory=dict)
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    augments: tuple[AugmentLine, ...] = ()
    threshold: int = 0
    part: int = PART_CHARACTERS
    kept: int = KEPT_AT_THE_END
    step: int = STEP


def earlier_of(
    path: Sequence[Stop],
    sizes: Sequence[int],
    room: int,
    counted: Counted,
    *,
    step: int = STEP,
    kept: int = KEPT_AT_THE_END,
) -> Earlier:
    """The section EARLIER, with the smallest number of steps (of `step` nodes) that makes the rest
    fit, or all of them if none does. `sizes` are the tokens of each node as sent. The last `kept`
    nodes are never part of it. It is empty if it would take more than half of the room: the latest
    texts are worth more than a sentence about each node before them."""
    left = list(accumulate(reversed(sizes), initial=0))[::-1]  # tokens from each node on
    if left[0] <= room:
        return Earlier()
    spent = list(accumulate((counted(_line_of(stop)) + 1 for stop in path), initial=HEADER * 2))

    def fits(steps: int) -> bool:
        return spent[steps * step] + left[steps * step] <= room

    steps = bisect_left(range(max((len(path) - kept) // step, 0)), x=True, key=fits)
    if not steps or spent[steps * step] * 2 > room:
        return Earlier()
    return _earlier(path[: steps * step])


def _sizes(path: Sequence[Stop], counted: Counted) -> list[int]:
    if counted is count:
        return [stop.size for stop in path]
    return [counted(stop.text) for stop in path]


def _line_of(stop: Stop) -> str:
    return f"[{stop.local_id}] {plain(stop.summary) or stop.sentence}"


def _earlier(path: Sequence[Stop]) -> Earlier:
    lines = [_line_of(stop) for stop in path]
    more = f" [{path[0].local_id}–{path[-1].local_id}] {len(path)} nodes"
    text = framed("EARLIER", frames_escaped("\n".join(lines)), more=more)
    return Earlier(
        text, len(path), f"the first {len(path):,} nodes of the path, to a sentence each"
    )


# The whole request.


GO_ON = "Continue."
NOTE = 60  # tokens kept free for the note on what did not fit
OWN_FIRST = "(the tree begins with your text)"
BRIEF_OVER = 4  # the brief INSTRUCTIONS are used if the full ones take over a quarter of the limit


@dataclass(frozen=True)
class Message:
    """One message: its role, and its blocks. `kept` are numbers of blocks, from 1: everything up
    to such a block is sent again unchanged, so a provider may cache it."""

    role: str
    blocks: tuple[str, ...]
    kept: tuple[int, ...] = ()

    @property
    def body(self) -> dict[str, str]:
        """The message for a provider that takes only text."""
        return {"role": self.role, "content": JOINT.join(self.blocks)}


@dataclass(frozen=True)
class AgentRequest:
    """A request: system text and messages; the sizes of its sections in tokens, by name; a note on
    what did not fit; and whether its INSTRUCTIONS are the brief ones. `workspace` is its WORKSPACE
    message, which the next request of the turn repeats, and `stated` is what the agent then knows
    of each section."""

    system: str
    messages: tuple[Message, ...]
    sections: tuple[tuple[str, int], ...]
    note: str = ""
    is_brief: bool = False
    workspace: str = ""
    stated: Mapping[str, str] = field(default_factory=dict)
    portions: tuple[Portion, ...] = ()

    @property
    def bodies(self) -> tuple[dict[str, str], ...]:
        """All messages as text, the system's first."""
        return (
            {"role": "system", "content": self.system},
            *(message.body for message in self.messages),
        )

    @property
    def tokens(self) -> int:
        """The approximate number of tokens of the request."""
        return sum(tokens for _, tokens in self.sections)


def assemble(aware: Aware) -> AgentRequest:
    """The request. Raises TooLong if it cannot be made to fit.

    Each request of a turn begins with the exact request before it: earlier WORKSPACE messages
    stay, and the last one only states what differs. If that does not fit, they are left out and
    the last one states everything.
    """
    system, is_brief = system_of(aware)
    if is_brief:
        aware = replace(aware, view=in_brief(aware.view))
    return _grown(aware, system, is_brief) or _fresh(aware, system, is_brief)


def _grown(aware: Aware, system: str, is_brief: bool) -> AgentRequest | None:
    """The request that only adds to the previous one; None if there is none, or if something has
    to be shortened."""
    if not aware.rounds or not aware.stated or not all(round_.workspace for round_ in aware.rounds):
        return None
    room = aware.limit - aware.counted(system)
    fixed = total([*_request(aware), *_rounds(aware, whole=True)], aware.counted)
    earlier, path = _path(aware, room - fixed - NOTE - aware.counted(_workspace(aware)))
    needed = aware.counted(earlier.text) + total(path, aware.counted)
    if fixed + needed + aware.counted(_workspace(aware)) + NOTE > room:
        return None
    return _assembled(aware, system, is_brief, earlier, Fitted(tuple(path)))


def _fresh(aware: Aware, system: str, is_brief: bool) -> AgentRequest:
    """The request that states everything once."""
    rounds = tuple(replace(round_, workspace="") for round_ in aware.rounds)
    aware = replace(aware, rounds=rounds, stated={})
    fixed = aware.counted(system) + total(_request(aware), aware.counted)

    def taken() -> int:
        return fixed + total(_rounds(aware), aware.counted)

    for at in range(len(rounds) - 1):  # the last results are what the agent waits for
        if taken() <= aware.limit * MOST_TAKEN // 100:
            break
        rounds = (*rounds[:at], left_out(rounds[at]), *rounds[at + 1 :])
        aware = replace(aware, rounds=rounds)
    aware, earlier, fitted = _fitted(aware, aware.limit - taken())
    return _assembled(aware, system, is_brief, earlier, fitted)


MOST_TAKEN = 60  # percent of the limit for all that is neither path nor WORKSPACE


def _assembled(
    aware: Aware, system: str, is_brief: bool, earlier: Earlier, fitted: Fitted
) -> AgentRequest:
    asked = _request(aware)
    rounds = _rounds(aware, whole=bool(aware.stated))
    note = _note(aware, earlier, fitted)
    loaded = aware.counted(_augments(aware, brief=is_brief))
    sizes = (
        ("PROMPT", aware.counted(system) - loaded),
        ("AUGMENTS", loaded),
        ("EARLIER", aware.counted(earlier.text)),
        ("PATH", total(fitted.parts, aware.counted)),
        ("REQUEST", total(asked, aware.counted)),
        ("RESULTS", total(rounds, aware.counted)),
    )
    view = replace(aware.view, tokens=_with_windows(aware, sizes), limit=aware.limit)
    if note:
        view = replace(view, notifications=(*view.notifications, f"shortened: {note}"))
    aware = replace(aware, view=view)
    now = rendered(view)
    last = _workspace(aware, now)
    begun = [PathPart("user", earlier.text)] if earlier.text else []
    frozen = [*begun, *fitted.parts]
    parts = [*frozen, *asked, *rounds, PathPart("user", last), PathPart("user", aware.closing)]
    sections = (*sizes, ("WORKSPACE", aware.counted(last)))
    messages = _messages(parts, len(frozen))
    portions = _portions(aware, is_brief, earlier, fitted, now)
    return AgentRequest(system, messages, sections, note, is_brief, last, dict(now), portions)


def _with_windows(aware: Aware, sizes: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """The sizes that STATUS shows, with windows counted separately: those that are visible, and
    (HIDDEN) what earlier rounds sent of others, which stays in the requests of the turn."""
    now = windows_in(windows.render(aware.view))
    sent = [windows_in(round_.workspace) for round_ in aware.rounds] if aware.stated else []
    known = windows_in(aware.stated.get(windows.name, ""))
    same = sum(aware.counted(text) for number, text in now.items() if known.get(number) == text)
    before = sum(aware.counted(text) for shown in sent for text in shown.values())
    names = dict(sizes)
    results = names.pop("RESULTS")
    return (
        *names.items(),
        (windows.name, sum(map(aware.counted, now.values()))),
        ("RESULTS", max(results - max(before, same), 0)),
        (HIDDEN, max(before - same, 0)),
    )


def _portions(
    aware: Aware,
    is_brief: bool,
    earlier: Earlier,
    fitted: Fitted,
    now: Sequence[tuple[str, str]],
) -> tuple[Portion, ...]:
    """The sections of a request with their texts, in the order of the request; empty ones are left
    out. `now`: those of its WORKSPACE message."""

    def of(
        name: str,
        parts: Sequence[PathPart],
        detail: str = "",
        note: str = "",
        count: int | None = None,
    ) -> Portion:
        text = JOINT.join(part.text for part in parts)
        return Portion(name, text, aware.counted(text), detail, note, count=count)

    brief = "the brief ones: the whole would take over a quarter of the limit" if is_brief else ""
    names = ("PERSONA", "INSTRUCTIONS", "TREE", "MODE", "AUGMENTS")
    notes = ("", brief, "", "", "")
    texts = zip(names, _system_texts(aware, brief=is_brief), notes, strict=True)
    nodes = len(aware.path) - earlier.nodes
    rounds = len(aware.rounds)
    portions = [
        *(of(name, [PathPart("system", text)], note=note) for name, text, note in texts),
        of("EARLIER", [PathPart("user", earlier.text)], note=earlier.note),
        of("PATH", fitted.parts, f"{nodes} node{'' if nodes == 1 else 's'}", fitted.note, nodes),
        of("REQUEST", _request(aware)),
        of(
            "RESULTS",
            _rounds(aware, whole=bool(aware.stated)),
            f"{rounds} round{'' if rounds == 1 else 's'}",
            count=rounds,
        ),
        *(
            of(name, [PathPart("user", text)], _DETAILS.get(name, ""), _shortening(aware, name))
            for name, text in stated(now, aware.stated)
        ),
        of("CLOSING", [PathPart("user", aware.closing)]),
    ]
    return tuple(part for part in portions if part.text)


_DETAILS = {"PATH": "what changes about its nodes", "LOOM": "the tree around"}


def _shortening(aware: Aware, name: str) -> str:
    """What was shortened of a section of the WORKSPACE message, and why."""
    if name in aware.view.shortened:
        return "in brief: the whole does not fit into the limit"
    cut = sum(bool(pane.more) for pane in aware.view.panes) if name == windows.name else 0
    if cut:
        return f"{cut} cut: windows take at most a quarter of the limit"
    return ""


PATH_SHARE = 4  # windows are shortened once less than this part of the limit is left for the path


def _fitted(aware: Aware, room: int) -> tuple[Aware, Earlier, Fitted]:
    """Makes the request fit, in this order: EARLIER grows, the sections that can shrink do so by
    priority (windows only once little room is left for the path), and the tree's truncation cuts
    the path. See docs/model.md §6.3."""
    order = iter(shrinking())
    while True:
        left = room - aware.counted(_workspace(aware)) - NOTE
        earlier, path = _path(aware, left)
        left -= aware.counted(earlier.text)
        fits = total(path, aware.counted) <= left
        section = None if fits else next(order, None)
        if section is windows and left * PATH_SHARE >= aware.limit:
            section = next(order, None)
        if section is None:
            whole = Fitted(tuple(path)) if fits and left > 0 else None
            return aware, earlier, whole or _cut(aware, path, left, earlier.nodes)
        aware = replace(aware, view=section.shrunk(aware.view))


def _cut(aware: Aware, path: Sequence[PathPart], room: int, told: int) -> Fitted:
    """The path after truncation; a buffer is cut between the nodes that EARLIER left."""
    is_prose = aware.view.mode == "buffer"
    parts = [PathPart("user", text) for text in _marked(aware.path[told:])] if is_prose else path
    fitted = fit(parts, aware.truncation, max(room, 0), aware.counted, kept=aware.kept)
    if not is_prose:
        return fitted
    texts = (
        f"{JOINT}{part.text}{JOINT}" if part.role == GAP else part.text for part in fitted.parts
    )
    return Fitted((PathPart("user", escaped("".join(texts))),), fitted.note)


def _note(aware: Aware, earlier: Earlier, fitted: Fitted) -> str:
    short = f"the sections {' and '.join(aware.view.shortened)}" if aware.view.shortened else ""
    return "; ".join(words for words in (earlier.note, short, fitted.note) if words)


def system_of(aware: Aware) -> tuple[str, bool]:
    """Persona, INSTRUCTIONS, tree context, MODE and AUGMENTS: the part that only changes when one
    of them does, beginning with what is the same in all trees; and whether the INSTRUCTIONS are the
    brief ones."""
    whole = instructions(_teaching(aware))
    is_brief = aware.counted(whole) * BRIEF_OVER > aware.limit
    texts = _system_texts(aware, brief=is_brief)
    return JOINT.join(text for text in texts if text), is_brief


def _teaching(aware: Aware) -> Teaching:
    return Teaching(aware.commands, aware.agents, aware.models, aware.types)


def _system_texts(aware: Aware, *, brief: bool) -> tuple[str, str, str, str, str]:
    taught = instructions(_teaching(aware), brief=brief)
    loaded = _augments(aware, brief=brief)
    around = escaped(aware.system_context)
    return escaped(aware.persona), taught, around, mode_of(aware.view.mode), loaded


def _augments(aware: Aware, *, brief: bool) -> str:
    return augments([augment for augment in aware.augments if augment.mark or not brief])


def augments(every: Sequence[AugmentLine]) -> str:
    """The section: the list of augments (● loaded, 📌 pinned), then the texts of those loaded."""
    listed = [escaped(f"{augment.mark} {plain(augment.name)}".strip()) for augment in every]
    texts = [
        f"---AUGMENT {plain(augment.name)}\n{escaped(augment.text)}\n---AUGMENT_END"
        for augment in every
        if augment.mark
    ]
    return framed("AUGMENTS", "\n".join([*listed, *texts])) if every else ""


def _workspace(aware: Aware, now: Sequence[tuple[str, str]] | None = None) -> str:
    """The last message: the current state, or what differs from the state that was last sent.
    `now`: its sections, if they are already rendered."""
    status = stated(rendered(aware.view) if now is None else now, aware.stated)
    body = "\n".join(text for _, text in status)
    more = " · only what changed" if aware.stated else ""
    return framed("WORKSPACE", body, more=f" revision {aware.view.revision}{more}")


# -- the path


def _request(aware: Aware) -> list[PathPart]:
    """The inviter's request in its own frame: it is an instruction, and the path is text."""
    asks = aware.request
    if asks is None:
        return []
    more = escaped(f" from {as_sent(asks.author)} ({asks.kind}) in [{asks.local_id}]")
    return [RequestPart("user", framed("REQUEST", escaped(asks.text), more=more))]


def _path(aware: Aware, room: int) -> tuple[Earlier, list[PathPart]]:
    """EARLIER, and the path after it."""
    sizes = _as_sent(aware)
    earlier = earlier_of(aware.path, sizes, room, aware.counted, step=aware.step, kept=aware.kept)
    stops = aware.path[earlier.nodes :]
    if aware.view.mode == "buffer":
        return earlier, _prose(stops)
    return earlier, _dialogue(stops, begins=not earlier.nodes)


def _as_sent(aware: Aware) -> list[int]:
    """The approximate number of tokens of each node of the path as it is sent."""
    if aware.view.mode == "buffer":
        return [size + 1 for size in _sizes(aware.path, aware.counted)]  # with its mark
    return [total([entry.part], aware.counted) + HEADER * entry.is_own for entry in aware.path]


def _prose(stops: Sequence[Stop]) -> list[PathPart]:
    """The path of a buffer as one text."""
    return [PathPart("user", escaped("".join(_marked(stops))))] if stops else []


def _marked(stops: Sequence[Stop]) -> list[str]:
    """The texts of a buffer, with marks at the boundaries of nodes; a text cannot hold a mark."""
    return [
        f"{OWN if stop.is_own else BOUNDARY if place else ''}{marks_escaped(stop.text)}"
        for place, stop in enumerate(stops)
    ]


def _dialogue(stops: Sequence[Stop], *, begins: bool) -> list[PathPart]:
    parts = [PathPart("user", OWN_FIRST)] if begins and stops and stops[0].is_own else []
    return parts + [stop.part for stop in stops]


class RequestPart(PathPart):
    """The request of the inviter: a block of its own, never joined with others."""


# -- the rounds


def _rounds(aware: Aware, *, whole: bool = False) -> list[PathPart]:
    """The finished rounds: the text of each and its results. Before the first one the closing line
    of its request; with `whole`, before each one the end of its request."""
    parts: list[PathPart] = []
    # A path that is too long is cut to what the rounds leave, but it takes no more than half.
    path = sum(_sizes(aware.path, aware.counted)) if aware.rounds else 0
    taken = min(path, aware.limit // 2)
    for place, done in enumerate(aware.rounds):
        if whole:
            parts.append(PathPart("user", done.workspace))
        if whole or not place:
            parts.append(PathPart("user", aware.closing))
        parts.append(PathPart("assistant", done.text))
        used = taken + total(parts, aware.counted)
        threshold = threshold_of(aware.limit, used, aware.threshold)
        section = results(
            done,
            aware.counted,
            threshold=threshold,
            room=max(aware.limit - used, 0),
            size=aware.part,
        )
        parts += [PathPart("user", section)] if section else []
    return parts


def _messages(parts: Sequence[PathPart], frozen: int) -> tuple[Message, ...]:
    """Messages of alternating roles. A provider may cache everything up to the first `frozen`
    parts, and up to the end. The names of the agent's own texts begin the next user block. A block
    of only whitespace is left out, because some providers refuse it."""
    named: list[str] = []
    runs: list[tuple[str, list[str]]] = []
    blocks = 0
    ends: list[int] = []  # the number of frozen blocks
    for at, part in enumerate(parts):
        role = "user" if part.role == GAP else part.role
        texts = [part.text]
        if at == frozen:
            ends.append(blocks)
        if role == "user" and named:
            names, named = "\n".join(named), []
            texts = (
                [names, part.text] if isinstance(part, RequestPart) else [f"{names}\n{part.text}"]
            )
        if isinstance(part, Own):
            named.append(part.named)
        for text in texts:
            if text and not text.isspace():
                blocks += 1
                if not runs or runs[-1][0] != role:
                    runs.append((role, []))
                runs[-1][1].append(text)
    marks = {*ends, blocks}
    messages: list[Message] = []
    before = 0
    for role, texts in runs:
        kept = sorted(mark - before for mark in marks if before < mark <= before + len(texts))
        messages.append(Message(role, tuple(texts), tuple(kept)))
        before += len(texts)
    return tuple(messages)


# -- whether there is another round


def asks_again(replies: Sequence[Mapping[str, Any]], earlier: Sequence[Sequence[Any]]) -> bool:
    """Whether the lines of a round need another one: `replies` are those of the round, `earlier`
    those of the rounds before, each with `asks` and, for a near miss, `near`. If no real line was
    there, near misses lead to another round only once a turn; one that is sent again is text.
    """
    if any(reply["asks"] and not reply.get("near") for reply in replies):
        return True
    asked = {answer["line"] for round_ in earlier for answer in round_ if answer.get("near")}
    if all(reply["line"] in asked for reply in replies if reply.get("near")):
        return False
    return any(not reply.get("near") for reply in replies) or not any(map(_only_near, earlier))


def _only_near(replies: Sequence[Mapping[str, Any]]) -> bool:
    return bool(replies) and all(reply.get("near") for reply in replies)
