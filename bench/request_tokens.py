"""How many tokens a loom-aware agent is sent: by section, in a dialogue and in a buffer with
windows and tasks, and over the rounds of a turn that opens and hides windows.

Runs scripted turns in an installation of its own, against a scripted provider.
Run: python -m bench.request_tokens [text]   (`text` prints the requests, too)
"""

import sys
from typing import Any

from bench.installation import open_installation
from bench.prefix import common, text_of

TEXTS = 12  # of the path
WORDS = 60
LIMITS = (32_000, 8_000, 5_000, 4_096)
OPENS = (
    "→ open {0}\n",
    "→ open {1}\n",
    "→ open {2}\n",
    "→ open {3}\n",
    "→ hide #1 #2\n→ memory\n",
    "I have read them.\n",
)


def main(shows_text: bool) -> None:
    """Prints the tables."""
    open_installation()
    from django.conf import settings

    from bench.trees import make_owner
    from loom.people.models import Participant
    from tests.providers.scripted import ScriptedProvider

    actor = make_owner("bench")
    agent = Participant.objects.create(
        grove=actor.grove,
        kind="model",
        name="Marie",
        model_ref="openai:marie",
        context_limit=64_000,
        permissions=["loom_aware", "loom_write", "loom_generate", "doc_read", "doc_write"],
    )
    trees = {mode: _tree(actor, agent, mode) for mode in ("dialogue", "buffer")}
    with ScriptedProvider() as provider:
        settings.PROVIDER_ALLOW = (provider.entry,)
        Participant.objects.filter(pk=agent.pk).update(base_url=provider.url)
        agent.refresh_from_db()
        sent = [_sections(actor, agent, trees[mode], mode, shows_text) for mode in trees]
        print(f"of all: the requests in both trees begin alike with {common(*sent):,} characters")
        for mode, at in trees.items():
            _rounds(actor, agent, at, mode, provider)
        _limits(actor, agent, provider)


def _tree(actor: Any, agent: Any, mode: str) -> tuple[Any, list[str]]:
    """A tree with a path, two branches, marks, a document, and the agent's windows and tasks."""
    from loom.access import acting_as
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.trees.commands import node_writer, trees

    tree = trees.new_tree(actor, title=f"The river ({mode})", mode=mode)
    ids = ["root"]
    for number in range(TEXTS):
        words = " ".join(f"the river {number} {place}" for place in range(WORDS // 4))
        ids += execute_line(actor, tree, Request(f'respond {ids[-1]} "{words}. "')).body["refs"]
    for line in (
        f'respond {ids[3]} "Another way down to the water."',
        f'respond {ids[7]} "She never went there."',
        f'bookmark {ids[2]} "begin"',
        f"tag {ids[5]} #turning",
        f'annotate {ids[9]} "Why the river?"',
        f"link {ids[4]} to {ids[9]} as:supports",
        f'write doc:"notes {mode}" new "# Notes\n\n## Marie\nShe counts.\n\n## The end\nOpen."',
    ):
        execute_line(actor, tree, Request(line.replace("\n", "\\n")))
    own = node_writer.workspace_of(agent, tree)
    view = acting_as(actor, agent)
    for line in (
        f"open {ids[2]} keep",
        f'open doc:"notes {mode}" §Marie keep',
        'todo add "Read the branch" "Write the end"',
        f'stash "plan" "Let her cross at {ids[6]}."',
    ):
        execute_line(view, tree, Request(line), own)
        own.refresh_from_db()
    return tree, ids[1:]


def _sections(actor: Any, agent: Any, at: tuple[Any, list[str]], mode: str, shows: bool) -> str:
    """Prints the sections of the first request of a turn; returns its text."""
    from agents.generation_requests import assembled
    from agents.next_request import next_place
    from loom.trees.commands import node_writer
    from loom.trees.models import Node

    tree, ids = at
    own = node_writer.workspace_of(agent, tree)
    end = Node.objects.get(tree=tree, local_id=ids[-1])
    sent = assembled(next_place(actor, own, end))
    print(f"{mode}, first request: {sent.tokens:,} tokens")
    for portion in sent.portions:
        print(f"  {portion.name:<14}{portion.tokens:>7,}")
    text = sent.system + "".join(block for message in sent.messages for block in message.blocks)
    if shows:
        print(text)
    return text


def _rounds(actor: Any, agent: Any, at: tuple[Any, list[str]], mode: str, provider: Any) -> None:
    """Prints what the requests of a turn with four windows hold."""
    from loom.text.tokens import count
    from tests.agents.acting import asked, went
    from tests.providers.scripts import says

    tree, ids = at
    provider.script(*(says(reply.format(*ids[4:8])) for reply in OPENS))
    before = len(provider.seen)
    turn = went(asked(actor, tree, agent, node=ids[-1], input="Read the four of them."))
    sent = [text_of(seen.json) for seen in provider.seen[before:]]
    sizes = " ".join(f"{count(text):,}" for text in sent)
    copies = sent[-1].count("---WINDOW #")
    print(f"{mode}, a turn ({turn.status}): {sizes} tokens; windows in the last request: {copies}")


def _limits(actor: Any, agent: Any, provider: Any) -> None:
    """Prints what a look of 900 characters comes to with a full path at several limits."""
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.people.models import Participant
    from loom.trees.commands import trees
    from tests.agents.acting import asked, went
    from tests.providers.scripts import says

    for limit in LIMITS:
        Participant.objects.filter(pk=agent.pk).update(context_limit=limit)
        agent.refresh_from_db()
        tree = trees.new_tree(actor, title=f"Full {limit}")
        ids = ["root"]
        while len(ids) * 225 < limit:
            words = " ".join(f"the river {len(ids)} {place}" for place in range(60))
            ids += execute_line(actor, tree, Request(f'respond {ids[-1]} "{words}"')).body["refs"]
        provider.script(says(f"→ view {ids[1]} full\n"), says("It is a river.\n"))
        before = len(provider.seen)
        turn = went(asked(actor, tree, agent, node=ids[-1], input="What does the first one say?"))
        text = text_of(provider.seen[-1].json)
        result = text.rpartition("---RESULT #")[2].partition("---RESULT_END")[0]
        print(
            f"limit {limit:,}: {len(provider.seen) - before} requests ({turn.status}), the last of"
            f" {len(text) // 4:,} tokens, the result of {len(result):,} characters"
        )


if __name__ == "__main__":
    main("text" in sys.argv[1:])
