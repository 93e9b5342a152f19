"""The pages of claims and checks: what they show, to whom, and what their forms do."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from loom.access import Actor
from loom.claims.models import Check, Cite, Claim, Pipe
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, User
from loom.trees.models import Tree
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


@pytest.fixture
def say(actor: Actor, tree: Tree) -> Callable[[str], str]:
    """Runs a line as the owner; returns the first id that it names."""

    def run_line(line: str) -> str:
        return str(execute_line(actor, tree, Request(line)).body["refs"][0])

    return run_line


def _client(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_selected_words_open_a_claim_and_are_lit_up_in_their_source(
    owner: User, tree: Tree, say: Callable[[str], str]
) -> None:
    a = say('respond root "Marie is twelve when the lamp goes out"')
    client = _client(owner)
    page = f"/trees/{tree.uid}/claims"
    shown = client.get(page, {"cite": a, "words": "the lamp goes out"}).content.decode()
    assert "the lamp goes out" in shown and 'value="new"' in shown
    sent = {"cite": a, "words": "the lamp goes out", "side": "new", "statement": "It is dark"}
    answer = client.post(page, {**sent, "scope": "node", "test": "look"})
    claim = Claim.objects.get()
    assert answer["Location"] == f"{page}/{claim.node.local_id}"
    assert Cite.objects.get().gate == "found"
    card = client.get(answer["Location"]).content.decode()
    assert "<mark>the lamp goes out</mark>" in card
    assert f"/trees/{tree.uid}?node={a}#:~:text=the%20lamp%20goes%20out" in card
    missing = card.split(chr(34) + "missing" + chr(34) + ">")[1].split("<")[0]
    assert missing == "Moderate needs 3 pieces of evidence that count, and has 0."


def test_what_selected_words_do_is_chosen_beside_them(
    owner: User, tree: Tree, say: Callable[[str], str]
) -> None:
    a = say('respond root "Marie is twelve when the lamp goes out"')
    say(f'claim "It is dark" cite:{a}')
    client = _client(owner)
    asked = {"cite": a, "words": "the lamp goes out"}
    for side, first in (("", "for"), ("for", "for"), ("against", "against"), ("undercuts",) * 2):
        page = client.get(f"/trees/{tree.uid}/claims", {**asked, "side": side}).content.decode()
        for value in ("for", "against", "undercuts"):
            is_first = f'class="button primary" name="side" value="{value}"' in page
            assert is_first == (value == first), (side, value)
        assert ('<details class="more" open>' in page) == (side == "undercuts")


def test_a_card_shows_counter_evidence_first_and_its_forms_act(
    owner: User, writer: User, tree: Tree, say: Callable[[str], str]
) -> None:
    a, b = say('respond root "one lamp"'), say('respond root "another lamp"')
    claim = say(f'claim "It is lit" test:"look" cite:{a}')
    client = _client(writer)
    card = f"/trees/{tree.uid}/claims/{claim}"
    client.post(card, {"act": "cite", "ref": b, "side": "against", "why": "it smokes"})
    shown = client.get(card).content.decode()
    assert shown.index("it smokes") < shown.index("one lamp")
    row = Cite.objects.get(side="against")
    client.post(card, {"act": "address", "of": row.uid, "why": "only at first"})
    assert "only at first" in client.get(card).content.decode()
    client.post(card, {"act": "check"})
    assert Claim.objects.get().state == "testing"
    refused = client.post(card, {"act": "conclude", "why": "so"}, follow=True).content.decode()
    assert "Insufficient evidence." in refused
    client.post(card, {"act": "withdraw", "why": "nobody saw it"})
    assert "nobody saw it" in client.get(card).content.decode()
    assert "What you can do" not in client.get(card).content.decode()


def test_a_tested_claim_is_committed_as_tentative_on_its_card(
    writer: User, tree: Tree, say: Callable[[str], str]
) -> None:
    a = say('respond root "one lamp"')
    claim = say(f'claim "It is lit" test:"look" cite:{a}')
    client, card = _client(writer), f"/trees/{tree.uid}/claims/{claim}"
    button = "Commit as tentative, for good"
    assert button not in client.get(card).content.decode()  # not tested yet
    assert "Test it" in client.get(card).content.decode()
    shown = client.post(card, {"act": "check"}, follow=True).content.decode()
    assert "The claim is being tested." in shown and "✓ [" not in shown and "Test it" not in shown
    assert button in shown and '<select name="level">' not in shown
    client.post(card, {"act": "commit", "level": "tentative"})
    assert Claim.objects.get().level == "tentative"
    shown = client.get(card).content.decode()
    assert button not in shown and "Conclude…" in shown
    assert 'value="commit"' not in shown  # not before it is concluded


def _depths(page: str) -> list[tuple[str, str]]:
    """(depth, id) of each claim of a page, in order."""
    return re.findall(r'data-depth="(\d)".*?/claims/(\w+)"', page, re.DOTALL)


def test_claims_are_a_tree_by_what_they_are_about_and_what_they_require(
    owner: User, tree: Tree, say: Callable[[str], str]
) -> None:
    a = say('respond root "one lamp"')
    needed = say(f'claim "it has oil" cite:{a}')
    parent = say(f'claim "the lamp burns" cite:{a}')
    child = say(f'claim "that is right" about {parent} cite:{a}')
    inner = say(f'claim "that is said well" about {child} cite:{a}')
    say(f"link {parent} to {needed} as:requires")
    client, page = _client(owner), f"/trees/{tree.uid}/claims"
    nested = [("0", parent), ("1", needed), ("1", child), ("2", inner)]
    with CaptureQueriesContext(connection) as few:
        assert _depths(client.get(page).content.decode()) == nested
    for number in range(5):
        say(f'claim "more {number}" about {parent} cite:{a}')
    with CaptureQueriesContext(connection) as many:
        assert len(_depths(client.get(page).content.decode())) == 9
    assert len(many) == len(few)
    say(f"link {needed} to {parent} as:requires")  # a circle: each is there once
    assert len(_depths(client.get(page).content.decode())) == 9
    say(f"unlink {parent} to {needed} as:requires")
    assert ("0", needed) in _depths(client.get(page).content.decode())


def test_claims_rest_on_claims_and_are_filtered(
    owner: User, tree: Tree, say: Callable[[str], str]
) -> None:
    a = say('respond root "one lamp"')
    lower = say(f'claim "lower" cite:{a}')
    upper = say(f'claim "upper" cite:{lower}')
    client = _client(owner)
    page = f"/trees/{tree.uid}/claims"
    shown = client.get(page).content.decode()
    assert shown.index(upper) < shown.index(lower) and 'data-depth="1"' in shown
    assert "lower" not in client.get(page, {"source": lower}).content.decode().split('claims">')[1]
    assert "No claim is like this" in client.get(page, {"state": "committed"}).content.decode()


def test_a_reader_sees_claims_without_forms_and_outsiders_nothing(
    reader: User, outsider: User, tree: Tree, say: Callable[[str], str]
) -> None:
    a = say('respond root "one lamp"')
    claim = say(f'claim "It is lit" cite:{a}')
    page = f"/trees/{tree.uid}/claims"
    assert "What you can do" not in _client(reader).get(f"{page}/{claim}").content.decode()
    assert _client(outsider).get(page).status_code == 404
    assert _client(outsider).get(f"{page}/{claim}").status_code == 404
    assert _client(reader).get(f"{page}/{a}").status_code == 404  # a text, not a claim


def test_evidence_of_another_grove_is_not_on_the_card(two_groves: TwoGroves) -> None:
    world, left = two_groves, two_groves.left
    reply = left.run(world.both, f'claim "The tower is kept" cite:{world.far}')
    claim = reply.split("[")[1][:4]
    address = f"/trees/{left.tree.uid}/claims/{claim}"
    assert "kestrel" in _client(world.both).get(address).content.decode()
    hidden = _client(world.only_left).get(address).content.decode()
    assert "kestrel" not in hidden and "1 piece is about something" in hidden


def test_checks_are_declared_switched_and_archived(
    writer: User, reader: User, grove: Grove
) -> None:
    page, client = f"/groves/{grove.uid}/checks", _client(writer)
    client.post(page, {"name": "short", "kind": "max_words", "value": "500", "scope": "grove"})
    check = Check.objects.get()
    assert (check.parameters, check.on_save) == ({"n": 500}, False)
    client.post(page, {"check": check.uid})
    assert Check.objects.get().on_save
    assert "short" in _client(reader).get(page).content.decode()
    client.post(page, {"check": check.uid, "archive": "1"})
    assert "There are no checks yet" in client.get(page).content.decode()
    bad = client.post(page, {"name": "a", "kind": "max_words", "value": "abc"}, follow=True)
    assert "“at most so many words” needs a number. Write digits." in bad.content.decode()
    bad = client.post(page, {"name": "a", "kind": "regex", "value": "("}, follow=True)
    assert "can&#x27;t be used" in bad.content.decode()


def test_pipes_are_saved_and_archived_and_a_wrong_one_stays_in_the_form(
    writer: User, reader: User, outsider: User, grove: Grove
) -> None:
    page, client = f"/groves/{grove.uid}/pipes", _client(writer)
    wrong = client.post(page, {"name": "Gloss", "lines": "view\r\nfly away"}).content.decode()
    assert "Line 2:" in wrong and "view\nfly away</textarea>" in wrong and not Pipe.objects.exists()
    quoted = client.post(page, {"name": 'a"b', "lines": "view"}).content.decode()
    assert "no quotes." in quoted and "Save:" not in quoted
    client.post(page, {"name": "Gloss", "lines": "view full\r\nannotate root"})
    pipe = Pipe.objects.get()
    assert pipe.lines == ["view full", "annotate root"]
    shown = _client(reader).get(page).content.decode()
    assert "→ view full" in shown and "node → text → node" in shown and "New pipe" not in shown
    for user, status in ((reader, 200), (outsider, 404)):  # refused in the page, and not found
        assert _client(user).post(page, {"name": "x", "lines": "view"}).status_code == status
        assert _client(user).post(page, {"pipe": pipe.uid}).status_code == status
    assert Pipe.objects.filter(archived_at=None).count() == 1
    assert _client(outsider).get(page).status_code == 404
    client.post(page, {"pipe": pipe.uid})
    assert "There are no pipes yet" in client.get(page).content.decode()


def test_a_quote_is_cut_only_where_something_is_left_out(
    owner: User, tree: Tree, say: Callable[[str], str]
) -> None:
    whole = say('respond root "So it was. The lamp is lit. We went home."')
    long = say(f'respond root "{"before " * 20}The lamp is lit.{" after" * 20}"')
    shown = []
    for node in (whole, long):
        sent = {"cite": node, "words": "The lamp is lit.", "side": "new", "statement": f"By {node}"}
        answer = _client(owner).post(f"/trees/{tree.uid}/claims", sent, follow=True)
        page = answer.content.decode()
        assert "Opened a claim." in page
        shown.append(page.split('class="quote"')[1].split("</blockquote>")[0])
    assert "…" not in shown[0] and "So it was. " in shown[0]
    assert shown[1].count("…") == 2
