"""Documents as pages: what is listed, drawn and embedded, and for whom."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils.safestring import SafeString

from loom import access
from loom.access import Actor
from loom.documents import actions as document_actions
from loom.documents import pages as web_documents
from loom.documents.models import Document, DocumentClient
from loom.documents.queries import newest
from loom.documents.rules import MOST_EMBEDS
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.site import markdown
from loom.trees.models import Node, Tree
from tests.steps import Scanned, scanned
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db
Page = Callable[..., str]


def _signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture(name="page")
def _page(owner: User) -> Page:
    def open_page(address: str, *, by: User | None = None, status: int = 200) -> str:
        answer = _signed_in(by or owner).get(address)
        assert answer.status_code == status, answer.content
        return answer.content.decode()

    return open_page


def test_the_list_has_all_documents_or_those_of_a_tree(
    page: Page, actor: Actor, tree: Tree
) -> None:
    document_actions.make_document(actor, title="Far away")
    execute_line(actor, tree, Request('write doc:"Near" new "a b c"'))
    home = f"/groves/{actor.grove.uid}/documents"
    assert "Far away" in page(home) and "3 words" in page(home)
    assert "Far away" not in page(f"{home}?tree={tree.uid}")
    assert "Near" in page(f"{home}?tree={tree.uid}")
    assert "Near" in page(f"/documents/{Document.objects.get(title='Near').uid}")


def test_a_document_made_in_the_list_of_a_tree_is_linked_to_it(
    page: Page, actor: Actor, tree: Tree, owner: User
) -> None:
    home = f"/groves/{actor.grove.uid}/documents?tree={tree.uid}"
    assert f'href="/trees/{tree.uid}"' in page(home)
    answer = _signed_in(owner).post(home, {"title": "Bible"})
    document = Document.objects.get(title="Bible")
    assert (answer.status_code, answer["Location"]) == (302, f"/documents/{document.uid}")
    file = SimpleUploadedFile("Places.md", b"The bay.")
    assert _signed_in(owner).post(home, {"file": file}).status_code == 302
    shown = page(home)
    assert "Bible" in shown and "Places" in shown


def test_beside_a_tree_are_its_documents_and_others_to_link(
    page: Page, actor: Actor, tree: Tree, owner: User, reader: User
) -> None:
    document_actions.make_document(actor, title="Far away")
    execute_line(actor, tree, Request('write doc:"Near" new "a b c"'))
    beside = f"/trees/{tree.uid}/documents"
    shown = page(beside)
    assert '<b dir="auto">Near</b>' in shown and "3 words" in shown
    assert ">Far away</option>" in shown and ">Near</option>" not in shown
    near = Document.objects.get(title="Near")
    assert "a b c" in page(f"{beside}?document={near.uid}")
    for number in ("", " 2", " 3"):
        listed = _signed_in(owner).post(beside).content.decode()
        assert f'value="Notes on {tree.title}{number}"' in listed
        assert 'data-documents-do="unlink"' in listed
    assert _signed_in(reader).post(beside).status_code == 403
    assert 'data-documents-do="new"' not in page(beside, by=reader)
    assert 'data-documents-do="unlink"' not in page(f"{beside}?document={near.uid}", by=reader)


def test_beside_a_tree_are_no_documents_of_another_grove(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    right.run(two_groves.both, f'write doc:"{SECRET}" new "{SECRET}"')
    document = Document.objects.get(title=SECRET)
    beside = f"/trees/{left.tree.uid}/documents"
    for user in (two_groves.both, two_groves.only_left):
        client = two_groves.client(user)
        assert SECRET not in client.get(beside).content.decode()
        answer = client.get(f"{beside}?document={document.uid}")
        assert (answer.status_code, SECRET in answer.content.decode()) == (404, False)
    there = f"/trees/{right.tree.uid}/documents"
    assert two_groves.client(two_groves.only_left).get(there).status_code == 404
    assert two_groves.client(two_groves.only_left).post(there).status_code == 404


def test_outsiders_find_nothing(page: Page, actor: Actor, outsider: User) -> None:
    document = document_actions.make_document(actor, title="Ours", text="Ours.")
    for part in ("", "/drawn", "/writers?clients=1", "/embed?ref=a7x2", "/file", "/history"):
        assert "Ours" not in page(f"/documents/{document.uid}{part}", by=outsider, status=404)
    page(f"/groves/{actor.grove.uid}/documents", by=outsider, status=404)


def test_who_signed_which_letters_is_told_of_the_clients_that_are_named(
    actor: Actor, tree: Tree, owner: User, writer: User
) -> None:
    theirs, _ = access.get_tree(writer, tree.uid)
    document = document_actions.make_document(actor, title="Ours", text="Ours.")
    execute_line(theirs, tree, Request(f'write doc:{document.uid} append "Theirs."'))
    elsewhere = document_actions.make_document(actor, title="Elsewhere", text="Else.")
    wrote = dict(
        DocumentClient.objects.filter(document=document).values_list("client", "participant__uid")
    )
    assert sorted(wrote.values()) == sorted([actor.participant.uid, theirs.participant.uid])
    foreign = DocumentClient.objects.get(document=elsewhere).client
    named = [*wrote, foreign, 10**15, 1]
    client = _signed_in(owner)

    def told(query: str) -> dict[str, Any]:
        return dict(client.get(f"/documents/{document.uid}/writers?clients={query}").json())

    answer = told(",".join(map(str, named)))
    assert answer["clients"] == {str(key): who for key, who in wrote.items()}
    assert {who: name for who, (_, name) in answer["cast"].items()} == {
        person.participant.uid: person.participant.name for person in (actor, theirs)
    }
    assert told("") == told("x,,'") == told("9" * 40) == {"clients": {}, "cast": {}}


def test_markup_in_a_text_stays_text(page: Page, actor: Actor, tree: Tree) -> None:
    evil = "<script>alert(1)</script> ![[<b>x</b>]] `![[in code]]`\n\n```\n![[fenced]]\n```"
    document = document_actions.make_document(actor, title="<i>t</i>", text=evil)
    drawn = page(f"/documents/{document.uid}")
    assert "<script>alert" not in drawn and "<b>x</b>" not in drawn and "<i>t</i>" not in drawn
    assert "![[fenced]]" in drawn


def _embedding(actor: Actor, tree: Tree, ref: str) -> Document:
    document = document_actions.make_document(actor, title="Embeds", text=f"a\n\n![[{ref}]]\n\nb")
    execute_line(actor, tree, Request(f"link doc:{document.uid} to tree:{tree.uid}"))
    return document


def test_an_embed_shows_the_current_version_and_nothing_that_is_pruned(
    page: Page, actor: Actor, tree: Tree
) -> None:
    node = execute_line(actor, tree, Request('respond root "The old wall."')).body["refs"][0]
    drawn = f"/documents/{_embedding(actor, tree, node).uid}/drawn"
    assert "The old wall." in page(drawn)
    execute_line(actor, tree, Request(f'edit {node} "The new wall." as:version'))
    assert "The new wall." in page(drawn) and "The old wall." not in page(drawn)
    assert "current version" in page(drawn)
    execute_line(actor, tree, Request(f"prune {node}"))
    assert "wall" not in page(drawn) and "not available" in page(drawn)


def test_an_embed_shows_nothing_of_a_grove_that_the_document_is_not_in(
    two_groves: TwoGroves,
) -> None:
    left = two_groves.left.actor(two_groves.both)
    right = two_groves.right
    text = f"![[{two_groves.far}]] ![[{right.text.local_id}]] ![[tree:{right.tree.uid}]]"
    document = document_actions.make_document(left, title="Embeds", text=text)
    for user in (two_groves.both, two_groves.only_left):
        drawn = _signed_in(user).get(f"/documents/{document.uid}").content.decode()
        assert SECRET not in drawn and two_groves.right.tree.title not in drawn
        asked = _signed_in(user).get(f"/documents/{document.uid}/embed", {"ref": two_groves.far})
        assert SECRET not in asked.content.decode()
    assert _signed_in(two_groves.only_right).get(f"/documents/{document.uid}").status_code == 404


def test_files_come_in_as_they_are_and_bad_ones_are_refused(owner: User, actor: Actor) -> None:
    client, home = _signed_in(owner), f"/groves/{actor.grove.uid}/documents"
    raw = "# Ä\r\n\r\n  kept \n".encode()
    client.post(home, {"file": [SimpleUploadedFile("Über uns.md", raw)]})
    document = Document.objects.get()
    assert document.title == "Über uns" and newest(document).content.text.encode() == raw
    download = client.get(f"/documents/{document.uid}/file")
    assert download.content == raw
    for name, bad in (("no.md", b"\xff\xfe"), ("zero.md", b"a\0b")):
        answer = client.post(home, {"file": [SimpleUploadedFile(name, bad)]}, follow=True)
        assert name in answer.content.decode()
    assert Document.objects.count() == 1


def test_a_revision_is_restored_and_readers_restore_none(
    owner: User, reader: User, actor: Actor
) -> None:
    document = document_actions.make_document(actor, title="Notes", text="One.")
    document_actions.write_document(actor, document, text="Two.")
    address = f"/documents/{document.uid}/do/restore"
    assert _signed_in(reader).post(address, {"revision": "1"}).status_code == 403
    _signed_in(owner).post(address, {"revision": "1"})
    document.refresh_from_db()
    assert (newest(document).content.text, newest(document).restored) == ("One.", 1)
    for bad in ("", "x", "99", "0"):
        assert _signed_in(owner).post(address, {"revision": bad}).status_code == 302


def test_history_names_authors_and_shows_words_that_changed(page: Page, actor: Actor) -> None:
    document = document_actions.make_document(actor, title="Notes", text="The old wall.")
    document_actions.write_document(actor, document, old="old", new="new")
    shown = page(f"/documents/{document.uid}/history")
    assert "<del>old</del><ins>new</ins>" in shown and "Owner" in shown
    page(f"/documents/{document.uid}/history?revision=9", status=404)


def test_a_rename_that_is_taken_says_so(owner: User, actor: Actor) -> None:
    document = document_actions.make_document(actor, title="One")
    document_actions.make_document(actor, title="Two")
    client = _signed_in(owner)
    answer = client.post(f"/documents/{document.uid}/do/rename", {"title": "TWO"}, follow=True)
    assert "already a document called" in answer.content.decode()
    client.post(f"/documents/{document.uid}/do/rename", {"title": "Three"})
    assert Document.objects.filter(title="Three").exists()


def test_embeds_are_put_in_their_places_in_one_pass(
    page: Page, actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are: the page is looked at once, and equal ones are drawn once."""
    rendered = markdown.rendered

    def scanned_text(*args: Any, **options: Any) -> Scanned:
        return Scanned(rendered(*args, **options))

    monkeypatch.setattr(markdown, "rendered", scanned_text)
    drawings: list[str] = []
    card = web_documents._card

    def drawn_card(shown: web_documents.Embed) -> SafeString:
        drawings.append(shown.ref)
        return card(shown)

    monkeypatch.setattr(web_documents, "_card", drawn_card)

    def work(many: int) -> int:
        text = "Words.\n\n" + "![[a7x2]]\n\n" * many + "![[a7x3]] and so on.\n\n" + "x " * 3000
        document = document_actions.make_document(actor, title=f"{many}", text=text)
        return scanned(lambda: web_documents.drawn(actor, document, text))

    assert work(50) <= 2 * work(5)
    assert drawings == ["a7x2", "a7x2"]


