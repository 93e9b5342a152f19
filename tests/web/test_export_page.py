"""The export page: formats, what each leaves out in plain words, and the file it offers."""

import re
from collections.abc import Callable
from html import unescape

import pytest
from django.test import Client

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.transfer.exporting import FORMATS
from loom.trees.models import Tree
from tests.transfer.planting import Plant, plant

pytestmark = pytest.mark.django_db
TEXTS: list[Plant] = [(-1, False, "One."), (0, True, "Two."), (0, True, "Three.")]


@pytest.fixture
def grown(actor: Actor, muse: Participant) -> tuple[Tree, list[str]]:
    tree, nodes = plant(actor, muse, TEXTS, mode="dialogue")
    execute_line(actor, tree, Request(f'annotate {nodes[0].local_id} "why?"'))
    return tree, [node.local_id for node in nodes]


@pytest.fixture
def show(owner: User) -> Callable[[Tree, str], str]:
    def page(tree: Tree, query: str) -> str:
        client = Client()
        client.force_login(owner)
        answer = client.get(f"/trees/{tree.uid}/export{query}")
        assert answer.status_code == 200
        return unescape(answer.content.decode())

    return page


Show = Callable[[Tree, str], str]


def offered(page: str) -> str:
    [address] = re.findall(r'class="button primary" href="(/api/trees/[^"]+)"', page)
    return str(address)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_offers_a_file_that_is_there(
    name: str, show: Show, grown: tuple[Tree, list[str]], owner: User
) -> None:
    tree, ids = grown
    client = Client()
    client.force_login(owner)
    for query in (f"?format={name}", f"?format={name}&node={ids[1]}", f"?format={name}&whole=1"):
        page = show(tree, query)
        address = offered(page)
        assert f"format={name}" in address
        assert (f"node={ids[1]}" in address) == ("node" in query and FORMATS[name].scope != "tree")
        assert client.get(address).status_code == 200


def test_formats_are_named_in_the_reader_s_language_and_numbers_are_grouped(
    show: Show, actor: Actor, owner: User, muse: Participant
) -> None:
    texts: list[Plant] = [(-1, False, "a" * 12_345)]
    tree, _ = plant(actor, muse, texts, mode="dialogue")
    client = Client()
    client.force_login(owner)
    client.post("/settings/profile", {"display_name": "Owner", "language": "de"})
    page = show(tree, "?format=text&whole=1")
    assert "<span>Reiner Text" in page and "Reiner Text herunterladen" in page
    assert "Plain text" not in page
    assert "12.345 Zeichen" in page


def test_what_is_left_out_is_listed_in_plain_words(
    show: Show, grown: tuple[Tree, list[str]]
) -> None:
    tree, ids = grown
    page = show(tree, f"?format=text&node={ids[1]}")
    for told in ("1 text on another branch", "the names of 2 authors", "1 annotation"):
        assert f"<span>{told}" in page
    assert "Nothing is left out." in show(tree, "?format=heddle")


def test_boxes_decide_what_is_in_the_file(show: Show, grown: tuple[Tree, list[str]]) -> None:
    tree, _ = grown
    assert "notes=0&authors=1" in offered(show(tree, "?format=html"))
    assert "notes=1&authors=0" in offered(show(tree, "?format=html&of=html&notes=1"))
    assert "calls=full" in offered(show(tree, "?format=heddle&of=html"))
    assert "calls=none" in offered(show(tree, "?format=heddle&of=heddle"))
    assert "authors=0" in offered(show(tree, "?format=jsonl"))


def test_nonsense_gets_a_page(show: Show, grown: tuple[Tree, list[str]], owner: User) -> None:
    tree, _ = grown
    assert "format=html" in offered(show(tree, "?format=nonsense"))
    client = Client()
    client.force_login(owner)
    assert client.get(f"/trees/{tree.uid}/export?node=zzzz").status_code == 404


def test_outsiders_see_no_page(outsider: User, grown: tuple[Tree, list[str]]) -> None:
    client = Client()
    client.force_login(outsider)
    assert client.get(f"/trees/{grown[0].uid}/export").status_code == 404
