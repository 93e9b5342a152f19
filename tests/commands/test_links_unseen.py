"""Links into a tree that is hidden from a member of its grove: no list, count, mark, portal, graph
or trail tells them of it."""

from collections.abc import Callable
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.links.foot import portals_of
from loom.links.models import Trail
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say
from tests.two_groves import Side, TwoGroves

pytestmark = pytest.mark.django_db


def test_nothing_tells_of_links_into_a_hidden_tree(
    say: Say, write: Callable[..., str], actor: Actor, tree: Tree, owner: User, writer: User
) -> None:
    hidden = trees.new_tree(actor, title="Papers of the kestrel")
    far, gone = write("kestrel one", into=hidden), write("kestrel two", into=hidden)
    a, b = write("a"), write("b")
    for end in (b, f"tree:{hidden.uid} node:{far}", f"tree:{hidden.uid} node:{gone}"):
        say(f"link {a} to {end} as:supports")
    say(f'link {a} to tree:{hidden.uid} node:{far} as:refutes note:"a kestrel"')
    say(f"link {far} to tree:{tree.uid} node:{b} as:uses", into=hidden)
    say(f"prune {gone}", into=hidden)
    say("allow writers hidden", into=hidden)
    say(f"switch to {a}")
    say(f"expand supports of {a}")
    say('trail save "papers"')
    say('trail share "papers"')
    own = say(f"list {a} supports").reply
    assert far in own and "3 [supports]" in own and "3 (1 pruned)" in say(f"list {a}").reply
    assert far in say(f"graph {a}").reply

    trail = Trail.objects.get()
    api = f"/api/trees/{tree.uid}"
    lines = [f"list {a}", f"list {a} links", f"list {a} supports", f"list {b} used_by"]
    lines += [f"view {a}", f"graph {a}", f"switch to {a}", f"expand supports of {a}", "memory"]
    lines += ["trail", 'trail show "papers"', 'trail replay "papers"', "trail show windows"]
    told = [say(line, by=writer).reply for line in lines]
    assert told[0].endswith("links: supports 1") and "1 [supports] link" in told[2]
    client = APIClient()
    client.force_login(writer)
    for address in (
        f"{api}/nodes/{a}",
        f"{api}/nodes/{a}/graph",
        f"/api/links?tree={tree.uid}",
        f"/api/links?tree={tree.uid}&node={a}",
        f"/api/trails/{trail.uid}",
        f"/trails/{trail.uid}",
        f"/trees/{tree.uid}?node={a}",
        f"/trees/{tree.uid}/graph?node={a}",
        f"/trees/{tree.uid}/links/{a}",
        f"/trees/{tree.uid}/nodes/{a}/portals",
        f"/trees/{tree.uid}/nodes/{a}/portal?type=supports",
        f"{api}/events",
        f"{api}/tables/links?format=csv",
        f"{api}/tables/events?format=csv",
        f"{api}/export?format=heddle",
        f"{api}/export?format=zip",
    ):
        answer = client.get(address)
        assert answer.status_code == 200, address
        told.append(_words(answer))
    for words in told:
        assert not any(word in words for word in ("kestrel", hidden.uid, far, gone, "3 nodes"))
    node = Node.objects.get(tree=tree, local_id=a)
    (portal,) = portals_of(get_actor(writer, tree.grove), {node.pk: node.slot_id})[node.pk]
    assert (portal.many, portal.only, portal.pruned, portal.erased) == (1, b, 0, 0)


def _words(answer: Any) -> str:
    """What an answer says; all files of an archive."""
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if not content.startswith(b"PK"):
        return str(content.decode())
    with ZipFile(BytesIO(content)) as archive:
        return "\n".join(archive.read(name).decode() for name in archive.namelist())


