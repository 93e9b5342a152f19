"""What a loom-aware agent is sent, to the byte. Pure. Source: docs/model.md §6.1."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agents.context.sections import framed, instructions, rendered
from agents.context.subject_request import JOINT
from agents.context.truncation import GAP, KEPT_AT_THE_END, Counted, Fitted, Part, fit, total
from agents.context.values import Aware, Round, Stop, Told
from loom.rules.framing import escaped, frames_escaped, plain

STEP = 8  # nodes by which it grows, so that what is cached changes seldom
MOST = 240  # characters of a sentence
_END = re.compile(r"(?<=[.!?…。！？])\s|\n")


@dataclass(frozen=True)
class Earlier:
    """The section ("": nothing), how many nodes it stands for, and a note."""

    text: str = ""
    nodes: int = 0
    note: str = ""


def earlier_of(path: Sequence[Stop], room: int, counted: Counted) -> Earlier:
    """As few steps of eight nodes as make the rest fit; as many as there are where none do."""
    found = Earlier()
    sizes = [counted(stop.text) + counted(stop.author) + STEP for stop in path]
    while counted(found.text) + sum(sizes[found.nodes :]) > room:
        nodes = found.nodes + STEP
        if nodes > len(path) - KEPT_AT_THE_END:
            return found
        found = _told(path[:nodes])
    return found


def _told(path: Sequence[Stop]) -> Earlier:
    lines = [f"[{stop.local_id}] {first_sentence(stop.text)}" for stop in path]
    more = f" [{path[0].local_id}–{path[-1].local_id}] {len(path)} nodes"
    text = framed("EARLIER", frames_escaped("\n".join(lines)), more=more)
    return Earlier(text, len(path), f"the first {len(path):,} nodes are told by a sentence each")


def first_sentence(text: str) -> str:
    """The first sentence on one line, cut where it has no end."""
    line = " ".join(_END.split(text.strip(), maxsplit=1)[0].split())
    return line if len(line) <= MOST else f"{line[:MOST]}…"


# RESULTS: the answers to the lines of a round, in their order. PURE. See docs/model.md §6.4.


THRESHOLD = 1000  # tokens of a result that are given whole
HEAD, TAIL = 20, 5  # lines of a longer one
MOST_IN_A_LINE = 400  # characters of a line of a shortened result
CUT = "…"


def results(done: Round, counted: Counted, *, can_show: bool = False) -> str:
    """The section for one round; "" where nothing was asked."""
    parts = [_answer(one, counted, can_show) for one in done.told if one.reply or one.number]
    parts += done.notes
    if done.dropped:
        parts.append(
            f"({done.dropped:,} characters after your commands were dropped: results come first)"
        )
    return framed("RESULTS", "\n".join(parts)) if parts else ""


def _answer(told: Told, counted: Counted, can_show: bool) -> str:
    if not told.number:
        return frames_escaped(told.reply)
    body = frames_escaped(_shortened(told, counted, can_show))
    line = frames_escaped(told.line.removeprefix("→").strip().partition("\n")[0])
    return f"---RESULT #{told.number} {line}\n{body}\n---RESULT_END #{told.number}"


def _shortened(told: Told, counted: Counted, can_show: bool) -> str:
    """The result itself, or where it is long its first and last lines and its size."""
    tokens = counted(told.reply)
    if tokens <= THRESHOLD:
        return told.reply
    lines = told.reply.split("\n")
    if len(lines) > HEAD + TAIL:
        lines = [*lines[:HEAD], CUT, *lines[-TAIL:]]
    short = [one if len(one) <= MOST_IN_A_LINE else f"{one[:MOST_IN_A_LINE]}{CUT}" for one in lines]
    how = f" · → show #{told.number} full" if can_show else ""
    return "\n".join([*short, f"({tokens:,} tokens{how})"])


# What a loom-aware agent is sent, to the byte. PURE. See docs/model.md §6.1.


GO_ON = "Continue."
NOTE = 60  # tokens that are kept for saying what did not fit, and for what is counted then
NEAR_IN_BRIEF = 4  # nodes of PATH for a model that can read little
OWN_FIRST = "(the tree begins with your text)"
BRIEF_OVER = 2  # INSTRUCTIONS that take over a half of what can be read are the brief ones
BOUNDARY, OWN = "︱", "︱›"


@dataclass(frozen=True)
class Message:
    """One message: its role, and its blocks. What stands up to the `kept`th block, where one
    is named, is sent again as it is: a provider may keep it."""

    role: str
    blocks: tuple[str, ...]
    kept: int = 0

    @property
    def body(self) -> dict[str, str]:
        """The message for a provider that takes only text."""
        return {"role": self.role, "content": JOINT.join(self.blocks)}


@dataclass(frozen=True)
class Sent:
    """A request: system text and messages; the sizes of its sections in tokens, by name; a
    note on what did not fit; and whether its INSTRUCTIONS are the brief ones."""

    system: str
    messages: tuple[Message, ...]
    sections: tuple[tuple[str, int], ...]
    note: str = ""
    is_brief: bool = False

    @property
    def bodies(self) -> tuple[dict[str, str], ...]:
        """All messages as text, the system's first."""
        return ({"role": "system", "content": self.system}, *(one.body for one in self.messages))

    @property
    def tokens(self) -> int:
        """About how many tokens all of it has."""
        return sum(tokens for _, tokens in self.sections)


