"""Public links: what anybody may read, and that it ends."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, User
from loom.site.display import cast_of
from loom.trees.commands import trees
from loom.trees.models import PublicLink, Tree
from tests.web.conftest import Visitor


def say(actor: Actor, tree: Tree, line: str) -> str:
    """The first node that the line made or found."""
    return str(execute_line(actor, tree, Request(line)).body["refs"][0])


def shared(client: Client, tree: Tree) -> str:
    """The address that an owner gets, as it is shown once."""
    page = client.post(f"/trees/{tree.uid}/share/make", {"days": "7"}).content.decode()
    return str(re.search(r"http://testserver(/public/[\w-]{40,})", page)[1])  # type: ignore[index]


def status(address: str) -> int:
    return int(Client().get(address).status_code)


def test_a_public_link_shows_the_texts_and_nothing_else_of_the_grove(
    owner: User, writer: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    other = trees.new_tree(actor, title="Another tree")
    far = say(actor, other, 'respond root "Far away."')
    one = say(actor, tree, 'respond root "One <script>alert(1)</script>."')
    say(actor, tree, f'respond {one} "Two."')
    two = say(actor, tree, f'respond {one} "Three."')
    note = say(actor, tree, f'annotate {one} "A private note."')
    say(actor, tree, f'bookmark {one} "my label"')
    say(actor, tree, f"tag {one} #mine")
    say(actor, tree, f"link {one} to tree:{other.uid} node:{far} as:supports")
    gone = say(actor, tree, f'respond {one} "Pruned words."')
    below = say(actor, tree, f'respond {gone} "Below it."')
    execute_line(actor, tree, Request(f"prune {gone}"))
    address = shared(visitor(owner), tree)
    answer = Client().get(f"{address}?node={two}")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "One &lt;script&gt;alert(1)&lt;/script&gt;." in page
    assert "Three." in page and ">Owner<" in page
    for word in ("private note", "my label", "mine", "Far away", "Another tree", "Pruned words"):
        assert word not in page
    assert "Writer" not in page and grove.name not in page and tree.uid not in page
    assert "noindex" in answer["X-Robots-Tag"] and answer["Referrer-Policy"] == "no-referrer"
    assert "no-store" in answer["Cache-Control"]
    for hidden in (note, gone, below, far, "zzzz", "%00", "x" * 40):
        assert status(f"{address}?node={hidden}") == 404


def test_authors_have_their_colours_of_the_tree(
    owner: User, writer: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    hers = get_actor(writer, grove)
    say(hers, tree, 'respond root "Hers alone."')
    colour = cast_of(hers)[hers.participant.uid].colour
    assert colour != 0
    page = Client().get(shared(visitor(owner), tree)).content.decode()
    assert re.search(rf'<article class="node" id="n-\w+" data-who="{colour}"', page)


def test_a_link_ends_when_it_is_revoked_or_over_or_its_tree_is_erased(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    client, actor = visitor(owner), get_actor(owner, grove)
    first, second, third = (shared(client, tree) for _ in range(3))
    assert {status(link) for link in (first, second, third)} == {200}
    revoked = PublicLink.objects.order_by("id")[0]
    client.post(f"/trees/{tree.uid}/share/revoke", {"link": revoked.uid})
    assert (status(first), status(second)) == (404, 200)
    over = timezone.now() - timedelta(seconds=1)
    PublicLink.objects.filter(pk=revoked.pk + 1).update(expires_at=over)
    assert (status(second), status(third)) == (404, 200)
    trees.change_tree(actor, tree, {"archived": True})
    assert status(third) == 200
    trees.erase(actor, tree, tree.title)
    assert status(third) == 404
    unknown = visitor().get("/public/" + "x" * 43)
    assert unknown.status_code == 404
    assert "Sign in" in unknown.content.decode() and "Your trees" not in unknown.content.decode()


def test_only_the_hash_of_a_secret_is_kept(owner: User, tree: Tree, visitor: Visitor) -> None:
    client = visitor(owner)
    secret = shared(client, tree).rpartition("/")[2]
    assert secret not in str(PublicLink.objects.values())
    assert secret not in client.get(f"/trees/{tree.uid}/share").content.decode()


def test_sharing_is_for_owners(
    writer: User, reader: User, outsider: User, tree: Tree, visitor: Visitor
) -> None:
    for user, refused in ((writer, 403), (reader, 403), (outsider, 404)):
        client = visitor(user)
        assert client.get(f"/trees/{tree.uid}/share").status_code == refused
        answer = client.post(f"/trees/{tree.uid}/share/make", {"days": "7"})
        assert answer.status_code == refused
    assert not PublicLink.objects.exists()


def test_a_link_opens_nothing_but_its_page(owner: User, tree: Tree, visitor: Visitor) -> None:
    address = shared(visitor(owner), tree)
    stranger = Client()
    assert stranger.get(address).status_code == 200
    assert stranger.get(f"/trees/{tree.uid}").status_code == 302
    assert stranger.get(f"/api/trees/{tree.uid}").status_code == 401
    assert stranger.post(address).status_code == 405


def test_too_many_pages_a_minute_are_refused(owner: User, tree: Tree, visitor: Visitor) -> None:
    from django.core.cache import cache

    from loom.reading.pages.public_tree import A_MINUTE
    from loom.text.hashes import digest

    address = shared(visitor(owner), tree)
    cache.set(f"public:{digest('127.0.0.1')}", A_MINUTE, 60)
    assert status(address) == 429


def test_readers_are_counted_for_each_network(
    owner: User, tree: Tree, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from loom.reading.pages import public_tree

    monkeypatch.setattr(public_tree, "A_MINUTE", 2)
    address = shared(visitor(owner), tree)
    hosts = [f"2001:db8:1:2::{number}" for number in range(3)] + ["2001:db8:1:3::1"]
    statuses = [Client().get(address, REMOTE_ADDR=host).status_code for host in hosts]
    assert statuses == [200, 200, 429, 200]


def test_tasks_have_boxes_on_a_public_page(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    say(actor, tree, "respond root\n- [ ] buy rope\n- [x] sell it\n←")
    page = Client().get(shared(visitor(owner), tree)).content.decode()
    assert "☐ buy rope" in page and "☑ sell it" in page
