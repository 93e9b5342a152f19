"""The end of a line: what its effects are stored with."""

from dataclasses import dataclass
from typing import Any

from loom.engine import views
from loom.engine.attempt import Attempt
from loom.engine.context import Context
from loom.engine.models import Step
from loom.engine.steps import numbered_step
from loom.trees.models import Workspace


@dataclass
class Storing:
    """The end of a line that ran, in its transaction: its locked workspace and its step."""

    attempt: Attempt
    context: Context
    workspace: Workspace
    step: Step

    def announce(self, kind: str, payload: dict[str, Any]) -> None:
        """Stores the row of the workspace and writes an event to its stream."""
        views.write_view_event(self.attempt, self.workspace, kind, payload)

    def add_step(self, **fields: Any) -> Step:
        """Writes a step that follows from that of the line, and does not count as a line of its
        turn."""
        return numbered_step(
            self.workspace,
            by=self.attempt.actor,
            turn_uid=self.attempt.request.turn,
            position=self.attempt.position[:8],
            outcome="ok",
            **fields,
        )