def assemble(aware: Aware) -> Sent:
    """The request. Raises TooLong where it cannot be made to fit."""
    system, is_brief = system_of(aware)
    if is_brief:
        view = replace(aware.view, outline=(), near=aware.view.near[-NEAR_IN_BRIEF:])
        aware = replace(aware, view=view)
    rounds = _rounds(aware)
    asked = _request(aware)
    taken = aware.counted(system) + total([*asked, *rounds], aware.counted)
    aware, earlier, fitted = _fitted(aware, aware.limit - taken)
    note = _note(aware, earlier, fitted)
    sizes = (
        ("PROMPT", aware.counted(system)),
        ("EARLIER", aware.counted(earlier.text)),
        ("PATH", total(fitted.parts, aware.counted)),
        ("REQUEST", total(asked, aware.counted)),
        ("RESULTS", total(rounds, aware.counted)),
    )
    view = replace(aware.view, tokens=sizes, limit=aware.limit)
    if note:
        view = replace(view, notifications=(*view.notifications, f"pruned: {note}"))
    last = _workspace(replace(aware, view=view))
    begun = [Part("user", earlier.text)] if earlier.text else []
    frozen = [*begun, *fitted.parts, *asked]
    parts = [*frozen, *rounds, Part("user", last), Part("user", aware.closing)]
    sections = (*sizes, ("WORKSPACE", aware.counted(last)))
    return Sent(system, _messages(parts, len(frozen)), sections, note, is_brief)


def _fitted(aware: Aware, room: int) -> tuple[Aware, Earlier, Fitted]:
    """What is made to fit, in this order: EARLIER grows, the trace is told by its number and
    the outline left out, the tree's truncation cuts the path. See docs/model.md §6.3."""
    left = room - aware.counted(_workspace(aware)) - NOTE
    earlier, path = _path(aware, left)
    if aware.counted(earlier.text) + total(path, aware.counted) > left:
        short = replace(aware.view, outline=(), is_short=True)
        aware = replace(aware, view=short)
        left = room - aware.counted(_workspace(aware)) - NOTE
        earlier, path = _path(aware, left)
    left -= aware.counted(earlier.text)
    return aware, earlier, fit(path, aware.truncation, max(left, 0), aware.counted)


def _note(aware: Aware, earlier: Earlier, fitted: Fitted) -> str:
    short = "the outline and the trace" if aware.view.is_short else ""
    return "; ".join(one for one in (earlier.note, short, fitted.note) if one)


def system_of(aware: Aware) -> tuple[str, bool]:
    """Persona, tree context, INSTRUCTIONS: what changes only when they do; and whether the
    INSTRUCTIONS are the brief ones."""
    whole = instructions(aware.commands)
    is_brief = aware.counted(whole) * BRIEF_OVER > aware.limit
    if is_brief:
        whole = instructions(aware.commands, brief=True)
    texts = [escaped(aware.persona), escaped(aware.system_context), whole]
    return JOINT.join(text for text in texts if text), is_brief


