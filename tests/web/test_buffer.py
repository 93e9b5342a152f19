"""The text of a buffer as the editor gets it."""

import random
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from loom import access
from loom.access import Actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.reading.queries.verify import verify_tree
from loom.trees.commands import node_writer
from loom.trees.commands.node_writer import NewNode
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from tests.web.conftest import Visitor

pytestmark = pytest.mark.django_db


def say(actor: Actor, tree: Tree, line: str) -> list[str]:
    """The refs of a line."""
    refs: list[str] = execute_line(actor, tree, Request(line)).body["refs"]
    return refs


@pytest.fixture
def by_model(buffer: Tree, muse: Participant) -> Node:
    """A model's text below the root."""
    with transaction.atomic():
        writer = streams.lock(buffer, actor=muse.uid)
        new = NewNode("It seemed to watch her.", parent=lookup.root_of(buffer))
        node = node_writer.add_node(writer, buffer, muse, new)
        writer.flush()
    return node


def nodes(visitor: Visitor, owner: User, tree: Tree, query: str = "") -> list[dict[str, Any]]:
    """What the editor of somebody who has just come is sent."""
    return nodes_for(visitor(owner), tree, query)


def nodes_for(client: Client, tree: Tree, query: str = "") -> list[dict[str, Any]]:
    """What the editor is sent."""
    answer = client.get(f"/trees/{tree.uid}/buffer{query}")
    assert answer.status_code == 200
    told = answer.json()
    people, drawn = told["people"], []
    for at, (name, text) in enumerate(zip(told["ids"], told["texts"], strict=True)):
        by = told["by"][at]
        whole = [[by, len(text.encode("utf-16-le")) // 2]] if isinstance(by, int) and text else []
        node = {
            "id": name,
            "slot": told["slots"].get(str(at), name),
            "text": text,
            "by": [[people[who], length] for who, length in (whole if isinstance(by, int) else by)],
            "excluded": at in told["excluded"],
        }
        wordings = told.get("wordings", {}).get(str(at), ...)
        drawn.append(node if wordings is ... else {**node, "wordings": wordings})
    return drawn


def test_texts_come_to_the_byte_and_lengths_as_browsers_count(
    actor: Actor, owner: User, buffer: Tree, visitor: Visitor
) -> None:
    for text in ("  🦉\r\n", "e\u0301 \r"):
        say(actor, buffer, f"respond\n{text}\n←")
    shown = nodes(visitor, owner, buffer)
    assert [node["text"] for node in shown] == ["  🦉\r\n", "e\u0301 \r"]
    me = actor.participant.uid
    assert [node["by"] for node in shown] == [[[me, 6]], [[me, 4]]]


def test_a_models_words_stay_its_own_through_versions_and_splits(
    actor: Actor, owner: User, muse: Participant, buffer: Tree, visitor: Visitor, by_model: Node
) -> None:
    (version,) = say(actor, buffer, f'edit {by_model.local_id} "It seemed to hold her."')
    head, tail = say(actor, buffer, f"split {version} at:13")
    say(actor, buffer, f"switch to {tail}")
    shown = nodes(visitor, owner, buffer)
    me = actor.participant.uid
    assert [node["id"] for node in shown] == [head, tail]
    assert [node["by"] for node in shown] == [[[muse.uid, 13]], [[me, 4], [muse.uid, 5]]]
    (whole,) = nodes(visitor, owner, buffer, f"?node={version}")
    assert (whole["slot"], whole["by"][1]) == (by_model.local_id, [me, 4])


def test_every_pane_shows_who_wrote_what_was_split_and_edited(
    actor: Actor, owner: User, muse: Participant, buffer: Tree, visitor: Visitor, by_model: Node
) -> None:
    (version,) = say(actor, buffer, f'edit {by_model.local_id} "It seemed to hold her."')
    root = lookup.root_of(buffer).local_id
    client = visitor(owner)
    card = client.get(f"/trees/{buffer.uid}/weave?node={root}").content.decode()
    assert f'<b class="by" data-by="{muse.uid}">Muse</b>' in card
    assert 'data-kind="human" title="Owner">hold</span>' in card
    assert 'data-kind="model" title="Muse">It seemed to </span>' in card
    head, tail = say(actor, buffer, f"split {version} at:13")
    card = client.get(f"/trees/{buffer.uid}/weave?node={root}").content.decode()
    assert 'aria-label="Candidate 1, Muse"' in card and "You" not in card
    pane = client.get(f"/trees/{buffer.uid}/nodes/{head}").content.decode()
    assert f'<b class="by" data-by="{muse.uid}">Muse</b>' in pane
    assert "<dt>Edited or split by</dt><dd>Owner</dd>" in pane
    pane = client.get(f"/trees/{buffer.uid}/nodes/{tail}").content.decode()
    mine = f'data-by="{actor.participant.uid}" data-name="Owner">You</b>'
    assert f'with <b class="by" data-who="0" {mine}' in pane
    words = client.get(f"/trees/{buffer.uid}/excerpts?ids={head},{root}").json()
    assert words["by"] == {head: muse.uid}


def test_a_dialogue_names_all_who_wrote_a_text(
    actor: Actor, owner: User, muse: Participant, tree: Tree, visitor: Visitor
) -> None:
    with transaction.atomic():
        writer = streams.lock(tree, actor=muse.uid)
        new = NewNode("It seemed to watch her.", parent=lookup.root_of(tree))
        node = node_writer.add_node(writer, tree, muse, new)
        writer.flush()
    (version,) = say(actor, tree, f'edit {node.local_id} "It seemed to hold her." as:version')
    page = visitor(owner).get(f"/trees/{tree.uid}/path?node={version}").content.decode()
    assert f'aria-label="{version}, Muse"' in page
    assert f'data-by="{actor.participant.uid}" data-name="Owner">You</b>' in page
    assert 'data-kind="human" title="Owner">hold</span>' in page
    assert 'data-kind="model" title="Muse">It seemed to </span>' in page


def test_words_of_somebody_who_may_only_read_now_are_no_part_of_the_text(
    actor: Actor, buffer: Tree, writer: User, visitor: Visitor
) -> None:
    (node,) = say(actor, buffer, 'respond "The gate was shut."')
    hers, address = visitor(writer), f"/trees/{buffer.uid}?node={node}"
    home = hers.get(f"/api/workspaces?tree={buffer.uid}").json()["id"]
    body = {"kind": "buffer", "text": " And then", "seen": ""}
    path = f"/api/workspaces/{home}/drafts/{node}"
    assert hers.put(path, body, content_type="application/json").status_code == 200
    working = '<span class="working"> And then</span>'
    assert working in hers.get(address).content.decode()
    buffer.grove.memberships.filter(user=writer).update(role="reader")
    assert working not in hers.get(address).content.decode()


def test_nodes_are_asked_for_by_name(
    actor: Actor, owner: User, outsider: User, buffer: Tree, visitor: Visitor
) -> None:
    (one,) = say(actor, buffer, 'respond root "a"')
    (two,) = say(actor, buffer, 'respond root "b"')
    shown = nodes(visitor, owner, buffer, f"?ids={two},{one},zzzz,'")
    assert {node["id"] for node in shown} == {one, two}
    assert visitor(outsider).get(f"/trees/{buffer.uid}/buffer").status_code == 404


# Characters that are one, two or four bytes, one or two units of UTF-16, that combine, or that
# are written from right to left.
SIGNS = ["a", " ", "\n", "é", "e\u0301", "🦉", "👩‍👩‍👧", "שלום", "\u202e", "漢", "\r\n"]


@pytest.mark.parametrize("seed", range(6))
def test_random_scripts_of_lines_keep_texts_places_authors_and_hashes(
    actor: Actor, owner: User, buffer: Tree, visitor: Visitor, seed: int
) -> None:
    roll, client = random.Random(seed), visitor(owner)

    def words() -> str:
        return "".join(roll.choices(SIGNS, k=roll.randint(1, 8)))

    def path(end: str = "") -> list[str]:
        nodes = nodes_for(client, buffer, end and f"?node={end}")
        for row in nodes:
            units = len(row["text"].encode("utf-16-le")) // 2
            assert sum(length for _, length in row["by"]) == units
        return [row["text"] for row in nodes]

    def line(command: str) -> bool:
        try:
            say(actor, buffer, command)
        except CommandError:
            return False
        return True

    for _ in range(4):
        say(actor, buffer, f"respond\n{words()}\n←")
    for step in range(25):
        before = path()
        if not before:
            say(actor, buffer, f"respond\n{words()}\n←")
            continue
        place = roll.randrange(len(before))
        ids = [row["id"] for row in nodes_for(client, buffer)]
        node, end = ids[place], ids[-1]
        kind = roll.choice(["edit", "split", "respond", "undo", "undo"])
        text = before[place]
        if kind == "edit":
            at, to = sorted(roll.choices(range(len(text) + 1), k=2))
            written = text[:at] + words() + text[to:]
            assert line(f"edit {node} as:version\n{written}\n←") or written == text
            assert path() == [*before[:place], written, *before[place + 1 :]], f"step {step}"
        elif kind == "split" and len(text) > 1:
            at = roll.randrange(1, len(text))
            _, tail = say(actor, buffer, f"split {node} at:{at}")
            assert path(tail) == [*before[:place], text[:at], text[at:]], f"step {step}"
        elif kind == "respond":
            written = words()
            assert line(f"respond\n{written}\n←") and path()[-1] == written
        elif kind == "undo" and line("undo"):
            assert line("redo") and path(end) == before, f"step {step}: redo after undo"
            assert line("undo")
    workspace = access.workspace_of(actor.participant, buffer)
    assert verify_tree(actor, buffer, workspace)["broken"] == []