def _told(world: TwoGroves, user: User, a: str) -> list[str]:
    """What the user is shown of the links of a text of the left tree, in every way."""
    uid = world.left.tree.uid
    lines = (f"list {a}", f"list {a} links", f"list {a} supports", f"graph {a}", f"view {a}")
    told = [world.left.run(user, line) for line in lines]
    for address in (
        f"/api/trees/{uid}/nodes/{a}",
        f"/api/trees/{uid}/nodes/{a}/graph",
        f"/api/links?tree={uid}&node={a}",
        f"/api/trails/{Trail.objects.get().uid}",
        f"/trails/{Trail.objects.get().uid}",
        f"/trees/{uid}?node={a}",
        f"/trees/{uid}/graph?node={a}",
        f"/trees/{uid}/links/{a}",
        f"/trees/{uid}/nodes/{a}/portals",
        f"/trees/{uid}/nodes/{a}/portal?type=supports",
    ):
        answer = world.client(user).get(address)
        assert answer.status_code == 200, address
        told.append(answer.content.decode())
    return told


@pytest.mark.parametrize("way", ["another grove", "hidden"])
def test_an_erasure_is_reported_only_to_those_who_could_read_the_tree(
    two_groves: TwoGroves, way: str
) -> None:
    """Links to a tree that is erased are counted as erased for who could see it until then. For
    others there is nothing, before and after: no count says that there was such a tree."""
    world = two_groves
    a, left = world.left.text.local_id, world.left.actor(world.both)
    side = world.right
    owner = User.objects.get(username="rightowner")
    if way == "hidden":
        owner = User.objects.get(username="leftowner")
        there = trees.new_tree(world.left.actor(owner), title="Papers of the kestrel")
        side = Side(world.left.grove, there, world.left.text)
        far = side.run(owner, 'respond root "The kestrel sleeps."').partition("[")[2][:4]
        side.text = Node.objects.get(tree=there, local_id=far)
        side.run(owner, "allow writers hidden")
        side.run(owner, 'allow "Both" read')
    b = world.left.run(world.both, 'respond root "b"').partition("[")[2].partition("]")[0]
    far = f"tree:{side.tree.uid} node:{side.text.local_id}"
    for end in (b, far):
        world.left.run(world.both, f"link {a} to {end} as:supports")
    for line in (f"switch to {a}", f"expand supports of {a}", 'trail save "way"'):
        world.left.run(world.both, line)
    world.left.run(world.both, 'trail share "way"')
    before = _told(world, world.only_left, a)
    trees.change_tree(side.actor(owner), side.tree, {"archived": True})
    trees.erase(side.actor(owner), Tree.objects.get(pk=side.tree.pk), side.tree.title)
    for line in (f"list {a}", f"list {a} links"):
        assert "erased" in world.left.run(world.both, line)
    node = Node.objects.get(tree=world.left.tree, local_id=a)
    (portal,) = portals_of(left, {node.pk: node.slot_id})[node.pk]
    assert (portal.many, portal.erased) == (2, 1)
    after = _told(world, world.only_left, a)
    assert not any("erased" in words for words in after)
    assert after[:4] == before[:4]
    seen = world.left.actor(world.only_left)
    (portal,) = portals_of(seen, {node.pk: node.slot_id})[node.pk]
    assert (portal.many, portal.only, portal.erased) == (1, b, 0)


def test_a_groves_events_name_no_node_that_a_document_was_linked_to(
    say: Say, write: Callable[..., str], tree: Tree, writer: User
) -> None:
    text = write("kestrel")
    say('write doc:"Plan" new "Words"')
    say('write doc:"Other" new "Words"')
    say(f'link doc:"Plan" to {text} as:supports note:"a kestrel"')
    say('link doc:"Plan" to doc:"Other" as:supports note:"of both"')
    say('tag doc:"Plan" #kestrelish')
    say(f"view {text}")
    say('trail save "kestrels"')
    say('trail share "kestrels"')
    say("allow writers hidden")
    client = APIClient()
    client.force_login(writer)
    events = client.get(f"/api/groves/{tree.grove.uid}/events").json()["events"]
    links = [event["payload"]["link"] for event in events if event["kind"] == "link.added"]
    assert (links[-2]["target"], links[-2]["note"]) == ("elsewhere", "")
    assert links[-1]["target"].startswith("doc:") and links[-1]["note"] == "of both"
    assert "kestrel" not in str(events)