def _workspace(aware: Aware) -> str:
    """The last message: how things stand now, rebuilt every round."""
    body = "\n".join(text for _, text in rendered(aware.view))
    return framed("WORKSPACE", body, more=f" revision {aware.view.revision}")


# -- the path


def _request(aware: Aware) -> list[Part]:
    """What the inviter asks, in a frame of its own: it is an instruction, the path is text."""
    asks = aware.request
    if asks is None:
        return []
    more = escaped(f" from {plain(asks.author)} ({asks.kind}) in [{asks.local_id}]")
    return [Asked("user", framed("REQUEST", escaped(asks.text), more=more))]


def _path(aware: Aware, room: int) -> tuple[Earlier, list[Part]]:
    """EARLIER, and the path from there on."""
    earlier = earlier_of(aware.path, room, aware.counted)
    stops = aware.path[earlier.nodes :]
    if aware.view.mode == "buffer":
        return earlier, _prose(stops)
    return earlier, _dialogue(stops, begins=not earlier.nodes)


def _prose(stops: Sequence[Stop]) -> list[Part]:
    """The path of a buffer as one text, with marks where nodes meet."""
    if not stops:
        return []
    marked = [
        f"{OWN if stop.kind == 'model' else BOUNDARY if place else ''}{stop.text}"
        for place, stop in enumerate(stops)
    ]
    return [Part("user", escaped("".join(marked)))]


def _dialogue(stops: Sequence[Stop], *, begins: bool) -> list[Part]:
    parts = [Part("user", OWN_FIRST)] if begins and stops and stops[0].is_own else []
    return parts + [_part(stop) for stop in stops]


def _part(stop: Stop) -> Part:
    """A node as one block; the header of an own one is said in the next user block."""
    if stop.is_own:
        return Own(
            "assistant", escaped(stop.text), f"[{stop.local_id}] you · {stop.at[-5:]}Z (above)"
        )
    header = f"[{stop.local_id}] {plain(stop.author)} ({stop.kind}) · {stop.at}Z"
    mark = " · imported" if stop.is_imported else ""
    return Part("user", f"{header}{mark}\n{escaped(stop.text)}")


@dataclass(frozen=True)
class Own(Part):
    """The reader's own text, and what names it afterwards."""

    named: str = ""


class Asked(Part):
    """The request: a block of its own, to which nothing is joined."""


# -- the rounds


def _rounds(aware: Aware) -> list[Part]:
    """From round 2: what closed the first round, then each round's text and its results."""
    if not aware.rounds:
        return []
    parts = [Part("user", aware.opening)]
    for done in aware.rounds:
        parts.append(Part("assistant", done.text))
        told = results(done, aware.counted, can_show=aware.can_show)
        parts += [Part("user", told)] if told else []
    return parts


def _messages(parts: Sequence[Part], frozen: int) -> tuple[Message, ...]:
    """Messages of alternating roles, the first `frozen` parts kept; the names of own texts
    begin the next user block. A block of blanks alone is left out: some providers refuse it."""
    named: list[str] = []
    blocks: list[tuple[str, str, bool]] = []
    for at, part in enumerate(parts):
        role = "user" if part.role == GAP else part.role
        text = part.text
        if role == "user" and named:
            named, before = [], named
            if isinstance(part, Asked):
                blocks.append((role, "\n".join(before), at < frozen))
            else:
                text = "\n".join([*before, text])
        if isinstance(part, Own):
            named.append(part.named)
        if text.strip():
            blocks.append((role, text, at < frozen))
    kept = sum(is_frozen for _, _, is_frozen in blocks)
    made: list[Message] = []
    for role, run in groupby(blocks, key=lambda block: block[0]):
        texts = tuple(text for _, text, _ in run)
        made.append(Message(role, texts, kept if 0 < kept <= len(texts) else 0))
        kept -= len(texts)
    return tuple(made)
