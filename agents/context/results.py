"""RESULTS: the answers to the lines of a round, in their order. PURE. See docs/model.md §6.4."""

from agents.context.fit import Counted
from agents.context.sections import framed
from agents.context.view import Round, Told
from loom.rules.framing import frames_escaped

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
