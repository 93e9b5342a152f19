"""The answer of a line that arrives after the line has run (`Verb.answers_later`)."""

from loom.engine import jobs, views
from loom.engine.models import Step
from loom.trees.models import Workspace
from loom.workspace.models import Window


def answer_step(
    workspace: Workspace, seq: int, *, turn: str, text: str, code: str = "", hint: str = ""
) -> None:
    """Stores the answer of a step, or with a `code` its refusal, which has no window; writes the
    event, and resumes the turn (its uid; "" outside of one) that waits for it. Needs a transaction
    in which the workspace is locked."""
    step = Step.objects.filter(workspace=workspace, seq=seq)
    if code:
        step.update(outcome=code, message=text, hint=hint)
        Window.objects.filter(workspace=workspace, number=seq).update(is_closed=True)
    else:
        step.update(message=text)
    views.answered(workspace, seq, turn=turn)
    if turn:
        jobs.enqueue("agents.tasks.run_turn", [turn], queue="continue")
