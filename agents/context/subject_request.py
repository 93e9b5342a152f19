"""The request that a subject is sent: text only, without headers, sections or tools; and the
truncations, which cut a path to what a model can read. Pure."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Final, Literal

from agents.context.sections import Counted, PathPart, total
from agents.context.values import Portion
from loom.participants.provider_kinds import RESERVE, WAYS
from loom.text.lore import FoundLore, LoreEntry, chosen_lore
from loom.text.tokens import count
from loom.turns.left_out import is_left_out

# The three truncations of a tree (docs/model.md §6.3). Counts are estimates of about four
# characters a token.


KEPT_AT_THE_END = 4  # nodes that truncateMiddle never leaves out
GAP = "gap"  # the role of the part that marks what was left out
MARKER = "[…]"


class PromptTooLong(ValueError):
    """The text that must be sent exceeds the limit; the message is one sentence. There `is_room`
    for a path if the text beside it does not take all of the limit."""

    def __init__(self, tokens: int, room: int) -> None:
        self.is_room = room > 0
        super().__init__(
            f"The path has about {tokens:,} tokens, and there is room for {max(room, 0):,}."
        )


@dataclass(frozen=True)
class Fitted:
    """The remaining parts, and a note about what was cut ("": nothing)."""

    parts: tuple[PathPart, ...]
    note: str = ""


def count_small(text: str) -> int:
    """The approximate number of tokens in a small vocabulary, which splits the characters of other
    scripts.

    Measured with SmolLM2, bytes a token: Chinese 1.5, Japanese 1.6, Arabic 2.0, Russian 2.3.
    """
    if text.isascii():
        return count(text)
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + -(-(len(text.encode()) - plain) * 2 // 3)


def truncate_middle(
    parts: Sequence[PathPart], room: int, counted: Counted = count, kept: int = KEPT_AT_THE_END
) -> Fitted:
    """The first nodes, a marker, and at least the last `kept` nodes, cut at their start if they do
    not fit."""
    if total(parts, counted) <= room:
        return Fitted(tuple(parts))
    tail = tuple(parts[-kept:])
    left = room - total(tail, counted) - counted(MARKER)
    if left < 0:
        return rolling_window(tail, room, counted)
    head = list(parts[: -len(tail)])
    first = _fitting(head, left // 4, counted) or _fitting(head[:1], left, counted)
    rest = head[len(first) :]
    last = _fitting(rest[::-1], left - total(first, counted), counted)[::-1]
    missing = len(rest) - len(last)
    return Fitted(
        (*first, PathPart(GAP, MARKER), *last, *tail),
        f"left out {missing:,} node{'' if missing == 1 else 's'} in the middle",
    )


def _fitting(parts: Sequence[PathPart], room: int, counted: Counted) -> list[PathPart]:
    """The parts from the start on that fit together."""
    kept: list[PathPart] = []
    for part in parts:
        room -= counted(part.text)
        if room < 0:
            break
        kept.append(part)
    return kept


def rolling_window(parts: Sequence[PathPart], room: int, counted: Counted = count) -> Fitted:
    """The end of the path; the oldest text is cut inside, after a blank if one is near."""
    if total(parts, counted) <= room:
        return Fitted(tuple(parts))
    kept = _fitting(parts[::-1], room, counted)[::-1]
    cut = parts[len(parts) - len(kept) - 1]
    left = room - total(kept, counted)
    end = _end_of(cut.text, left, counted) if left else ""
    begun = [PathPart(cut.role, end)] if end else []
    return Fitted((*begun, *kept), f"read the last {room:,} tokens")


def _end_of(text: str, room: int, counted: Counted) -> str:
    """The longest end of `text` that fits, beginning at a whole word if possible."""
    text = text[-4 * room :]  # no count is below a quarter of the characters
    low, high = 0, len(text)  # the first start that fits lies between
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if counted(text[middle:]) <= room else (middle + 1, high)
    end = text[low:]
    blank = next((at for at, char in enumerate(end[:80]) if char.isspace()), -1)
    return end[blank + 1 :]


def stop_at_limit(parts: Sequence[PathPart], room: int, counted: Counted = count) -> Fitted:
    """All parts. Raises TooLong if they do not fit."""
    tokens = total(parts, counted)
    if tokens > room:
        raise PromptTooLong(tokens, room)
    return Fitted(tuple(parts))


TRUNCATIONS: dict[str, Callable[[Sequence[PathPart], int, Counted], Fitted]] = {
    "rollingWindow": rolling_window,
    "stopAtLimit": stop_at_limit,
}


def fit(
    parts: Sequence[PathPart],
    truncation: str,
    room: int,
    counted: Counted = count,
    *,
    kept: int = KEPT_AT_THE_END,
) -> Fitted:
    """The parts cut to `room` tokens by a truncation; `kept` is the number of last nodes that
    truncateMiddle keeps. Raises TooLong if there is no room at all, or the truncation is
    stopAtLimit.
    """
    if room <= 0:
        raise PromptTooLong(total(parts, counted), room)
    if truncation == "truncateMiddle":
        return truncate_middle(parts, room, counted, kept)
    return TRUNCATIONS[truncation](parts, room, counted)


# Ways to ask a chat to continue a text.


BEGINS: Final = "(the text begins)"
PLAIN: Final = "plain"
BEGUN: Final = ("prefill", "continue_final")  # the model continues its own message
ASKED: Final = ("few_shot", "instruction")  # the system text asks for it

JOINT = "\n\n"
ASKS: Final = (
    "The user sends the end of a text. Write what comes next in it, in its language and voice, "
    "from the very place where it stops, even in the middle of a sentence or a word. Begin by "
    "repeating its last few words exactly, then go straight on. Write only the text itself: no "
    "greeting, no remark, no title, no quotation marks around it."
)
# (the end of a text, its continuation): in the middle of a word, of a sentence, of a list.
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
    """The best way that these capabilities allow; `plain` if they name none."""
    return next((way for way in WAYS if way in capabilities), PLAIN)


def handed_over(system: str, text: str, way: str) -> Messages:
    """A text as the messages of a chat that should continue it. A text of only blanks cannot be
    continued or repeated: the chat is told that the text begins. A begun message ends before the
    text's last blanks, which providers refuse or drop; the overlap corrects that.
    """
    if not text.strip() or way == PLAIN:
        return (*system_said(system), user_said(text if text.strip() else BEGINS))
    if way in BEGUN:
        return (*system_said(system), user_said(BEGINS), _model(text.rstrip()))
    shown = [message for end, on in EXAMPLES for message in (user_said(end), _model(on))]
    examples = shown if way == "few_shot" else []
    head = JOINT.join(part for part in (system, ASKS) if part)
    return (*system_said(head), *examples, user_said(text))


def system_said(text: str) -> Messages:
    """The system message with a text; none if the text is blank, which providers refuse."""
    return ({"role": "system", "content": text},) if text.strip() else ()


def user_said(text: str) -> dict[str, str]:
    """A message with the role user."""
    return {"role": "user", "content": text}


def _model(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


# The whole request.


GO_ON = "Continue."


Mode = Literal["dialogue", "buffer"]
Endpoint = Literal["chat", "completion"]


@dataclass(frozen=True)
class PathPiece:
    """A node of the path: its text, whether a person wrote it, and its context and instruction
    sources. `key` distinguishes nodes with the same text."""

    key: int
    text: str
    is_human: bool
    context: tuple["PathPiece", ...] = ()
    instruction: tuple["PathPiece", ...] = ()
    local_id: str = ""

    @property
    def part(self) -> PathPart:
        """The piece as one message would hold it."""
        return PathPart("user" if self.is_human else "assistant", self.text)


@dataclass(frozen=True)
class Steering:
    """What a tree adds for subjects (docs/model.md §6.2): a memory before the text; an author's
    note, `depth` paragraphs before its end; and lore, the texts with a key in the last `scan`
    characters, up to `budget` tokens."""

    memory: str = ""
    note: str = ""
    depth: int = 3
    lore: tuple[LoreEntry, ...] = ()
    scan: int = 2_000
    budget: int = 1_000


@dataclass(frozen=True)
class SubjectPath:
    """Everything that a request to a subject is made from. `limit`: tokens for system text and
    path together; `kept`: the last nodes that truncateMiddle keeps; `window`: tokens for the path
    alone, whose start is cut whatever the tree says; `prefill`: a dialogue may end with the
    model's own words; `way`: how a chat is asked to continue a buffer."""

    mode: Mode
    endpoint: Endpoint
    path: tuple[PathPiece, ...]
    persona: str = ""
    system_context: str = ""
    truncation: str = "truncateMiddle"
    kept: int = KEPT_AT_THE_END
    limit: int = 4096 - RESERVE
    window: int | None = None
    prefill: bool = False
    way: str = PLAIN
    counted: Counted = count
    steering: Steering = field(default_factory=Steering)
    left_out: tuple[str, ...] = ()  # as loom.turns.left_out names them

    @property
    def strategy(self) -> str | None:
        """How a buffer is sent: `plain` if there is a completion endpoint, otherwise in the `way`
        of the chat; None in a dialogue."""
        if self.mode != "buffer":
            return None
        return self.way if self.endpoint == "chat" else PLAIN