def test_embeds_above_the_bound_stay_as_written_and_the_page_says_so(
    page: Page, actor: Actor
) -> None:
    text = "![[a7x2]]\n" * MOST_EMBEDS + "![[zzzz]] is the last.\n\n![[yyyy]]\n"
    document = document_actions.make_document(actor, title="Many", text=text)
    drawn = page(f"/documents/{document.uid}/drawn")
    assert "![[zzzz]] is the last." in drawn and "![[yyyy]]" in drawn and "![[a7x2]]" not in drawn
    assert "Only the first 100 embeds are shown" in page(f"/documents/{document.uid}")
    few = document_actions.make_document(actor, title="Few", text="![[a7x2]]")
    assert "Only the first" not in page(f"/documents/{few.uid}")


def test_an_objection_is_resolved_by_its_page_only_with_a_reason(
    owner: User, actor: Actor, tree: Tree
) -> None:
    document = document_actions.make_document(actor, title="Notes", text="The old wall.")
    for line in (
        f"link doc:{document.uid} to tree:{tree.uid}",
        f'annotate doc:{document.uid} "It was new." as:objection',
    ):
        made = execute_line(actor, tree, Request(line)).body["refs"]
    client = _signed_in(owner)
    assert "data-needs-reason" in client.get(f"/documents/{document.uid}").content.decode()
    given = {"tree": tree.uid, "node": made[0], "text": " "}
    address = f"/documents/{document.uid}/do/resolve"
    answer = client.post(address, given, follow=True).content.decode()
    assert "An objection needs a reason." in answer and "→ resolve" not in answer
    assert Node.objects.get(local_id=made[0]).resolved_at is None
    client.post(address, {**given, "text": "It is old."})
    assert Node.objects.get(local_id=made[0]).resolved_at is not None
