"""Exports over the API: every format, what can be asked for, what is left out, and for whom."""

import json
from collections.abc import Callable
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.documents.actions import make_document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.transfer import exporting
from loom.transfer.exporting import FORMATS
from loom.transfer.writers import archive
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.transfer.planting import Plant, answered, call_in, plant, wanted

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
TEXTS: list[Plant] = [
    (-1, False, "Tell me."),
    (0, True, "Once."),
    (0, True, "Never."),
    (1, False, "Go on."),
]
WHO = ("Wilhelmine", "Euterpe")


@pytest.fixture
def lived(actor: Actor, muse: Participant) -> tuple[Tree, list[Node]]:
    """A dialogue with one of everything that a format may have no place for."""
    tree, nodes = plant(actor, muse, TEXTS, mode="dialogue")

    def say(line: str) -> None:
        execute_line(actor, tree, Request(line))

    tell, once, never, on = (node.local_id for node in nodes)
    say(f'edit {once} "Twice." as:version')
    say(f"prune {never}")
    say(f"exclude {on}")
    say(f'annotate {tell} "why?"')
    say(f"link {on} to {tell} as:supports")
    say(f'bookmark {on} "here"')
    say(f"tag {tell} #old")
    say(f"switch to {on}")
    return tree, nodes


def get(client: APIClient, tree: Tree, query: str) -> Any:
    return client.get(f"/api/trees/{tree.uid}/export?{query}")


def read(client: APIClient, tree: Tree, query: str) -> str:
    answer = get(client, tree, query)
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode("utf-8", "replace")


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_written_for_members_alone(
    name: str, api: Client, reader: User, outsider: User, lived: tuple[Tree, list[Node]]
) -> None:
    tree, nodes = lived
    answer = get(api(reader), tree, f"format={name}")
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content)
    assert content or name in ("text", "preferences")
    assert answer["Content-Type"] == FORMATS[name].media
    assert f".{FORMATS[name].ending}" in answer["Content-Disposition"]
    if FORMATS[name].scope != "tree":
        answer = get(api(reader), tree, f"format={name}&node={nodes[3].local_id}")
        assert answer.status_code == 200 and b"".join(answer.streaming_content)
    for asked in (f"format={name}", f"format={name}&node={nodes[3].local_id}"):
        assert get(api(outsider), tree, asked).status_code == 404
        shown = api(outsider).get(f"/api/trees/{tree.uid}/export/preview?{asked}")
        assert shown.status_code == 404


def left_out(client: APIClient, tree: Tree, query: str) -> dict[str, int]:
    answer = client.get(f"/api/trees/{tree.uid}/export/preview?{query}")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert all(f"{part['count']:,}" in part["says"] for part in body["left_out"])
    for part in body["left_out"]:
        words = part["says"].removeprefix("1 ").split(" (")[0].split(":")[0]
        assert part["count"] > 1 or not words.endswith("s"), part["says"]
    return {part["what"]: part["count"] for part in body["left_out"]}


def test_a_preview_counts_what_has_no_place(
    api: Client, owner: User, lived: tuple[Tree, list[Node]], muse: Participant
) -> None:
    tree, _ = lived
    client = api(owner)
    assert left_out(client, tree, "format=heddle") == {}
    common = {"versions": 1, "links": 1, "proofs": 4}
    assert left_out(client, tree, "format=loomsidian") == {
        **common, "pruned": 1, "authors": 2, "notes": 1, "tags": 1
    }  # fmt: skip
    assert left_out(client, tree, "format=exoloom") == {**common, "notes": 1, "tags": 1}
    assert left_out(client, tree, "format=pyloom") == {
        **common, "pruned": 1, "authors": 1, "notes": 1
    }  # fmt: skip
    whole = left_out(client, tree, "format=text&whole=1")
    assert whole == {
        **common, "pruned": 1, "authors": 2, "times": 4, "notes": 1, "bookmarks": 1, "tags": 1
    }  # fmt: skip
    noted = left_out(client, tree, "format=html&notes=1")
    assert "notes" not in noted and "authors" not in noted and noted["pruned"] == 1
    assert left_out(client, tree, "format=html&authors=0")["authors"] == 2


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_without_authors_has_no_names_or_its_preview_says_so(
    name: str, api: Client, actor: Actor, muse: Participant
) -> None:
    tree, nodes = plant(actor, muse, TEXTS, mode="dialogue")
    for participant, new in zip((actor.participant, muse), WHO, strict=True):
        participant.name = new
        participant.save()
    at, end = nodes[0].local_id, nodes[3].local_id
    execute_line(actor, tree, Request(f'annotate {at} "Why?"'))
    execute_line(actor, tree, Request(f"respond {end}\nSee ![[{at}]] ![[{end}]]\n←"))
    last = tree.nodes.get(text__startswith="See")
    scope = "" if FORMATS[name].scope == "tree" else f"&node={last.local_id}"
    query = f"format={name}&notes=1{scope}"
    client = api(actor.user)

    def names(query: str) -> set[str]:
        content = b"".join(get(client, tree, query).streaming_content)
        parts = [content]
        if name == "parquet":
            return set(WHO)  # packed; what it holds is in test_tables.py
        if content.startswith(b"PK"):
            with ZipFile(BytesIO(content)) as file:
                parts = [file.read(part) for part in file.namelist()]
        return {who for who in WHO if any(who.encode() in p for p in parts)}

    at_preview = f"/api/trees/{tree.uid}/export/preview?{query}"
    without = client.get(f"{at_preview}&authors=0").json()
    left = names(f"{query}&authors=0")
    assert bool(left) == bool(without["warnings"]), left
    if left:
        assert left == {WHO[1]} or "authors" in without["warnings"][0]
    assert client.get(f"{at_preview}&authors=1").json()["warnings"] == []
    lost = {part["what"] for part in without["left_out"]}
    assert ("authors" in lost) == (left != set(WHO))


