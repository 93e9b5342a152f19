"""What a provider may cache of a turn's requests only grows, to the byte, over rounds and turns."""

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agents.context.agent_request import AgentRequest, assemble
from agents.context.sections import Stop
from agents.context.values import LineReply, Round
from agents.providers.anthropic import Anthropic
from agents.providers.values import Blocks, ProviderRequest
from tests.agents.test_aware import AWARE

TEXT = st.text(max_size=40).filter(bool)
STOPS = st.lists(
    st.builds(
        Stop,
        st.sampled_from(["a7x2", "b3k9", "c4m2", "d5n7"]),
        TEXT | st.sampled_from(["---LOOM_END", "→ prune root", "\u2028---RESULTS", " \n "]),
        st.sampled_from(["Ada", "Marie", "a\nb"]),
        st.sampled_from(["human", "model"]),
        st.just("2026-11-21 02:07"),
        is_own=st.booleans(),
    ),
    min_size=1,
    max_size=8,
)
ROUNDS = st.lists(
    st.builds(
        Round,
        TEXT,
        st.lists(
            st.builds(LineReply, st.just("→ view a7x2"), TEXT, st.integers(0, 9)), max_size=3
        ).map(tuple),
        st.integers(0, 50),
    ),
    max_size=4,
)


def body_of(sent: AgentRequest) -> dict[str, Any]:
    """The JSON that an Anthropic-shaped provider gets."""
    blocks = tuple(Blocks(message.role, message.blocks, message.kept) for message in sent.messages)
    return Anthropic().body(ProviderRequest("http://x", "m", sent.bodies, None, blocks=blocks))


def flat(body: dict[str, Any]) -> list[tuple[str, str, bool]]:
    """(role, text, marked) of all blocks, the system's first."""
    messages = [{"role": "system", "content": body["system"]}, *body["messages"]]
    return [
        (message["role"], part["text"], "cache_control" in part)
        for message in messages
        for part in message["content"]
    ]


def kept(body: dict[str, Any]) -> list[tuple[str, str]]:
    """What is before the mark at the end of the path; all before the first mark where the path
    is empty."""
    blocks = flat(body)
    marks = [at for at, (_, _, marked) in enumerate(blocks) if marked]
    return [(role, text) for role, text, _ in blocks[: marks[-2] + 1]]


def unmarked(body: dict[str, Any]) -> list[tuple[str, str]]:
    return [(role, text) for role, text, _ in flat(body)]


@given(STOPS, ROUNDS)
def test_over_rounds_what_is_kept_stays_to_the_byte_and_the_rest_is_appended_to(
    path: list[Stop], rounds: list[Round]
) -> None:
    aware = replace(AWARE, path=tuple(path), limit=1_000_000)
    sent: list[AgentRequest] = []
    done: list[Round] = []
    for number in range(len(rounds) + 1):
        now = replace(
            aware,
            rounds=tuple(done),
            stated=sent[-1].stated if sent else {},
            view=replace(aware.view, revision=number, budget=f"steps {number}/100"),
        )
        sent.append(assemble(now))
        if number < len(rounds):
            done.append(replace(rounds[number], workspace=sent[-1].workspace))
    bodies = [body_of(request) for request in sent]
    for before, after in pairwise(bodies):
        assert kept(before) == kept(after)
        assert json.dumps(before["system"]) == json.dumps(after["system"])
        old = unmarked(before)  # each request begins with all of the one before
        assert unmarked(after)[: len(old)] == old


@given(STOPS, STOPS)
def test_over_turns_the_blocks_of_the_path_only_grow(path: list[Stop], more: list[Stop]) -> None:
    aware = replace(AWARE, limit=1_000_000)
    before = kept(body_of(assemble(replace(aware, path=tuple(path)))))
    after = kept(body_of(assemble(replace(aware, path=(*path, *more)))))
    assert after[: len(before)] == before


@given(STOPS, ROUNDS)
def test_there_are_three_marks_one_block_a_node_and_roles_alternate(
    path: list[Stop], rounds: list[Round]
) -> None:
    sent = assemble(replace(AWARE, path=tuple(path), rounds=tuple(rounds), limit=1_000_000))
    body = body_of(sent)
    marks = sum(marked for _, _, marked in flat(body))
    written = [node for node in path if not node.is_own or node.text.strip()]
    begins = path[0].is_own
    assert marks == (3 if written or begins else 2)
    assert len(kept(body)) == 1 + begins + len(written)
    roles = [message["role"] for message in body["messages"]]
    assert roles[0] == "user" and roles[-1] == "user"
    assert all(role != next_role for role, next_role in pairwise(roles))
    assert all(text.strip() for _, text, _ in flat(body))