@dataclass(frozen=True)
class SubjectRequest:
    """The text of a request: `messages` for a chat, `prompt` for a completion; the note; for a
    buffer the `text` that a chat should continue; and its sections."""

    messages: tuple[dict[str, str], ...] | None
    prompt: str | None
    note: str = ""
    text: str = ""
    portions: tuple[Portion, ...] = ()


def arrange(reading: SubjectPath) -> SubjectRequest:
    """The exact text that a subject is sent. Raises TooLong if the tree's truncation says so, or
    the system text alone leaves no room; system text, memory, lore and note are never cut."""
    whole, reading = reading, _without(reading)
    lore = _lore(reading)
    system = _subject_system(reading, lore.taken)
    begins = _begins(reading, lore.taken)
    note = _note(reading)
    taken = sum(reading.counted(text) for text in (system, begins, note)) + _asking(reading)
    room = reading.limit - taken
    if reading.window is None:
        fitted = fit(_parts(reading), reading.truncation, room, reading.counted, kept=reading.kept)
    else:
        window = min(room, reading.window)
        fitted = fit(_parts(reading), "rollingWindow", window, reading.counted)
    portions = (*_portions(reading, lore, fitted), *_not_sent(whole))
    if reading.mode == "buffer":
        text = begins + noted(_buffer(fitted.parts), note, reading.steering.depth)
    else:
        parts = noted_parts(fitted.parts, note, reading.steering.depth)
        text = JOINT.join(part.text for part in parts)
    if reading.endpoint == "completion":
        prompt = f"{system}{JOINT}{text}" if system else text
        return SubjectRequest(None, prompt, fitted.note, portions=portions)
    if reading.mode == "buffer":
        messages = handed_over(system, text, reading.way)
        return SubjectRequest(messages, None, fitted.note, text, portions)
    messages = (*system_said(system), *_dialogue(parts, reading.prefill))
    return SubjectRequest(messages, None, fitted.note, portions=portions)


