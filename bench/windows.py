"""What windows cost: rendering the WORKSPACE message with 30 windows of 350 lines together, the
share of a request that stays when windows change in every round, and the tokens of three sections
of a document of 500 lines against the whole.

Runs scripted turns in a house of its own, against a scripted provider.
Run: python -m bench.windows
"""

from itertools import pairwise
from typing import Any

from bench.installation import medians_ms, open_installation, report
from bench.prefix import common, text_of

WINDOWS = 30
LINES = 350
PATH = 12  # texts of the path that a turn reads
WORDS = 60
SECTIONS = 25  # of the document, 20 lines each
ROUNDS = (
    "→ open {a} lines:1-6 keep\n",
    '→ find "river 3" open max:2\n',
    "→ resize #1 lines:2-9\n→ view {b} full\n",
    "→ hide #1\n→ open {b} pad:3\n",
    "→ show #1\n→ open {a} lines:15-20 live\n",
    "→ refresh all\n→ close #2\n→ tree\n",
    "→ open branch:{b}\n→ list {a}\n",
    "I have seen enough.\n",
)


def main() -> None:
    """Prints the three figures."""
    open_installation()
    from bench.trees import make_owner
    from loom.people.models import Participant

    actor = make_owner("bench")
    agent = Participant.objects.create(
        grove=actor.grove,
        kind="model",
        name="Marie",
        model_ref="openai:marie",
        context_limit=50_000,
        permissions=["loom_aware", "loom_write", "doc_read", "doc_write"],
    )
    _rendering(actor, agent)
    _prefix(actor, agent)
    _sections(actor, agent)


def _path(actor: Any, tree: Any, lines: int) -> list[str]:
    from loom.engine.context import Request
    from loom.engine.execute import execute_line

    ids = ["root"]
    for number in range(PATH):
        text = "\n".join(f"the river {number} {line} " + "water " * 8 for line in range(lines))
        answer = execute_line(actor, tree, Request(f"respond {ids[-1]}\n{text}\n←"))
        ids += answer.body["refs"]
    return ids


def _rendering(actor: Any, agent: Any) -> None:
    from agents.context import sections
    from agents.generation_requests import assembled
    from agents.next_request import next_place
    from loom.access import acting_as
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.trees.commands import node_writer, trees

    tree = trees.new_tree(actor, title="Rendering")
    view, own = acting_as(actor, agent), node_writer.workspace_of(agent, tree)
    per_window = LINES // WINDOWS
    for number in range(WINDOWS):
        size = per_window + (number < LINES % WINDOWS)
        text = "\n".join(f"text {number} line {line} " + "water " * 8 for line in range(size))
        answer = execute_line(actor, tree, Request(f"respond root\n{text}\n←"))
        execute_line(view, tree, Request(f"open {answer.body['refs'][0]} keep"), own)
    own.refresh_from_db()
    place = next_place(actor, own)
    fields = sections.collected(place)
    pages: dict[str, Any] = {"revision": own.revision, "mode": "dialogue", **fields}
    from agents.context.values import WorkspaceView

    shown = WorkspaceView(**pages)
    assert len(shown.panes) == WINDOWS and sum(pane.count for pane in shown.panes) == LINES
    collect = sections.windows.collect
    assert collect is not None
    cases = {
        "rendering the WORKSPACE message": lambda: sections.rendered(shown),
        "reading the windows": lambda: collect(place),
        "assembling the whole request": lambda: assembled(next_place(actor, own)),
    }
    report(f"{WINDOWS} windows, {LINES} lines", medians_ms(cases, rounds=20), {})


def _prefix(actor: Any, agent: Any) -> None:
    from django.conf import settings

    from loom.people.models import Participant
    from loom.trees.commands import trees
    from tests.agents.acting import asked, went
    from tests.providers.scripted import ScriptedProvider
    from tests.providers.scripts import says

    tree = trees.new_tree(actor, title="The river")
    ids = _path(actor, tree, WORDS // 3)
    with ScriptedProvider() as provider:
        settings.PROVIDER_ALLOW = (provider.entry,)
        Participant.objects.filter(pk=agent.pk).update(base_url=provider.url)
        agent.refresh_from_db()
        provider.script(*(says(reply.format(a=ids[1], b=ids[2])) for reply in ROUNDS))
        turn = went(asked(actor, tree, agent, node=ids[-1], input="What of it?"))
        assert turn.status == "done"
        sent = [text_of(seen.json) for seen in provider.seen]
    shares = [common(*pair) / len(pair[0]) for pair in pairwise(sent)]
    print(
        f"windows change in each of {len(sent)} rounds: kept of the request before "
        f"{min(shares):.3f} to {max(shares):.3f}"
    )


def _sections(actor: Any, agent: Any) -> None:
    from agents.generation_requests import assembled
    from agents.next_request import next_place
    from loom.access import acting_as
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.trees.commands import node_writer, trees

    tree = trees.new_tree(actor, title="A document")
    view, own = acting_as(actor, agent), node_writer.workspace_of(agent, tree)
    parts = [f"## Part {n}\n" + f"A line of part {n}.\n" * 19 for n in range(1, SECTIONS + 1)]
    execute_line(actor, tree, Request(f'write doc:"long" new\n{"".join(parts)}←'))
    empty = assembled(next_place(actor, own)).tokens
    for number in (2, 9, 17):
        execute_line(view, tree, Request(f'open doc:"long" §part-{number} keep'), own)
    three = assembled(next_place(actor, own)).tokens - empty
    execute_line(view, tree, Request("hide all"), own)
    execute_line(view, tree, Request('open doc:"long" lines:1-500 keep'), own)
    whole = assembled(next_place(actor, own)).tokens - empty
    print(f"three sections of 500 lines: {three} tokens, the whole {whole}: {three / whole:.2f}")


if __name__ == "__main__":
    main()
