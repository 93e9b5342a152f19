"""What a loom-aware agent is sent, to the byte. PURE. Source: model.md §6.1.

First what never changes, then what is frozen, last what changes every round; so a provider's
cache holds as much as it can.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from agents.context.earlier import Earlier, earlier_of
from agents.context.fit import GAP, Part, fit, total
from agents.context.instructions import instructions
from agents.context.results import results
from agents.context.sections import escaped, framed, plain, rendered
from agents.context.subject import JOINT
from agents.context.view import Aware, Stop

GO_ON = "Continue."
OWN_FIRST = "(the tree begins with your text)"
BRIEF_OVER = 2  # INSTRUCTIONS that take over a half of what can be read are the brief ones
BOUNDARY, OWN = "︱", "︱›"


@dataclass(frozen=True)
class Message:
    """One message: its role, and its blocks, which are cached one by one."""

    role: str
    blocks: tuple[str, ...]

    @property
    def body(self) -> dict[str, str]:
        """The message for a provider that takes only text."""
        return {"role": self.role, "content": JOINT.join(self.blocks)}


@dataclass(frozen=True)
class Sent:
    """A request: system text and messages; the sizes of its sections in tokens, by name; and
    a note on what did not fit."""

    system: str
    messages: tuple[Message, ...]
    sections: tuple[tuple[str, int], ...]
    note: str = ""

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
    system = system_of(aware)
    rounds = _rounds(aware)
    room = aware.limit - aware.counted(system) - total(rounds, aware.counted)
    room -= aware.counted(_workspace(aware, ()))
    earlier, path = _path(aware, room)
    fitted = fit(path, aware.truncation, max(room - aware.counted(earlier.text), 0), aware.counted)
    note = "; ".join(one for one in (earlier.note, fitted.note) if one)
    sizes = (
        ("PROMPT", aware.counted(system)),
        ("EARLIER", aware.counted(earlier.text)),
        ("PATH", total(fitted.parts, aware.counted)),
        ("RESULTS", total(rounds, aware.counted)),
    )
    told = replace(aware, view=replace(aware.view, tokens=sizes, limit=aware.limit))
    if note:
        lines = (*told.view.notifications, f"pruned: {note}")
        told = replace(told, view=replace(told.view, notifications=lines))
    last = _workspace(told, sizes)
    begun = [Part("user", earlier.text)] if earlier.text else []
    parts = [*begun, *fitted.parts, *rounds, Part("user", last), Part("user", aware.closing)]
    return Sent(system, _messages(parts), (*sizes, ("WORKSPACE", aware.counted(last))), note)


def system_of(aware: Aware) -> str:
    """Persona, tree context, INSTRUCTIONS: what changes only when they do."""
    whole = instructions(aware.commands)
    if aware.counted(whole) * BRIEF_OVER > aware.limit:
        whole = instructions(aware.commands, brief=True)
    texts = [escaped(aware.persona), escaped(aware.system_context), whole]
    return JOINT.join(text for text in texts if text)


def _workspace(aware: Aware, sizes: Sequence[tuple[str, int]]) -> str:
    """The last message: how things stand now, rebuilt every round."""
    body = "\n".join(text for _, text in rendered(aware.view))
    return framed("WORKSPACE", body, more=f" revision {aware.view.revision}")


# -- the path


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
    return Part("user", f"{escaped(header)}\n{escaped(stop.text)}")


@dataclass(frozen=True)
class Own(Part):
    """The reader's own text, and what names it afterwards."""

    named: str = ""


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


def _messages(parts: Sequence[Part]) -> tuple[Message, ...]:
    """Messages of alternating roles; the names of own texts begin the next user block."""
    named: list[str] = []
    blocks: list[tuple[str, str]] = []
    for part in parts:
        role = "user" if part.role == GAP else part.role
        text = part.text
        if role == "user" and named:
            text, named = "\n".join([*named, text]), []
        if isinstance(part, Own):
            named.append(part.named)
        if text:
            blocks.append((role, text))
    return tuple(
        Message(role, tuple(text for _, text in run))
        for role, run in groupby(blocks, key=lambda block: block[0])
    )