# -- what is left out this once


LEFT_OUT = "left out this time"


def _without(reading: SubjectPath) -> SubjectPath:
    """The reading without the parts that its asker leaves out."""
    if not reading.left_out:
        return reading
    steering, lacks = reading.steering, partial(is_left_out, reading.left_out)
    return replace(
        reading,
        persona="" if lacks("persona") else reading.persona,
        system_context="" if lacks("tree") else reading.system_context,
        path=tuple(replace(piece, instruction=()) for piece in reading.path)
        if lacks("instructions")
        else reading.path,
        steering=replace(
            steering,
            memory="" if lacks("memory") else steering.memory,
            note="" if lacks("note") else steering.note,
            lore=tuple(entry for entry in steering.lore if not lacks("lore", entry.title)),
        ),
    )


def _not_sent(whole: SubjectPath) -> list[Portion]:
    """A section without a text for each part that is left out and would be sent otherwise."""
    if not whole.left_out:
        return []
    lacks = partial(is_left_out, whole.left_out)
    steering = whole.steering
    parts = [
        ("persona", "" if whole.mode == "buffer" else whole.persona),
        ("tree", whole.system_context),
        ("instructions", JOINT.join(_instructions(whole))),
        ("memory", steering.memory.strip()),
        ("note", _note(whole)),
    ]
    portions = [
        Portion(name.upper(), "", 0, note=LEFT_OUT) for name, text in parts if text and lacks(name)
    ]
    entries = [entry for entry, _ in _lore(whole).entered if lacks("lore", entry.title)]
    return portions + [Portion("LORE", "", 0, entry.title, LEFT_OUT) for entry in entries]


