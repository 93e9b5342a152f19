"""The line below a node that says which of its tasks are checked, archived or noted."""

from loom.claims.queries.inline_tokens import states_of
from loom.claims.rules.inline_tokens import has_box, tokens_in
from loom.language import ids
from loom.text.shortening import excerpt
from loom.trees.models import Node
from loom.trees.node_lines import adds_lines

MOST_TASKS = 20  # that the line names


@adds_lines
def decided_line(node: Node) -> list[str]:
    """`tasks: token:1 checked, token:2 archived "in the cellar"`: the tasks of which something is
    stored that the text does not say, with their last note. One query if the text has tasks."""
    if not has_box(node.text):
        return []
    tasks = [token for token in tokens_in(node.text) if token.kind == "task"]
    if not tasks:
        return []
    known = states_of(ids.of_node(node.pk), tasks)
    decided = []
    for task in tasks:
        state, notes = known[task.key]
        if state != task.state or notes:
            note = f" {excerpt(notes[-1])}" if notes else ""
            more = f" (of {len(notes)} notes)" if len(notes) > 1 else ""
            decided.append(f"token:{task.key} {state}{note}{more}")
    left = len(decided) - MOST_TASKS
    rest = [f"… and {left} more"] if left > 0 else []
    return [f"tasks: {', '.join([*decided[:MOST_TASKS], *rest])}"] if decided else []
