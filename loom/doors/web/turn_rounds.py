"""The rounds of a turn for the page: prose, thoughts, and lines with their answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext

from loom.access import Actor, closed_steps
from loom.commands import registry
from loom.commands.continuing import outcome_of
from loom.grammar.bad import Bad
from loom.grammar.batches import prose_of, segments_of
from loom.grammar.lines import read
from loom.grammar.writing import without_name
from loom.models import Generation, Step, Turn
from loom.queries.turns import lines_of, texts_of

MAX_TEXT = 20_000


@dataclass(frozen=True)
class LineShown:
    """One line: as it was written, the first line of its answer, and the rest of both."""

    text: str
    block: str
    is_ok: bool
    answer: str
    more: str
    hint: str


@dataclass(frozen=True)
class RoundShown:
    """One round. A live one has `generation` and the text that has come; the prose of one
    that is over stands without its lines."""

    number: int
    is_live: bool
    generation: str
    chunk: int
    text: str
    thoughts: tuple[str, ...]
    lines: tuple[LineShown, ...]

    @property
    def thought_lines(self) -> int:
        """How many lines the thoughts have."""
        return sum(len(thought.splitlines()) or 1 for thought in self.thoughts)


def rounds_of(
    actor: Actor, turn: Turn, generations: Sequence[Generation]
) -> tuple[RoundShown, ...]:
    """The rounds in order, those that ended and the one in hand; without the lines whose
    texts the reader may not see. Two queries."""
    over: dict[str, dict[str, Any]] = {str(one.get("generation")): one for one in turn.rounds}
    steps: dict[int, list[Step]] = {}
    lines = list(lines_of(turn))
    closed = closed_steps(actor, lines)
    every = [step for step in lines if step.pk not in closed]
    texts = texts_of(every)
    for step in every:
        steps.setdefault(int(step.turn_place.partition(".")[0] or 0), []).append(step)
    return tuple(
        _round(one, over.get(one.uid), steps.get(one.round, []), turn.ended_at is None, texts)
        for one in generations
    )


def _round(
    one: Generation,
    ended: dict[str, Any] | None,
    steps: list[Step],
    is_open: bool,
    texts: dict[int, str],
) -> RoundShown:
    is_live = is_open and one.status in ("queued", "running")
    text = str(ended.get("prose", "")) if ended else one.text if is_live else _prose(one.text)
    thoughts = [_thought(step, texts) for step in steps]
    return RoundShown(
        number=one.round,
        is_live=is_live,
        generation=one.uid,
        chunk=one.chunk,
        text=text[:MAX_TEXT],
        thoughts=tuple(thought for thought in thoughts if thought),
        lines=tuple(
            _line(step, texts) for step, thought in zip(steps, thoughts, strict=True) if not thought
        ),
    )


@lru_cache(maxsize=64)
def _prose(text: str) -> str:
    """What a round whose lines are being run says besides them."""
    return prose_of(segments_of(text, registry.forms(), registry.aliases(), finished=True))


def _thought(step: Step, texts: dict[int, str]) -> str:
    """What a `think` line holds; "" for any other line."""
    if step.outcome != "ok" or not step.canonical.startswith("→ think"):
        return ""
    if step.pk in texts:
        return texts[step.pk]
    try:
        said = read(step.canonical, registry.forms(), registry.aliases())
    except Bad:
        return ""
    return str(said.values.get("content", ""))


def _line(step: Step, texts: dict[int, str]) -> LineShown:
    text, _, block = step.line.strip("\n").partition("\n")
    if step.pk in texts:
        text, block = without_name(text), texts[step.pk][:MAX_TEXT]
    answer, _, more = _answer(step).partition("\n")
    is_ok = step.outcome == "ok"
    return LineShown(
        text=text,
        block=block,
        is_ok=is_ok,
        answer=answer if is_ok else f"✗ {step.outcome}: {answer}",
        more=more,
        hint=step.hint,
    )


def _answer(step: Step) -> str:
    """What was answered; of a line that asked for candidates, how many of them have ended."""
    asked = [uid for op in step.inverse or [] for uid in op.get("uids", ())]
    if step.outcome != "ok" or not asked:
        return step.message
    is_over, reply, _ = outcome_of(asked)
    if is_over:
        return reply.text
    open_ones = Generation.objects.filter(uid__in=asked, ended_at__isnull=True).count()
    return gettext("%(done)s of %(all)s") % {"done": len(asked) - open_ones, "all": len(asked)}
