"""What a subject is sent: text only, no header, no section, no tool. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, Literal

from agents.context.truncation import GAP, Counted, Part, count, fit
from loom.rules.provider_kinds import RESERVE, WAYS

BEGINS: Final = "(the text begins)"
PLAIN: Final = "plain"
BEGUN: Final = ("prefill", "continue_final")  # a turn of the model's own has begun
ASKED: Final = ("few_shot", "instruction")  # words ask for it

JOINT = "\n\n"
ASKS: Final = (
    "The user sends the end of a text. Write what comes next in it, in its language and voice, "
    "from the very place where it stops, even in the middle of a sentence or a word. Begin by "
    "repeating its last few words exactly, then go straight on. Write only the text itself: no "
    "greeting, no remark, no title, no quotation marks around it."
)
# (the end of a text, how it goes on): in the middle of a word, of a sentence, of a list.
EXAMPLES: Final = (
    (
        "She had never liked the sea. It was too large, and on grey mor",
        "and on grey mornings it seemed to look back at her. So they went to the hills instead.",
    ),
    (
        "- Take the wheel off.\n- Press the last air out of the tube.\n",
        "out of the tube.\n- Lift the tyre over the rim with a lever.\n",
    ),
    (
        "“I would have told you,” said Thomas, “but you never",
        "but you never asked.” After that neither of them spoke until the train had stopped.",
    ),
)

Messages = tuple[dict[str, str], ...]


def way_of(capabilities: Collection[str]) -> str:
    """The best way that these capabilities allow; `plain` where they name none."""
    return next((way for way in WAYS if way in capabilities), PLAIN)


def handed_over(system: str, text: str, way: str) -> Messages:
    """A text as the messages of a chat. Nothing but blanks cannot be begun or repeated: it
    goes plain.

    A begun turn ends before the text's last blanks, which providers refuse or drop; the seam
    knows of them.
    """
    if not text.strip() or way == PLAIN:
        return (*_system(system), _user(text or BEGINS))
    if way in BEGUN:
        return (*_system(system), _user(BEGINS), _model(text.rstrip()))
    shown = [one for end, on in EXAMPLES for one in (_user(end), _model(on))]
    examples = shown if way == "few_shot" else []
    head = JOINT.join(one for one in (system, ASKS) if one)
    return (*_system(head), *examples, _user(text))


def _system(text: str) -> Messages:
    return ({"role": "system", "content": text},) if text else ()


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def _model(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


# What a subject is sent: text only, no header, no section, no tool. Pure.


GO_ON = "Continue."


Mode = Literal["dialogue", "buffer"]
Endpoint = Literal["chat", "completion"]


@dataclass(frozen=True)
class Piece:
    """A node of the path: its text, whether a person wrote it, and its context and
    instruction sources. `key` distinguishes nodes of the same text."""

    key: int
    text: str
    is_human: bool
    context: tuple["Piece", ...] = ()
    instruction: tuple["Piece", ...] = ()

    @property
    def part(self) -> Part:
        """The piece as one message would hold it."""
        return Part("user" if self.is_human else "assistant", self.text)


@dataclass(frozen=True)
class Reading:
    """Everything a request to a subject is made from. `limit`: tokens for system text and
    path together; `window`: for the path alone, cut in front whatever the tree says; `prefill`: a
    dialogue may end with the model's own words; `way`: how a chat goes on with a buffer."""

    mode: Mode
    endpoint: Endpoint
    path: tuple[Piece, ...]
    persona: str = ""
    system_context: str = ""
    truncation: str = "truncateMiddle"
    limit: int = 4096 - RESERVE
    window: int | None = None
    prefill: bool = False
    way: str = PLAIN
    counted: Counted = count

    @property
    def strategy(self) -> str | None:
        """How a buffer is handed over: `plain` where there is a completion endpoint, to a chat
        in its `way`; None in a dialogue."""
        if self.mode != "buffer":
            return None
        return self.way if self.endpoint == "chat" else PLAIN


@dataclass(frozen=True)
class Sent:
    """A request's text: `messages` for a chat, `prompt` for a completion; the note; and of a
    buffer the `text` that a chat is to go on with."""

    messages: tuple[dict[str, str], ...] | None
    prompt: str | None
    note: str = ""
    text: str = ""


def arrange(reading: Reading) -> Sent:
    """The exact text a subject is sent. Raises TooLong where the tree's truncation says so,
    or the system text alone leaves no room; system text is never cut."""
    system = _subject_system(reading)
    room = reading.limit - reading.counted(system) - _asking(reading)
    if reading.window is None:
        fitted = fit(_parts(reading), reading.truncation, room, reading.counted)
    else:
        window = min(room, reading.window)
        fitted = fit(_parts(reading), "rollingWindow", window, reading.counted)
    parts = fitted.parts
    if reading.endpoint == "completion":
        return Sent(None, _prompt(reading.mode, system, parts), fitted.note)
    if reading.mode == "buffer":
        text = _buffer(parts)
        return Sent(handed_over(system, text, reading.way), None, fitted.note, text)
    head = ({"role": "system", "content": system},) if system else ()
    return Sent((*head, *_dialogue(parts, reading.prefill)), None, fitted.note)


def _asking(reading: Reading) -> int:
    """The tokens of what asks a chat to go on with a buffer."""
    if reading.strategy not in ASKED:
        return 0
    shown = [text for pair in EXAMPLES for text in pair] if reading.strategy == "few_shot" else []
    return reading.counted("".join([ASKS, *shown]))


def _subject_system(reading: Reading) -> str:
    """Persona, tree context, instruction sources; in a buffer the tree context alone."""
    if reading.mode == "buffer":
        return reading.system_context
    instructions = {one.key: one.text for piece in reading.path for one in piece.instruction}
    texts = [reading.persona, reading.system_context, *instructions.values()]
    return JOINT.join(text for text in texts if text)


def _parts(reading: Reading) -> list[Part]:
    """The path's texts in order. In a dialogue the context sources of a node stand before its
    primary one, which is the node above it; what is on the path already is not repeated."""
    parts: list[Part] = []
    known = {piece.key for piece in reading.path}
    for piece in reading.path:
        if reading.mode == "dialogue":
            sources = {one.key: one.part for one in piece.context if one.key not in known}
            known.update(sources)
            place = max(len(parts) - 1, 0)
            parts[place:place] = sources.values()
        parts.append(piece.part)
    return parts


def _prompt(mode: Mode, system: str, parts: Sequence[Part]) -> str:
    text = _buffer(parts) if mode == "buffer" else JOINT.join(part.text for part in parts)
    return f"{system}{JOINT}{text}" if system else text


def _buffer(parts: Sequence[Part]) -> str:
    """The texts joined byte by byte; only a gap is set off by blank lines."""
    return "".join(
        f"{JOINT}{part.text}{JOINT}" if part.role == GAP else part.text for part in parts
    )


def _dialogue(parts: Sequence[Part], prefill: bool) -> tuple[dict[str, str], ...]:
    """Messages of alternating roles, the first of the user, the last too unless prefilled."""
    messages = [
        {"role": role, "content": JOINT.join(part.text for part in run)}
        for role, run in groupby(parts, key=_role)
    ]
    if not messages or messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": BEGINS})
    if messages[-1]["role"] == "assistant" and not prefill:
        messages.append({"role": "user", "content": GO_ON})
    return tuple(messages)


def _role(part: Part) -> str:
    return "user" if part.role == GAP else part.role