# -- memory, lore and author's note


def _lore(reading: SubjectPath) -> FoundLore:
    steering = reading.steering
    if not steering.lore:
        return FoundLore()
    texts: list[str] = []
    length = 0
    for piece in reversed(reading.path):
        if length >= steering.scan:
            break
        texts.insert(0, piece.text)
        length += len(piece.text) + len(_between(reading))
    end = _between(reading).join(texts)[-steering.scan :]
    return chosen_lore(steering.lore, end, steering.budget, reading.counted)


def _between(reading: SubjectPath) -> str:
    """What joins the texts of two nodes."""
    return "" if reading.mode == "buffer" else JOINT


def _note(reading: SubjectPath) -> str:
    return reading.steering.note if reading.steering.note.strip() else ""


def _added(reading: SubjectPath, lore: Iterable[LoreEntry]) -> list[str]:
    """Memory and lore, in their order; what is blank is left out."""
    texts = [reading.steering.memory, *(entry.text for entry in lore)]
    return [text for text in texts if text.strip()]


def _begins(reading: SubjectPath, lore: Iterable[LoreEntry]) -> str:
    """The beginning of a buffer, before the first text of the path."""
    added = _added(reading, lore) if reading.mode == "buffer" else []
    return "".join(f"{text}{JOINT}" for text in added)


def paragraph_starts(text: str) -> list[int]:
    """Where the paragraphs of a text begin; a paragraph is a line that is not blank."""
    starts = []
    at = 0
    for line in text.split("\n"):
        if line.strip():
            starts.append(at)
        at += len(line) + 1
    return starts


def noted(text: str, note: str, depth: int) -> str:
    """A text with a note inserted before the paragraph that is `depth` before its end, separated
    like the paragraphs there: by a line break or a blank line. In a shorter text the note comes
    first."""
    if not note:
        return text
    starts = paragraph_starts(text)
    at = starts[-depth] if len(starts) > depth else 0
    is_close = text[:at].endswith("\n") and not text[:at].endswith("\n\n")
    return f"{text[:at]}{note}{chr(10) if is_close else JOINT}{text[at:]}"


def noted_parts(parts: Sequence[PathPart], note: str, depth: int) -> tuple[PathPart, ...]:
    """The parts of a dialogue with a note, as a user message, before the part with the paragraph
    that is `depth` before the end."""
    if not note:
        return tuple(parts)
    place = 0
    left = depth
    for at in range(len(parts) - 1, -1, -1):
        left -= 0 if parts[at].role == GAP else len(paragraph_starts(parts[at].text))
        if left <= 0:
            place = at
            break
    return (*parts[:place], PathPart("user", note), *parts[place:])


def _portions(reading: SubjectPath, lore: FoundLore, fitted: Fitted) -> tuple[Portion, ...]:
    """The sections of the request, those that are empty left out."""
    is_buffer = reading.mode == "buffer"
    instructions = JOINT.join(_instructions(reading))
    nodes = len(reading.path)
    path = _between(reading).join(part.text for part in fitted.parts)
    asks = [ASKS] if _asking(reading) else []
    shown = [text for pair in EXAMPLES for text in pair] if reading.strategy == "few_shot" else []
    steering = reading.steering
    depth = f"{steering.depth} paragraph{'' if steering.depth == 1 else 's'} before the end"
    sections = [
        Portion("PERSONA", "" if is_buffer else reading.persona, 0),
        Portion("TREE", reading.system_context, 0),
        Portion("INSTRUCTIONS", instructions, 0),
        Portion("ASKING", JOINT.join([*asks, *shown]), 0, reading.strategy or ""),
        Portion("MEMORY", steering.memory if steering.memory.strip() else "", 0),
        *(Portion("LORE", entry.text, 0, entry.title, why) for entry, why in lore.entered),
        Portion(
            "PATH",
            path,
            0,
            f"{nodes} node{'' if nodes == 1 else 's'}",
            fitted.note,
            _sent_nodes(reading, fitted),
            nodes,
        ),
        Portion("NOTE", _note(reading), 0, depth, count=steering.depth),
    ]
    sized = [replace(entry, tokens=reading.counted(entry.text)) for entry in sections if entry.text]
    left = [Portion("LORE", "", 0, entry.title, why) for entry, why in lore.left]
    persona = Portion("PERSONA", "", 0, note="a buffer is sent without the persona")
    return (*([persona] if is_buffer and reading.persona else []), *sized, *left)


