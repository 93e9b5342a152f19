"""Lore as cards: what a form says becomes a document with keys, and is sent as lore."""

import pytest
from django.test import Client

from loom.access import Actor
from loom.documents import actions, queries
from loom.documents.lore_cards import cards_of
from loom.documents.lore_rules import LoreCard, card_of, document_of
from loom.documents.models import Document
from loom.engine.by_name import run_command
from loom.people.models import User
from loom.trees.models import Tree
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db

FORM = {"what": "save", "title": "Marie", "kind": "person", "keys": "Marie, the keeper"}


@pytest.mark.parametrize(
    "card",
    [
        LoreCard("person", ("Marie", "the keeper, as they say"), 100, "She is old."),
        LoreCard("other", ("house",), 20, "Line one.\n\n# Heading\n---\nLine two."),
        LoreCard("place", ("Ötztal",), 0, "  Blanks at the start."),
    ],
)
def test_a_card_is_read_from_the_document_that_it_wrote(card: LoreCard) -> None:
    assert card_of(document_of(card)) == card
    assert document_of(card_of(document_of(card)), document_of(card)) == document_of(card)


def test_other_fields_of_the_front_matter_stay() -> None:
    before = "---\nsource: notes\nkeys:\n  - Thomas\n  - Tom\ntools:\n  - find\n---\nA brother.\n"
    card = card_of(before)
    assert card.keys == ("Thomas", "Tom")
    after = document_of(LoreCard("person", (*card.keys, "brother"), 5, card.text), before)
    assert after == (
        "---\nkeys: Thomas, Tom, brother\ncard: person\norder: 5\nsource: notes\ntools:\n"
        "  - find\n---\nA brother.\n"
    )


def test_a_form_makes_a_card_that_is_lore_of_the_tree(
    client: Client, owner: User, actor: Actor, tree: Tree
) -> None:
    client.force_login(owner)
    page = client.get(f"/trees/{tree.uid}/lore").content.decode()
    assert "Nobody and nothing is described yet" in page
    page = client.post(
        f"/trees/{tree.uid}/lore", FORM | {"text": "She keeps\r\nthe light."}
    ).content.decode()
    assert "Added Marie." in page and "People" in page
    [entry] = queries.lore_of(actor, tree)
    assert (entry.title, entry.keys) == ("Marie", ("Marie", "the keeper"))
    assert entry.text == "She keeps\nthe light."
    [row] = client.get(f"/trees/{tree.uid}/lore/keys").json()["cards"]
    assert row["keys"] == ["Marie", "the keeper"] and row["kind"] == "person"
    # Changed: a new revision of its document, and its name.
    changed = FORM | {"document": entry.uid, "title": "Morag", "keys": "", "text": "She left."}
    page = client.post(f"/trees/{tree.uid}/lore", changed).content.decode()
    assert "Saved Morag." in page
    [entry] = queries.lore_of(actor, tree)
    assert (entry.title, entry.keys, entry.text) == ("Morag", ("Morag",), "She left.")
    assert Document.objects.get(uid=entry.uid).revision == 2
    client.post(f"/trees/{tree.uid}/lore", {"what": "remove", "document": entry.uid})
    assert cards_of(actor, tree) == [] and Document.objects.filter(uid=entry.uid).exists()


def test_what_cannot_be_saved_stays_in_the_form(client: Client, owner: User, tree: Tree) -> None:
    client.force_login(owner)
    for wrong in ({"text": " "}, {"text": "She left.", "order": "soon"}):
        page = client.post(f"/trees/{tree.uid}/lore", FORM | wrong).content.decode()
        assert 'role="alert"' in page and 'value="Marie, the keeper"' in page
    assert not Document.objects.exists()


def test_readers_read_the_cards_and_change_nothing(
    client: Client, owner: User, reader: User, tree: Tree
) -> None:
    client.force_login(owner)
    client.post(f"/trees/{tree.uid}/lore", FORM | {"text": "She keeps the light."})
    client.force_login(reader)
    page = client.get(f"/trees/{tree.uid}/lore").content.decode()
    assert "She keeps the light." in page and "lore-form" not in page
    assert client.post(f"/trees/{tree.uid}/lore", FORM | {"text": "No."}).status_code == 403


def test_cards_stay_in_their_grove(two_groves: TwoGroves) -> None:
    two, side = two_groves, two_groves.right
    secret = actions.make_document(
        side.actor(two.both), title="Kestrel", text="---\nkeys: kestrel\n---\nHidden."
    )
    ends = {"source": f"doc:{secret.uid}", "target": f"tree:{side.tree.uid}"}
    run_command(side.actor(two.both), side.tree, "link", ends)
    page = Client()
    page.force_login(two.only_left)
    for address in ("lore", "lore/keys"):
        assert page.get(f"/trees/{side.tree.uid}/{address}").status_code == 404
    both = Client()
    both.force_login(two.both)
    assert len(both.get(f"/trees/{side.tree.uid}/lore/keys").json()["cards"]) == 1
    # A document of another grove is no card of this tree, whoever names it.
    sent = FORM | {"document": secret.uid, "text": "Taken over."}
    answer = both.post(f"/trees/{two.left.tree.uid}/lore", sent).content.decode()
    assert "Hidden." not in answer and queries.current(secret).endswith("Hidden.")
