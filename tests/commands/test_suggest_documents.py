"""Suggestions about documents: made by whoever may read them, decided by their writers."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from loom.access import Actor, acting_as
from loom.documents import log as document_log
from loom.documents import queries, rules
from loom.documents.models import Document, DocumentEmbed
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.links.sides import mentioning
from loom.people.models import Participant, User
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say

Write = Callable[..., str]

TEXT = "# Marie\\n\\nShe is a clockmaker.\\n\\n# Thomas\\n\\nHe waits."


@pytest.fixture
def document(say: Say) -> str:
    """A document linked to the tree; its id."""
    answer = say(f'write doc:"Notes" new "{TEXT}"')
    return str(answer.body["refs"][0]).removeprefix("doc:")


def text(document: str) -> str:
    return queries.newest(Document.objects.get(uid=document)).content.text


def refused(say: Say, line: str, **more: object) -> str:
    with pytest.raises(CommandError) as refusal:
        say(line, **more)
    return str(refusal.value.code)


def test_a_part_is_suggested_accepted_and_taken_back(
    say: Say, document: str, reader: User, tree: Tree
) -> None:
    line = 'suggest doc:"Notes" §Thomas "# Thomas\\n\\nHe waits at the river."'
    note = str(say(line, by=reader).body["refs"][0])
    before = text(document)
    assert refused(say, f"accept {note}", by=reader) == "PERMISSION_DENIED"
    dry = say(f"accept {note}", dry_run=True)
    assert dry.reply.startswith("✓") and text(document) == before
    answer = say(f"accept {note}")
    assert answer.reply == f'✓ accepted [{note}] as revision 2 of doc:"Notes"'
    assert text(document) == before.replace("He waits.", "He waits at the river.")
    decided = Event.objects.get(kind="suggestion.decided")
    assert decided.stream.name == f"grove:{tree.grove.uid}"
    assert (decided.payload["document"], decided.payload["version"]) == (document, 2)
    assert refused(say, f"accept {note}") == "REJECTED"
    say("undo")
    assert text(document) == before
    assert Node.objects.get(tree=tree, local_id=note).resolved_at is None


def test_what_was_written_since_is_merged_or_left_to_people(say: Say, document: str) -> None:
    line = 'suggest doc:"Notes" §Marie "# Marie\\n\\nShe is a watchmaker."'
    note = str(say(line).body["refs"][0])
    say('write doc:"Notes" replace:"He waits." with:"He left." revision:1')
    say(f"accept {note}")
    assert "watchmaker" in text(document) and "He left." in text(document)
    other = str(say('suggest doc:"Notes" §Thomas "# Thomas\\n\\nHe returned."').body["refs"][0])
    say('view doc:"Notes" full')
    say('write doc:"Notes" replace:"He left." with:"He died."')
    assert refused(say, f"accept {other}") == "CONFLICT"
    say(f'accept {other} edited "All new."')
    assert text(document) == "All new."


def test_a_rejected_one_changes_nothing(say: Say, document: str, tree: Tree) -> None:
    note = str(say('suggest doc:"Notes" "Other."').body["refs"][0])
    before = text(document)
    say(f'reject {note} "Too short."')
    assert text(document) == before
    assert Node.objects.get(tree=tree, local_id=note).resolved_at is not None
    assert refused(say, f'suggest doc:"Notes" "{TEXT}"') == "REJECTED"
    assert refused(say, 'suggest doc:"Nothing" "x"') == "NOT_FOUND"


def test_the_page_of_a_document_shows_and_decides_them(
    say: Say, document: str, actor: Actor, client: Client
) -> None:
    client.force_login(actor.user)
    page = f"/documents/{document}"
    sent = {"text": "# Marie\r\n\r\nShe is a clockmaker.\r\n\r\n# Thomas\r\n\r\nHe left."}
    client.post(f"{page}/do/suggest", sent)
    shown = client.get(page).content.decode()
    assert "<ins>left</ins>" in shown and "Accept" in shown
    node = Node.objects.get(form="diff")
    body = {"tree": node.tree.uid, "node": node.local_id}
    client.post(f"{page}/do/accept", body)
    assert text(document).endswith("He left.") and "Accept" not in client.get(page).content.decode()


def test_what_was_written_since_is_no_part_of_what_a_suggestion_takes_away(
    say: Say, document: str, actor: Actor, client: Client
) -> None:
    say(f'suggest doc:"Notes" "{TEXT.replace("waits", "left")}"')
    say('write doc:"Notes" append "\\n\\n# Ada\\n\\nShe sings."')
    client.force_login(actor.user)
    shown = client.get(f"/documents/{document}").content.decode()
    assert "<del>waits</del><ins>left</ins>" in shown
    assert shown.count("<del>") == shown.count("<ins>") == 1
    say('write doc:"Notes" replace:"waits" with:"returns"')  # the same passage
    shown = client.get(f"/documents/{document}").content.decode()
    assert "The same passage was changed since" in shown and "<del>" not in shown
    assert "/do/reject" in shown


def test_an_agent_without_the_right_to_write_documents_cannot_decide(
    say: Say, document: str, muse: Participant, actor: Actor, tree: Tree
) -> None:
    note = str(say('suggest doc:"Notes" "Other."').body["refs"][0])
    muse.permissions = ["loom_aware", "loom_write", "doc_read"]
    muse.save()
    with pytest.raises(CommandError) as refusal:
        execute_line(acting_as(actor, muse), tree, Request(f"accept {note}"))
    assert refusal.value.code == "PERMISSION_DENIED"


# -- what a document embeds is linked to it


def test_an_embed_counts_as_a_link_on_both_sides(
    say: Say, write: Write, tree: Tree, actor: Actor, client: Client, muse: Participant
) -> None:
    node, other = write("Who is Marie?"), write("Somebody else.")
    written = say(f'write doc:"Notes" new "See ![[{node}]] and ![[zz99]]."')
    document = str(written.body["refs"][0]).removeprefix("doc:")
    assert '──[mentioned_by]──→ doc:"Notes"' in say(f"list {node} links").reply
    assert "mentioned_by 1" in say(f"list {node}").reply
    assert 'doc:"Notes"' in say(f"list {node} mentioned_by").reply
    assert "Notes" not in say(f"list {other} links").reply
    assert f"──[mentions]──→ [{node}]" in say('list doc:"Notes" links').reply
    version = str(say(f'edit {node} "Who was Marie?" as:version').body["refs"][0])
    assert "mentioned_by" in say(f"list {version} links").reply
    client.force_login(actor.user)
    shown = client.get(f"/trees/{tree.uid}/links/{node}").content.decode()
    assert f"/documents/{document}" in shown and "mentioned by" in shown
    links = client.get(f"/api/documents/{document}").json()["links"]
    assert ("mentions", f"tree:{tree.uid} node:{node}") in [
        (link["type"], link["to"]) for link in links
    ]
    muse.permissions = ["loom_aware"]
    muse.save()
    answer = execute_line(acting_as(actor, muse), tree, Request(f"list {node} links"))
    assert "Notes" not in answer.reply


def test_embeds_are_indexed_by_revision(say: Say, write: Write, actor: Actor, tree: Tree) -> None:
    node, other = write("Who is Marie?"), write("Somebody else.")
    say(f'write doc:"Notes" new "See ![[{node}]] and ![[tree:{tree.uid} {other}]], not [[zz99]]."')
    for number in range(12):
        say(f'write doc:"DocumentRecord {number}" new "It names {node} and embeds ![[b2b2]]."')

    def kept() -> list[str]:
        rows = DocumentEmbed.objects.filter(document__title="Notes").order_by("name")
        return list(rows.values_list("name", flat=True))

    assert kept() == sorted([node, other])
    with CaptureQueriesContext(connection) as sent:
        (seen,) = mentioning(actor, Node.objects.get(tree=tree, local_id=node))
    assert seen.type == "mentioned_by"
    before = len(sent)
    for number in range(12, 24):
        say(f'write doc:"DocumentRecord {number}" new "It names {node} and embeds ![[b2b2]]."')
    with CaptureQueriesContext(connection) as again:
        mentioning(actor, Node.objects.get(tree=tree, local_id=node))
    assert len(again) == before
    assert not any("documenttext" in query["sql"] and "LIKE" in query["sql"] for query in again)
    say('view doc:"Notes" full')
    say(f'write doc:"Notes" replace:"![[{node}]]" with:"nothing"')
    assert kept() == [other]
    assert not mentioning(actor, Node.objects.get(tree=tree, local_id=node))


def test_a_suggestion_holds_nothing_that_others_were_typing(
    say: Say, document: str, writer: User, reader: User
) -> None:
    row = Document.objects.get(uid=document)
    shared = document_log.opened(row)
    typed = rules.appended(shared.text, "Nobody else waits.")
    document_log.append_typed(row, shared.edit(typed), [writer.participants.get().uid])
    note = str(say('suggest doc:"Notes" "left" of:"waits" nth:1', by=reader).body["refs"][0])
    held = text(document)
    assert held.endswith("Nobody else waits.")
    assert Node.objects.get(local_id=note).text == held.replace("He waits.", "He left.")
    say('write doc:"Notes" replace:"Nobody else waits." with:"Nobody else came." revision:2')
    say(f"accept {note}")
    assert text(document) == held.replace("He waits.", "He left.").replace(
        "else waits", "else came"
    )
