"""What assembling a request costs, and how much of it a provider may keep from round to round.

A scripted turn of 20 rounds (a path of 8,000 tokens, a WORKSPACE of about 1,000, results of 300 a
round) against the naive order, in which what changes stands before the path; then the time that
the next request of a path of 2,000 nodes takes, for a subject and for a loom-aware agent.
Run: python -m bench.context [nodes]
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

from bench.installation import Case, medians_ms, open_installation, report, settle
from bench.prefix import common

ROUNDS, PATH, VIEW, RESULT = 20, 8_000, 1_000, 300  # tokens, a quarter of their characters


def shares() -> None:
    """Prints the share of each request that the one before it begins with, both ways."""
    from agents.context.agent_request import AgentRequest, assemble
    from agents.context.values import LineReply, Round
    from tests.agents.test_aware import ADA, AWARE

    path = tuple(
        replace(ADA, text="word " * 156, local_id=f"a{n % 8 + 2}b{n % 7 + 2}")
        for n in range(PATH // 200)
    )
    notes = tuple(f"✓ Ada wrote [a7x2]: {'word ' * 10}" for _ in range(VIEW * 4 // 72))
    done: list[Round] = []
    sent: list[AgentRequest] = []
    stated: dict[str, str] = {}
    for number in range(ROUNDS):
        budget = f"steps {number}/100 · rounds {number}/20"
        view = replace(AWARE.view, revision=118 + number, budget=budget, notifications=notes)
        request = assemble(replace(AWARE, path=path, view=view, rounds=tuple(done), stated=stated))
        stated = dict(request.stated)
        sent.append(request)
        reply = LineReply("→ view a7x2", "word " * (RESULT * 4 // 5), number + 1)
        done.append(Round(f"Round {number}.\n→ view a7x2", (reply,), workspace=request.workspace))
    ours = ["".join(body["content"] for body in request.bodies) for request in sent]
    _say("what changes comes last", ours)
    _say("what changes comes before the path", [_naive(request) for request in sent])


def _naive(request: "object") -> str:
    """The texts with the WORKSPACE before the conversation."""
    from agents.context.agent_request import AgentRequest

    assert isinstance(request, AgentRequest)
    rest = "".join(block for message in request.messages for block in message.blocks)
    return f"{request.system}{request.workspace}{rest.replace(request.workspace, '')}"


def _say(what: str, texts: Sequence[str]) -> None:
    ratios = [common(*pair) / len(pair[1]) for pair in pairwise(texts)]
    whole = sum(common(*pair) for pair in pairwise(texts)) / sum(map(len, texts[1:]))
    print(f"{what}: {min(ratios):.3f} to {max(ratios):.3f}, of all rounds together {whole:.3f}")


def times(count: int) -> None:
    """Prints the median time of the next request at the end of a long path, once its rows are in
    the memory of the database."""
    import config.asgi  # noqa: F401 (the collector is set up there as in a web process)
    from agents.context.subject_request import arrange
    from agents.generation_requests import order_of
    from agents.next_request import PreviewOptions, next_request
    from bench.trees import grow, make_owner
    from loom.people.models import Participant
    from loom.turns.models import Generation

    actor = make_owner("bench")
    tree, end = grow(actor, count=count + 1, chain=count, length=400)
    usual = {
        "grove": actor.grove,
        "kind": "model",
        "model_ref": "openai:echo",
        "base_url": "http://127.0.0.1:9/v1",
    }
    subject = Participant.objects.create(name="Echo", context_limit=1_000_000, **usual)
    agent = Participant.objects.create(
        name="Marie", context_limit=1_000_000, permissions=["loom_aware"], **usual
    )
    settle()
    asked = Generation(
        tree=tree, participant=subject, asked_by=actor.participant, point=end, settings={}
    )
    reading = order_of(asked, is_shown=True).reading

    def preview(who: Participant, how: str) -> Callable[[], object]:
        return lambda: next_request(actor, tree, PreviewOptions(who, end, how))  # type: ignore[arg-type]

    cases: dict[str, Case] = {
        "subject, from plain values": lambda: arrange(reading),
        "subject, with its rows": preview(subject, "continue"),
        "loom-aware, with its rows": preview(agent, "turn"),
    }
    report(f"the next request of a path of {count:,} nodes", medians_ms(cases, rounds=15), {})


if __name__ == "__main__":
    open_installation()
    shares()
    times(int(sys.argv[1]) if len(sys.argv) > 1 else 2_000)