def test_a_preview_says_that_calls_may_hold_names(
    api: Client, owner: User, lived: tuple[Tree, list[Node]]
) -> None:
    tree, _ = lived
    at = f"/api/trees/{tree.uid}/export/preview?format=markdown&authors=0"
    assert api(owner).get(at).json()["warnings"] == []
    [warning] = api(owner).get(f"{at}&calls=full").json()["warnings"]
    assert "may hold names" in warning
    page = api(owner).get(f"/trees/{tree.uid}/export?format=markdown&of=markdown&calls=full")
    assert warning in page.content.decode()
    page = api(owner).get(f"/trees/{tree.uid}/export?format=heddle&of=heddle")
    assert "always holds the names" not in page.content.decode()


def test_a_preview_names_what_belongs_to_the_tree(
    api: Client, owner: User, actor: Actor, tree: Tree
) -> None:
    told = dict.fromkeys(("description", "system_context", "memory", "author_note"), "x")
    trees.change_tree(actor, tree, told)
    document = make_document(actor, title="On foxes", kind="note", text="Red.")
    execute_line(actor, tree, Request(f"link tree:{tree.uid} to doc:{document.uid}"))
    execute_line(actor, tree, Request('think "hm"'))
    every = {"documents": 1, "thoughts": 1, "description": 1, "context": 1, "steering": 2}
    lost_by_format = {name: left_out(api(owner), tree, f"format={name}") for name in FORMATS}
    lost = {name: {what for what in every if lost_by_format[name].get(what)} for name in FORMATS}
    assert lost["zip"] == set() and lost["heddle"] == {"documents"}
    assert lost["pyloom"] == set(every)
    assert {what: lost_by_format["text"][what] for what in every} == every
    assert lost["html"] == lost["exoloom"] == set(every) - {"description"}
    assert lost["jsonl"] == lost["preferences"] == set(every) - {"context"}
    page = api(owner).get(f"/trees/{tree.uid}/export?format=pyloom").content.decode()
    for words in ("1 linked document", "1 thought of a model", "2 texts that models are also sent"):
        assert words in page


def test_a_preview_of_a_path_counts_the_path(
    api: Client, owner: User, lived: tuple[Tree, list[Node]]
) -> None:
    tree, nodes = lived
    execute_line(get_actor(owner, tree.grove), tree, Request(f"restore {nodes[2].local_id}"))
    lost = left_out(api(owner), tree, f"format=text&node={nodes[0].local_id}")
    assert lost == {"other": 3, "authors": 1, "times": 2, "notes": 1, "tags": 1, "proofs": 2}
    swiped = left_out(api(owner), tree, f"format=sillytavern&node={nodes[3].local_id}")
    assert "other" not in swiped, "the text beside the path is a swipe"
    answer = api(owner).get(f"/api/trees/{tree.uid}/export/preview?format=text")
    assert (answer.json()["nodes"], answer.json()["characters"]) == (3, len("Tell me.Twice.Go on."))


