"""Lists of trees hear from the live feeds who has which tree open."""

import asyncio

import pytest

from loom.engine import presence, streams
from loom.people.models import Participant, User
from loom.trees.models import Node, Tree
from tests.live.conftest import Opener, bearer, in_db

pytestmark = pytest.mark.django_db(transaction=True)


async def test_lists_of_trees_are_told_who_comes_and_goes(
    connect: Opener, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, told = asyncio.get_running_loop(), asyncio.Queue[dict[str, list[str]]]()
    tell, name = presence.set_present, streams.name_of(tree)

    def heard(stream: str, here: list[str]) -> None:
        tell(stream, here)
        loop.call_soon_threadsafe(told.put_nowait, presence.present([name]))

    monkeypatch.setattr(presence, "set_present", heard)
    root = await in_db(lambda: Node.objects.get(tree=tree).local_id)()
    line = await connect(tree, await in_db(bearer)(owner))
    await line.say({"type": "presence", "node": root})
    me = await in_db(lambda: Participant.objects.get(user=owner).uid)()
    assert await told.get() == {name: [me]}
    await line.cut()
    assert await told.get() == {}
