"""Calls over MCP that are sent how far they have come."""

import pytest
from mcp.client import Client

from loom.access import Actor
from loom.people.models import Participant
from loom.trees.models import Tree
from tests.interfaces.test_mcp import MODES, Content, key_of, session_in, talk

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_asks_for_it_is_told_how_far_it_has_come(
    actor: Actor, tree: Tree, model: Participant, worker: None, mode: str
) -> None:
    told: list[tuple[float, float | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))

    async def work(client: Client) -> Content:
        session = await session_in(client, tree.uid)
        line = f'continue from root n:3 using agent:"{model.name}"'
        given = {"session": session, "line": line}
        result = await client.call_tool("loom_write", given, progress_callback=hear)
        content: Content = result.structured_content
        return content

    answer: Content = talk(key_of(actor.user), work, mode)
    assert len(answer["refs"]) == 3 and answer["success"]
    assert answer["repeated"] is False
    ended = [done for done, _ in told]
    assert ended == sorted(set(ended))
    assert ended.pop() == 3
    assert {of for _, of in told} == {3}
