"""An exploration that is kept as a document: what it quotes, what it only names, and for whom."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from loom.access import get_actor
from loom.documents.models import Document
from loom.documents.queries import newest
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.links.models import Link, Trail
from loom.people.models import Grove, User
from loom.trees.commands.trees import new_tree
from loom.trees.models import Tree
from tests.commands.conftest import Say
from tests.two_groves import SECRET, TITLE, TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def _text(title: str) -> str:
    return newest(Document.objects.get(title=title)).text


def test_a_trail_is_kept_as_a_document_that_is_linked_to_its_tree(
    say: Say, write: Write, tree: Tree
) -> None:
    a, b, c = write("the lamp"), write("a witness"), write("left out")
    say(f"link {a} to {b} as:supports")
    say(f"link {b} to {c} as:supports")
    say(f"switch to {a}")
    say(f'expand supports of {a} because:"it pays off"')
    say(f"expand supports of {b}")
    say('trail save "by witness"')
    say('trail note "by witness" n:2 "begin with who saw it"')
    say(f"exclude {c}")
    reply = say('write doc:"How we came here" from trail:"by witness"').reply
    assert reply.startswith('✓ created doc:"How we came here" (now ')
    text = _text("How we came here")
    assert text.startswith("# by witness\n") and "> begin with who saw it" in text
    assert f"> 2. **▼ [supports] ──→ [{b}]** because it pays off" in text
    assert f"\n> > [{b}] " in text  # a reference, which leads there
    assert "> > a witness" in text and f"[{c}]" in text and "left out" not in text
    assert 'doc:"How we came here"' in say("list documents").reply
    with pytest.raises(CommandError) as refused:
        say('write doc:"How we came here" from trail:"by witness"')
    assert refused.value.code == "CONFLICT"
    with pytest.raises(CommandError) as refused:
        say('write doc:"Other" from trail:"none"')
    assert refused.value.code == "NOT_FOUND"
    say("undo")
    assert "a witness" not in _text("How we came here")


def test_what_lies_in_other_trees_is_named_and_of_other_groves_nothing(
    two_groves: TwoGroves,
) -> None:
    world = two_groves
    mine, by = world.left.text.local_id, world.both
    other = new_tree(get_actor(by, world.left.grove), title="Elsewhere")

    def run(line: str, into: Tree = world.left.tree) -> Any:
        actor = get_actor(by, world.left.grove)
        return execute_line(actor, into, Request(line)).body

    near = run('respond root "the words elsewhere"', other)["refs"][0]
    run(f"link {mine} to {world.far} as:supports")
    run(f"link {mine} to tree:{other.uid} node:{near} as:uses")
    run(f"switch to {mine}")
    run(f"expand supports of {mine}")
    run(f"expand uses of {mine}")
    run('trail save "north"')
    run('write doc:"Way north" from trail:"north"')
    text = _text("Way north")
    assert "(unavailable)" in text
    for word in (SECRET, TITLE, world.right.text.local_id):
        assert word not in text
    assert f"[{near}]" in text and "the words elsewhere" not in text


def test_the_page_of_a_trail_keeps_it_as_a_document(
    say: Say, write: Write, owner: User, reader: User, grove: Grove, client: Client
) -> None:
    a, b = write("the lamp"), write("a witness")
    say(f"link {a} to {b} as:supports")
    say(f"expand supports of {a}")
    say('trail save "way"')
    say('trail share "way"')
    address = f"/trails/{Trail.objects.get().uid}"
    client.force_login(owner)
    assert f'action="{address}/document"' in client.get(address).content.decode()
    response = client.post(f"{address}/document", {"title": "The way"})
    assert response["Location"] == f"/documents/{Document.objects.get().uid}"
    assert f'data-ref="{b}"' in client.get(f"{response['Location']}/drawn").content.decode()
    again = client.post(f"{address}/document", {"title": "The way"}, follow=True)
    assert "There is already a document called" in again.content.decode()
    client.force_login(reader)
    assert f"{address}/document" not in client.get(address).content.decode()
    assert client.post(f"{address}/document", {"title": "Mine"}).status_code == 302
    assert Document.objects.count() == 1


def test_an_exported_trail_has_the_texts_of_documents_and_of_written_portals(
    say: Say, write: Write, tree: Tree, owner: User, client: Client
) -> None:
    """The exploration as Markdown, with what each step led to, a document as well, and
    portals that stand in these texts opened in their place."""
    a, c = write("the lamp"), write("a debt")
    say(f'write doc:"Notes" new "---\\nby: Ada\\n---\\nOil was dear, @[supports -> {c}] says who."')
    say(f'link {a} to doc:"Notes" as:supports')
    say(f"switch to {a}")
    say(f"expand supports of {a}")
    say('trail save "by oil"')
    client.force_login(owner)
    uid = Trail.objects.get().uid
    line = say('trail show "by oil" as:markdown').reply
    for text in (client.get(f"/api/trails/{uid}/export").content.decode(), line):
        assert '2. **▼ [supports] ──→ doc:"Notes"**' in text
        assert "Oil was dear" in text and "by: Ada" not in text
        assert f"▼ [supports] ──→ [{c}]" in text and "a debt" in text and "@[" not in text
    say('write doc:"How" from trail:"by oil"')
    kept = _text("How")
    assert "Oil was dear, @[supports" in kept  # a portal stays one in a document of the grove
    Link.objects.update(removed_at=timezone.now())
    say('write doc:"How else" from trail:"by oil"')
    # It is open to readers of the tree, who may not read a document that is not linked to it.
    assert 'doc:"Notes"' in _text("How else") and "dear" not in _text("How else")


def test_a_document_for_all_names_nothing_that_is_hidden_from_some(
    say: Say, write: Write, owner: User, writer: User, grove: Grove, tree: Tree
) -> None:
    hidden = new_tree(get_actor(owner, grove), title="Kept close")
    far = say('respond root "the hidden words"', into=hidden).body["refs"][0]
    a = write("the lamp")
    claim = say(f'claim "the lamp is lit" cite:{a}').body["refs"][0]
    say(f"cite tree:{hidden.uid} node:{far} for {claim}")
    say(f"link {a} to tree:{hidden.uid} node:{far} as:supports")
    say(f"switch to {a}")
    say(f"expand supports of {a}")
    say('trail save "way"')
    say(f'allow "{get_actor(writer, grove).participant.name}" hidden', into=hidden)
    say('write doc:"The way" from trail:"way"')
    say('augment store ways/one from trail:"way"')
    say(f"augment store ways/two from {claim}")
    for row in Document.objects.all():
        text = newest(row).text
        assert "unavailable" in text, row.title
        for word in ("Kept close", "hidden words", far, hidden.uid):
            assert word not in text, row.title
    say("switch to root", into=hidden)
    say(f"link {far} to root as:supports", into=hidden)
    say(f"expand supports of {far}", into=hidden)
    say('trail save "inner"', into=hidden)
    for line in ('write doc:"Inner" from trail:"inner"', 'augment store ways/3 from trail:"inner"'):
        with pytest.raises(CommandError) as refused:
            say(line, into=hidden)
        assert refused.value.code == "REJECTED"
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "REJECTED"
