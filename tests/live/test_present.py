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
    tell, name = presence.report, streams.name_of(tree)

    def heard(stream: str, here: dict[str, presence.Place]) -> None:
        tell(stream, here)
        loop.call_soon_threadsafe(told.put_nowait, presence.present([name]))

    monkeypatch.setattr(presence, "report", heard)
    root = await in_db(lambda: Node.objects.get(tree=tree).local_id)()
    line = await connect(tree, await in_db(bearer)(owner))
    await line.say({"type": "presence", "node": root})
    me = await in_db(lambda: Participant.objects.get(user=owner).uid)()
    assert await told.get() == {name: [me]}
    await line.cut()
    assert await told.get() == {}


async def test_who_is_at_a_process_counts_while_it_renews_its_lease() -> None:
    presence.renew("lives")
    presence.report("tree:t", {"ada": ("a2b2", "lives"), "bea": ("c2d2", "killed")})
    assert presence.present(["tree:t", "tree:u"]) == {"tree:t": ["ada"]}
    assert presence.places("tree:t") == ({"ada": "a2b2"}, {})
    presence.report("tree:t", {})
    assert presence.present(["tree:t"]) == {}
    assert presence.places("tree:t")[1].keys() == {"ada", "bea"}
