"""The messages that an agent gets if one of its lines is refused or does not run, or a path is too
long."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.context.subject_request import PromptTooLong
from agents.providers.registry import addressed
from loom.engine import registry
from loom.engine.models import Step
from loom.errors import CommandError
from loom.language.lines import ParsedCommand, makes_window, read
from loom.language.refs import ParseError
from loom.people.models import Participant
from loom.text.shortening import without_name

REPEATED = CommandError(
    "LOOP",
    "This turn was halted because it repeated itself.",
    hint="write your answer now, without further lines",
)
# After a line that leads elsewhere (`Verb.leads_elsewhere`), such as `sandbox`.
ELSEWHERE = CommandError(
    "REJECTED",
    "You have begun a place of your own in this turn, and this line would write in the tree that "
    "others read.",
    hint="end your turn; what belongs there is written when you are asked there",
)
QUOTED = 80  # characters of a refused line


@dataclass(frozen=True)
class LineVerdict:
    """Whether a line may run: why not, a warning, where the agent goes back to, and what it
    repeats."""

    refused: CommandError | None = None
    warning: str = ""
    goes_back_to: str = ""
    loop: str = ""


def result_of(steps: Sequence[Step], seq: int) -> str:
    """The number of the result window of a step, such as `#14`; "" if it has none."""
    step = next((step for step in steps if step.seq == seq and step.outcome == "ok"), None)
    if step is None or not step.canonical:
        return ""
    try:
        parsed = read(step.canonical, registry.language())
    except ParseError:  # its text is in the node that it made, so it opened no window
        return ""
    return f"#{seq}" if makes_window(parsed) else ""


def where_of(parsed: ParsedCommand, step: Step) -> str:
    """`line 2: "tag zz99 #seen": `, for a line that could be parsed; other errors already quote
    it."""
    if parsed.bad is not None:
        return ""
    line = without_name(step.canonical or step.line).removeprefix("→").strip().partition("\n")[0]
    quoted = line if len(line) <= QUOTED else f"{line[:QUOTED]}…"
    return f'line {step.turn_place.partition(".")[2]}: "{quoted}": '


def refusal_text(step: Step, where: str = "") -> str:
    """The `✗` text of a refused step, with its line."""
    head = f"✗ {step.outcome}: {where}{step.message}"
    return f"{head}\n  hint: {step.hint}" if step.hint else head


def too_long(long: PromptTooLong, reader: Participant) -> CommandError:
    """The refusal of a path that is too long for a `reader`: the same for subjects and turns. It
    stays as long however often it is asked for, so that it is not tried again as it is."""
    message, hint = str(long), "use a shorter path, or let it be cut"
    if not long.is_room:
        fixed = addressed(reader)[0].context  # its server's own, whatever an owner says
        message = (
            f"What {reader.name} is sent beside the path leaves no room for it in the "
            f"{fixed or reader.context_limit:,} tokens that it reads."
        )
        hint = "ask for less at once"
        if not fixed:
            hint += "; an owner can raise its context limit, if the model reads more"
    return CommandError(
        "LIMIT_EXCEEDED",
        message,
        hint=hint,
        is_size=True,
        retryable=False,
    )