def _sent_nodes(reading: SubjectPath, fitted: Fitted) -> tuple[str, ...]:
    """The ids of the nodes of the path that are sent, also those of which only the end is."""
    if not fitted.note:
        return tuple(piece.local_id for piece in reading.path if piece.local_id)
    texts = Counter(part.text for part in fitted.parts)
    cut = fitted.parts[0].text if fitted.parts else ""
    sent = []
    for piece in reversed(reading.path):  # of equal texts the last is sent
        if texts[piece.text]:
            texts[piece.text] -= 1
        elif not (cut and texts[cut] and piece.text.endswith(cut)):
            continue
        else:
            texts[cut] -= 1
        sent.append(piece.local_id)
    return tuple(reversed([name for name in sent if name]))


def _asking(reading: SubjectPath) -> int:
    """The tokens of what asks a chat to continue a buffer."""
    if reading.strategy not in ASKED:
        return 0
    shown = [text for pair in EXAMPLES for text in pair] if reading.strategy == "few_shot" else []
    return reading.counted("".join([ASKS, *shown]))


def _subject_system(reading: SubjectPath, lore: Iterable[LoreEntry]) -> str:
    """Persona, tree context, instruction sources, memory and lore; in a buffer the tree context
    alone."""
    if reading.mode == "buffer":
        return reading.system_context
    texts = [reading.persona, reading.system_context, *_instructions(reading)]
    return JOINT.join(text for text in [*texts, *_added(reading, lore)] if text.strip())


def _instructions(reading: SubjectPath) -> tuple[str, ...]:
    """The texts of the instruction sources of a dialogue, each once."""
    if reading.mode == "buffer":
        return ()
    texts = {part.key: part.text for piece in reading.path for part in piece.instruction}
    return tuple(texts.values())


def _parts(reading: SubjectPath) -> list[PathPart]:
    """The path's texts in order. In a dialogue the context sources of a node come before its
    primary source, which is the node above it; texts that are already on the path are not
    repeated."""
    parts: list[PathPart] = []
    known = {piece.key for piece in reading.path}
    for piece in reading.path:
        if reading.mode == "dialogue":
            sources = {
                source.key: source.part for source in piece.context if source.key not in known
            }
            known.update(sources)
            place = max(len(parts) - 1, 0)
            parts[place:place] = sources.values()
        parts.append(piece.part)
    return parts


def _buffer(parts: Sequence[PathPart]) -> str:
    """The texts joined byte by byte; only a gap is surrounded by blank lines."""
    return "".join(
        f"{JOINT}{part.text}{JOINT}" if part.role == GAP else part.text for part in parts
    )


def _dialogue(parts: Sequence[PathPart], prefill: bool) -> tuple[dict[str, str], ...]:
    """Messages of alternating roles; the first is of the user, and the last too unless
    prefilled. Texts of only blanks are left out: providers refuse a message of nothing else."""
    said = [part for part in parts if part.text.strip()]
    messages = [
        {"role": role, "content": JOINT.join(part.text for part in run)}
        for role, run in groupby(said, key=_role)
    ]
    if not messages or messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": BEGINS})
    if messages[-1]["role"] == "assistant" and not prefill:
        messages.append({"role": "user", "content": GO_ON})
    return tuple(messages)


def _role(part: PathPart) -> str:
    return "user" if part.role == GAP else part.role