def test_a_preview_of_a_path_does_not_read_the_whole_tree(
    api: Client,
    owner: User,
    actor: Actor,
    lived: tuple[Tree, list[Node]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exporting, "MOST_OTHERS", 3)
    tree, nodes = lived
    address = f"/api/trees/{tree.uid}/export/preview?format=text&node={nodes[0].local_id}"
    say = {loss["what"]: loss["says"] for loss in api(owner).get(address).json()["left_out"]}
    assert say["other"] == "2 texts on other branches"
    for text in range(6):
        execute_line(actor, tree, Request(f'respond root "Text {text}."'))
    say = {loss["what"]: loss["says"] for loss in api(owner).get(address).json()["left_out"]}
    assert say["other"] == "more than 3 texts on other branches"
    page = api(owner).get(f"/trees/{tree.uid}/export?format=text&node={nodes[0].local_id}")
    assert "more than 3 texts on other branches" in page.content.decode()


@pytest.mark.parametrize("format", ["jsonl", "exoloom", "pyloom", "preferences"])
def test_a_preview_of_a_large_tree_is_counted_by_the_database(
    api: Client,
    owner: User,
    lived: tuple[Tree, list[Node]],
    monkeypatch: pytest.MonkeyPatch,
    format: str,
) -> None:
    tree, nodes = lived
    execute_line(get_actor(owner, tree.grove), tree, Request(f"restore {nodes[2].local_id}"))
    address = f"/api/trees/{tree.uid}/export/preview?format={format}"
    small = api(owner).get(address).json()
    monkeypatch.setattr(exporting, "LARGE", 0)
    large = api(owner).get(address).json()
    assert large == {**small, "characters": small["characters"] - 1}, "“Once.”, and not “Twice.”"
    page = api(owner).get(f"/trees/{tree.uid}/export?format={format}").content.decode()
    assert "counted with what is pruned" in page


def test_markdown_has_notes_if_asked_for(
    api: Client, owner: User, lived: tuple[Tree, list[Node]]
) -> None:
    tree, nodes = lived
    assert "why?" not in read(api(owner), tree, "format=markdown")
    shown = read(api(owner), tree, "format=markdown&notes=1")
    assert f"**{nodes[0].local_id}** Tell me.\n\n> note · Owner: why?\n" in shown


# Provenance.


def test_markdown_says_where_texts_came_from(
    api: Client, owner: User, tree: Tree, muse: Participant
) -> None:
    call = call_in(tree, muse)
    node = answered(tree, muse, "It rained.", call)
    asked = f"format=markdown&node={node.local_id}"
    assert "Provenance" not in read(api(owner), tree, f"{asked}&calls=none")
    shown = read(api(owner), tree, f"{asked}&calls=full")
    for told in (
        f"hash: `{node.hash}`",
        f"hash of the text above: `{node.parent_hash}`",
        f"call: `{call.uid}`",
        "request id: `req_1`",
        f"SHA-256 of the answer: `{call.sha256}`",
        f"configuration: `{call.configuration}`",
        "sealed: 20",
        '"prompt": "Once"',
        '{"text": "It rained."}',
    ):
        assert told in shown
    assert "hashes" not in left_out(api(owner), tree, f"{asked}&calls=full")


def test_nobody_is_shown_a_call_that_they_may_not_read(
    actor: Actor, tree: Tree, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = answered(tree, muse, "It rained.", call_in(tree, muse))
    monkeypatch.setattr(archive, "may_read_call", lambda actor, call: False)
    asked = wanted(actor, tree, node, calls=True)
    shown = b"".join(FORMATS["markdown"].pieces(asked)).decode()
    assert "Once" not in shown and "You may not read what was sent" in shown
    files = b"".join(FORMATS["zip"].pieces(wanted(actor, tree, calls=True)))
    assert b"calls/" not in files.replace(b"`calls/`", b"")


def test_calls_are_left_out_if_asked_for(
    api: Client, owner: User, tree: Tree, muse: Participant
) -> None:
    answered(tree, muse, "It rained.", call_in(tree, muse))
    for asked, count in (("", 1), ("&calls=full", 1), ("&calls=none", 0)):
        assert len(json.loads(read(api(owner), tree, f"format=heddle{asked}"))["calls"]) == count
    assert left_out(api(owner), tree, "format=heddle&calls=none") == {"calls": 1}


def test_a_fence_is_longer_than_what_is_in_it(actor: Actor, tree: Tree, muse: Participant) -> None:
    call = call_in(tree, muse)
    type(call).objects.filter(pk=call.pk).update(request={"body": "````\n# not a heading"})
    node = answered(tree, muse, "It rained.", call)
    shown = b"".join(FORMATS["markdown"].pieces(wanted(actor, tree, node, calls=True))).decode()
    assert "`````json\n" in shown


def test_an_export_is_sent_in_pieces(actor: Actor, muse: Participant) -> None:
    texts: list[Plant] = [(n - 1, False, "word " * 4000) for n in range(30)]
    tree, nodes = plant(actor, muse, texts)
    for name in ("pyloom", "miniloom", "html", "jsonl"):
        pieces = list(FORMATS[name].pieces(wanted(actor, tree, nodes[-1])))
        if name != "jsonl":  # one line, which is one piece
            assert len(pieces) > 3, name
            assert all(len(piece) < 4 * exporting.PIECE for piece in pieces), name
