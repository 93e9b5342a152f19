"""How much of a request a provider may take from its cache: the share of the request before
that the next one begins with, from round to round and from turn to turn.

Runs scripted turns of ten rounds in a house of its own, against a scripted provider.
Run: python -m bench.prefix
"""

from itertools import pairwise
from typing import Any

from bench.installation import open_installation

TURNS = 3
PATH = 12  # texts before the first turn
WORDS = 60
ROUNDS = (
    "First I look around.\n→ tree\n",
    '→ find "the river"\n',
    "→ view {first} full\n",
    '→ annotate {first} "Why the river?"\n→ list {first} annotations\n',
    "→ view {last} full\n→ list {last}\n",
    "→ tag {last} #turning\n→ view branch:{last}\n",
    "→ list {last} siblings\n",
    '→ bookmark {first} "begin"\n→ view {middle} full\n',
    '→ think "It turns here."\n→ list {middle} continuations\n',
    "The river is where she stops being afraid. I would keep the second scene as it is.\n",
)


def main() -> None:
    """Prints both shares, the smallest first."""
    open_installation()
    _measure()


def _measure() -> None:
    from django.conf import settings

    from bench.trees import make_owner
    from loom.engine.context import Request
    from loom.engine.execute import execute_line
    from loom.people.models import Participant
    from loom.trees.commands import trees
    from tests.agents.acting import asked, went
    from tests.providers.scripted import ScriptedProvider
    from tests.providers.scripts import says

    actor = make_owner("bench")
    agent = Participant.objects.create(
        grove=actor.grove,
        kind="model",
        name="Marie",
        model_ref="openai:marie",
        context_limit=50_000,
        permissions=["loom_aware", "loom_write", "loom_generate"],
    )
    tree = trees.new_tree(actor, title="The river")
    ids = ["root"]
    for number in range(PATH):
        words = " ".join(f"the river {number} {place}" for place in range(WORDS // 4))
        ids += execute_line(actor, tree, Request(f'respond {ids[-1]} "{words}"')).body["refs"]
    first_requests: list[str] = []
    with ScriptedProvider() as provider:
        settings.PROVIDER_ALLOW = (provider.entry,)
        Participant.objects.filter(pk=agent.pk).update(base_url=provider.url)
        agent.refresh_from_db()
        for number in range(TURNS):
            named = {"first": ids[1], "middle": ids[len(ids) // 2], "last": ids[-1]}
            provider.script(*(says(reply.format(**named)) for reply in ROUNDS))
            before = len(provider.seen)
            turn = went(asked(actor, tree, agent, node=ids[-1], input=f"What of it, {number}?"))
            assert turn.status == "done" and turn.node is not None and turn.input_node is not None
            ids += [turn.input_node.local_id, turn.node.local_id]
            sent = [text_of(seen.json) for seen in provider.seen[before:]]
            _report(f"turn {number + 1}, round to round", sent)
            first_requests.append(sent[0])
        _report("turn to turn", first_requests)


def text_of(body: dict[str, Any]) -> str:
    """All of a request as one text, as a cache of prefixes reads it."""
    return "".join(f"<{message['role']}>{message['content']}" for message in body["messages"])


def common(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def _report(what: str, requests: list[str]) -> None:
    shares = [common(*pair) / len(pair[0]) for pair in pairwise(requests)]
    sent = [common(*pair) / len(pair[1]) for pair in pairwise(requests)]
    print(
        f"{what}: {len(requests)} requests, kept of the one before "
        f"{min(shares):.2f} to {max(shares):.2f}, of the next one "
        f"{min(sent):.2f} to {max(sent):.2f}, mean {sum(sent) / len(sent):.2f}"
    )


if __name__ == "__main__":
    main()
