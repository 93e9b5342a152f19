"""Heddle's own JSON: out and in again it is the same tree, and its proofs still hold."""

import io
import json
import zipfile
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.agent_prompt import PromptPlace, stops_of
from loom.access import Actor, acting_as, get_actor, workspace_of
from loom.documents.actions import make_document
from loom.documents.models import Document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.language import ids
from loom.language.ids import of_tree
from loom.links.models import Link
from loom.notes.models import Mark
from loom.notes.words import places_of
from loom.people.models import Grove, Participant, User
from loom.reading.queries.verify import verify_tree
from loom.transfer import importing
from loom.transfer.exporting import FORMATS
from loom.transfer.tree_builder import TreeBuilder
from loom.transfer.writers import heddle as heddle_writer
from loom.trees import images
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node, NodeSource, Tree
from loom.trees.queries.lookup import NodeRow, rows_of
from loom.trees.queries.node_bodies import Facts, facts_of
from tests.machines.replay import Replayed, events_of, stored
from tests.thorough import tries
from tests.transfer.conftest import Bring, file_of, nothing_left, tree_of
from tests.transfer.planting import paths, plant, wanted
from tests.transfer.reading import trees_of
from tests.transfer.test_images import picture
from tests.transfer.test_sequences import docx

pytestmark = pytest.mark.django_db


def out(tree: Tree) -> bytes:
    """The exported file."""
    user = tree.maker.user
    assert user is not None
    actor = get_actor(user, tree.grove)
    return b"".join(heddle_writer.pieces(actor, Tree.objects.get(pk=tree.pk)))


@pytest.fixture
def lived(actor: Actor, tree: Tree, writer: User, muse: Participant) -> Tree:
    """A tree in which everything has happened that a person can do."""
    other = get_actor(writer, tree.grove)

    def say(line: str, by: Actor = actor) -> str:
        refs = execute_line(by, tree, Request(line)).body["refs"]
        return str(refs[-1]) if refs else ""

    opening = say('respond root "Once, said Ada.\\n"')
    below = say(f'respond {opening} "e\u0301 🌫️ and on"', other)
    edited = say(f'edit {opening} "Twice, said Ada." as:version')
    say(f"prune {edited} version")
    note = say(f'annotate {below} "why?" as:question', other)
    say(f'resolve {note} "because"')
    gone = say(f'respond {below} "gone"')
    say(f"prune {gone}")
    say(f"exclude {below}", other)
    say(f'link {below} to {opening} as:supports note:"so" confidence:0.5')
    say(f"link {below} to tree:{tree.uid}")
    say(f'bookmark {below} "here"', other)
    say(f"tag {opening} #old #new")
    say(f"tag tree:{tree.uid} #whole")
    _by_muse(tree, muse, opening)
    return Tree.objects.select_related("grove").get(pk=tree.pk)


def _by_muse(tree: Tree, muse: Participant, below: str) -> None:
    from django.db import transaction

    from loom.engine import streams

    parent = Node.objects.get(tree=tree, local_id=below)
    new = node_writer.NewNode(
        text="So it was.",
        parent=parent,
        configuration="ab" * 32,
        generation_uid="g1",
        finish="interrupted:stopped",
        sources=(
            (ids.of_node(parent.pk), "primary", parent.hash),
            (ids.of_tree(tree.pk), "context", ""),
        ),
    )
    with transaction.atomic():
        writer = streams.lock(tree)
        node_writer.add_node(writer, tree, muse, new)
        writer.flush()


SAME = """local_id kind form text blocks length author__name author__kind depth parent_hash hash
    configuration call_uid generation_uid finish created_at pruned version_pruned
    excluded sandbox summary resolved_at slot__local_id parent_slot__local_id
    edited_from__local_id""".split()


def _said(tree: Tree) -> bytes:
    """What is written of an imported tree, without the mark behind the names of its authors."""
    return out(tree).replace(b" (imported)", b"")


def test_a_tree_comes_again_as_it_was(lived: Tree, bring: Bring, actor: Actor) -> None:
    again = tree_of(bring(out(lived)))
    for name in ("title", "mode", "description", "system_context", "summary", "truncation"):
        assert getattr(again, name) == getattr(lived, name)
    came = [*again.nodes.order_by("id").values(*SAME)]
    for node in came:
        node["author__name"] = node["author__name"].removesuffix(" (imported)")
    assert came == [*lived.nodes.order_by("id").values(*SAME)]
    assert _said(again) == out(lived)
    report = verify_tree(actor, again, None)
    assert report["status"] == "valid" and report["imported"] == lived.nodes.count()
    assert verify_tree(actor, lived, None)["imported"] == 0
    assert verify_tree(actor, again, None)["checked"] == lived.nodes.count()


def test_events_are_written_from_what_the_database_would_say(
    actor: Actor, muse: Participant, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [(-1, False, "a"), (0, True, "b"), (1, False, "c"), (2, True, "d"), (0, True, "e")]
    tree, nodes = plant(actor, muse, texts)
    for line in (f"edit {nodes[1].local_id} as:version\nB", f"edit {nodes[0].local_id} as:fork\nA"):
        execute_line(actor, tree, Request(line))
    execute_line(actor, tree, Request(f"prune {nodes[1].local_id}"))
    known, read = TreeBuilder._facts, []

    def compared(self: TreeBuilder, rows: list[NodeRow]) -> Facts:
        stored = rows_of([row.id for row in rows])
        assert [(row._replace(rest=None), row.more) for row in rows] == [
            (row._replace(rest=None), row.more) for row in stored
        ]
        read.append((known(self, rows), facts_of(self.tree.pk, rows)))
        return read[-1][0]

    monkeypatch.setattr(TreeBuilder, "_facts", compared)
    monkeypatch.setattr(importing, "BATCH", 3)
    again = tree_of(bring(out(tree)))
    assert [row for row, _ in read] == [row for _, row in read] and len(read) == 3
    assert any(row.hidden for row, _ in read) and any(row.versions for row, _ in read)
    assert any(row.edited for row, _ in read) and paths(again) == paths(tree)


def test_marks_links_and_sources_come_again(lived: Tree, bring: Bring) -> None:
    again = tree_of(bring(out(lived)))
    whole = Mark.objects.get(tree=again, label="whole")
    assert whole.item_id == of_tree(again.pk)
    assert Mark.objects.filter(tree=again).count() == Mark.objects.filter(tree=lived).count() == 4
    assert Link.objects.filter(tree=again, note="so", confidence=0.5, type="supports").exists()
    assert Link.objects.get(tree=again, type="related").target_id == of_tree(again.pk)
    node = Node.objects.get(tree=again, text="So it was.")
    seen = {(source.item_id, source.role, source.version_seen) for source in node.sources.all()}
    above = Node.objects.get(versions=node.parent_slot)
    assert seen == {(above.pk, "primary", above.hash), (of_tree(again.pk), "context", "")}


def test_a_note_on_words_comes_again_at_its_words(
    actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, nodes = plant(actor, muse, [(-1, False, "One two one.")])
    execute_line(actor, tree, Request(f'annotate {nodes[0].local_id} "Why?" of:"one"'))
    execute_line(actor, tree, Request(f'suggest {nodes[0].local_id} "2" of:"two"'))
    execute_line(actor, tree, Request(f"edit {nodes[0].local_id} as:version\nOther."))
    again = tree_of(bring(out(tree)))
    text = Node.objects.get(tree=again, text="One two one.")
    notes = Node.objects.filter(tree=again, kind="annotation").order_by("pk")
    places = places_of(notes.values_list("slot", flat=True))
    quoted = [places[note.slot_id] for note in notes]
    assert quoted == [(text.pk, (8, 11)), (text.pk, (4, 7))]


def test_a_client_that_replays_the_events_has_the_tree(lived: Tree, bring: Bring) -> None:
    again = tree_of(bring(out(lived)))
    events = events_of(again)
    assert [node["seq"] for node in events] == list(range(1, len(events) + 1))
    state = Replayed()
    for event in events[:-1]:
        state.take(event["kind"], event["payload"])
    assert state == stored(again)


def test_in_another_grove_authors_come_by_name_and_are_nobody_there(
    lived: Tree, outsider: User, actor: Actor
) -> None:
    there = Grove.objects.get(name="Elsewhere")
    row = file_of(get_actor(outsider, there), out(lived))
    importing.run(row.uid)
    row.refresh_from_db()
    again = tree_of(row)
    muse = Participant.objects.get(grove=there, name="Muse (imported)")
    assert (muse.kind, muse.base_url, muse.archived_at is None) == ("model", "", False)
    person = Participant.objects.get(grove=there, name="Writer (imported)")
    assert (person.kind, person.user, person.archived_at is None) == ("human", None, False)
    assert _said(again) == out(lived)
    kinds = Event.objects.filter(stream__name=f"grove:{there.uid}").values_list("kind", flat=True)
    assert list(kinds).count("participant.added") == 3
    assert verify_tree(actor, again, None)["status"] == "valid"


def test_nothing_of_another_grove_is_found_out_by_a_link(lived: Tree, outsider: User) -> None:
    there = get_actor(outsider, Grove.objects.get(name="Elsewhere"))
    file = json.loads(out(trees.new_tree(there, title="x")))
    file["links"] = [{"source": "tree", "target": f"tree:{lived.uid}"}]
    row = file_of(there, file)
    importing.run(row.uid)
    row.refresh_from_db()
    assert Link.objects.filter(tree=tree_of(row)).count() == 0
    assert row.report["dropped"] == {"links to elsewhere": 1}


@pytest.mark.parametrize("is_hidden", [True, False])
def test_a_file_reaches_only_trees_that_whoever_imports_it_may_read(
    lived: Tree, actor: Actor, writer: User, is_hidden: bool
) -> None:
    if is_hidden:
        execute_line(actor, lived, Request('allow "Writer" hidden'))
    there = get_actor(writer, lived.grove)
    document = make_document(actor, title="Notes", text="She speaks.\n")
    known = Node.objects.filter(tree=lived, kind="text").order_by("-pk").values_list("local_id")[0]

    def report_of(target: str) -> dict[str, Any]:
        file = json.loads(out(trees.new_tree(there, title="x")))
        text = {"id": "b2b2", "parent": file["nodes"][0]["id"], "text": "by hand"}
        file["nodes"].append({**text, "sources": [{"item": target, "role": "primary"}]})
        file["links"] = [{"type": "supports", "source": "b2b2", "target": target}]
        row = file_of(there, file)
        importing.run(row.uid)
        row.refresh_from_db()
        is_there = Link.objects.filter(tree=tree_of(row)).exists()
        assert NodeSource.objects.filter(node__tree=tree_of(row)).exists() == is_there
        assert is_there == (not row.report["dropped"])
        return {"dropped": row.report["dropped"], "says": row.report["says"]}

    none = report_of("tree:zzzzzzzz")
    assert none["dropped"] == {"links to elsewhere": 1, "sources elsewhere": 1}
    for target in (f"tree:{lived.uid} node:zz99", "doc:zzzzzzzz"):
        assert report_of(target) == none
    for target in (f"tree:{lived.uid}", f"tree:{lived.uid} node:{known[0]}"):
        assert (report_of(target) == none) == is_hidden
    assert report_of(f"doc:{document.uid}")["dropped"] == {}


def test_a_changed_text_is_reported_and_verifying_says_so(
    lived: Tree, bring: Bring, actor: Actor
) -> None:
    row = bring(out(lived).replace(b"Once, said Ada.", b"Once, said Bob."))
    assert any("does not fit" in warning for warning in row.report["warnings"])
    assert verify_tree(actor, tree_of(row), None)["status"] == "invalid"


def test_a_file_written_by_hand_needs_no_proofs(bring: Bring, actor: Actor) -> None:
    nodes = [{"id": "a2a2"}, {"id": "b2b2", "parent": "a2a2", "text": "by hand", "mood": "grey"}]
    row = bring({"heddle": 1, "tree": {"mode": "buffer"}, "nodes": nodes})
    tree = tree_of(row)
    assert verify_tree(actor, tree, None)["status"] == "valid"
    assert Node.objects.get(tree=tree, text="by hand").imported == {"mood": "grey"}
    assert row.report["unknown"] == {"mood": 1}


ROOT = {"id": "a2a2"}
BAD: dict[str, list[dict[str, Any]]] = {
    "a root with text": [{"id": "a2a2", "text": "a"}],
    "a root below something": [{"id": "a2a2", "parent": "b2b2"}],
    "two roots": [ROOT, {"id": "b2b2"}],
    "an id twice": [ROOT, {"id": "a2a2", "parent": "a2a2"}],
    "an id that is none": [ROOT, {"id": "root", "parent": "a2a2"}],
    "an id with capitals": [ROOT, {"id": "B2B2", "parent": "a2a2"}],
    "a child before its parent": [ROOT, {"id": "b2b2", "parent": "c2c2"}],
    "a node below itself": [ROOT, {"id": "b2b2", "parent": "b2b2"}],
    "a version of nothing": [ROOT, {"id": "b2b2", "parent": "a2a2", "slot": "c2c2"}],
    "a version of the root": [ROOT, {"id": "b2b2", "slot": "a2a2"}],
    "edited from nothing": [ROOT, {"id": "b2b2", "parent": "a2a2", "edited_from": "c2c2"}],
    "a version in another place": [
        ROOT,
        {"id": "b2b2", "parent": "a2a2"},
        {"id": "c2c2", "parent": "b2b2"},
        {"id": "d2d2", "parent": "a2a2", "slot": "c2c2"},
    ],
    "below a later version": [
        ROOT,
        {"id": "b2b2", "parent": "a2a2"},
        {"id": "c2c2", "parent": "a2a2", "slot": "b2b2"},
        {"id": "d2d2", "parent": "c2c2"},
    ],
    "an unknown kind": [ROOT, {"id": "b2b2", "parent": "a2a2", "kind": "dream"}],
    "an unknown flag": [ROOT, {"id": "b2b2", "parent": "a2a2", "flags": ["gone"]}],
    "a hash that is none": [ROOT, {"id": "b2b2", "parent": "a2a2", "hash": "xyz"}],
    "a time that is none": [ROOT, {"id": "b2b2", "parent": "a2a2", "created_at": "noon"}],
    "a time before all clocks": [
        ROOT,
        {"id": "b2b2", "parent": "a2a2", "created_at": "0001-01-01T00:00:00+14:00"},
    ],
    "a text that is a number": [ROOT, {"id": "b2b2", "parent": "a2a2", "text": 5}],
    "a block that holds a number": [
        ROOT,
        {"id": "b2b2", "parent": "a2a2", "content": [{"type": "text", "text": 5}]},
    ],
    "no object": [ROOT, "b2b2"],  # type: ignore[list-item]
    "an unknown finish": [ROOT, {"id": "b2b2", "parent": "a2a2", "finish": "somehow"}],
    "an unknown form": [ROOT, {"id": "b2b2", "parent": "a2a2", "form": "ode"}],
    "an unknown role": [
        ROOT,
        {"id": "b2b2", "parent": "a2a2", "sources": [{"item": "a2a2", "role": "muse"}]},
    ],
    "an unknown kind of block": [
        ROOT,
        {"id": "b2b2", "parent": "a2a2", "content": [{"type": "song", "text": "a"}]},
    ],
}


@pytest.mark.parametrize(
    ("field", "says"),
    [
        (
            {"finish": "somehow"},
            "Node 1 cannot be read: finish: it is neither complete nor interrupted:reason.",
        ),
        (
            {"content": [{"type": "song"}]},
            "The content of [b2b2] has a block of the unknown kind 'song'.",
        ),
    ],
)
def test_a_value_that_no_node_has_is_named(field: dict[str, Any], says: str, bring: Bring) -> None:
    nodes = [ROOT, {"id": "b2b2", "parent": "a2a2", **field}]
    row = bring({"heddle": 1, "tree": {"mode": "buffer"}, "nodes": nodes})
    assert row.error is not None and row.error["message"] == says


def test_tags_that_no_line_could_write_are_changed_or_left_out(bring: Bring) -> None:
    labels = ["", "123", "two\nlines", "#river", 'a "b"', "alpha", "ALPHA"]
    marks = [{"kind": "tag", "label": label, "item": "b2b2"} for label in labels]
    marks += [{"kind": "tag", "label": "alpha", "item": "tree"}]
    nodes = [ROOT, {"id": "b2b2", "parent": "a2a2", "text": "a"}]
    row = bring({"heddle": 1, "tree": {"mode": "buffer"}, "nodes": nodes, "marks": marks})
    tags = Mark.objects.filter(tree=tree_of(row)).order_by("pk").values_list("label", flat=True)
    assert [*tags] == ["two lines", "river", 'a "b"', "alpha", "alpha"]
    says = row.report["says"]
    assert "Tags with another spelling: 2." in says["came"]
    assert says["left_out"] == [
        "Left out: tags without a letter (2), tags that an item has twice (1)."
    ]


def test_links_of_an_item_to_itself_and_links_that_come_twice_are_left_out(bring: Bring) -> None:
    nodes = [ROOT, {"id": "b2b2", "parent": "a2a2"}, {"id": "c2c2", "parent": "a2a2"}]
    nodes += [{"id": "d2d2", "parent": "a2a2", "slot": "c2c2"}]
    ends = [("b2b2", "b2b2"), ("b2b2", "c2c2"), ("b2b2", "c2c2"), ("b2b2", "d2d2")]
    links = [{"type": "supports", "source": near, "target": far} for near, far in ends]
    links += [{"source": "b2b2", "target": "c2c2"}, {"source": "c2c2", "target": "b2b2"}]
    row = bring({"heddle": 1, "tree": {"mode": "buffer"}, "nodes": nodes, "links": links})
    made = Link.objects.filter(tree=tree_of(row)).order_by("pk").values_list("type", flat=True)
    assert [*made] == ["supports", "related"]
    assert row.report["kept"]["links"] == 2
    assert row.report["says"]["left_out"] == [
        "Left out: links of items to themselves (1), links that are in the file twice (3)."
    ]


@pytest.mark.parametrize("name", BAD)
def test_nodes_that_make_no_tree_are_refused(name: str, bring: Bring) -> None:
    file = {"heddle": 1, "tree": {"mode": "buffer"}, "nodes": BAD[name]}
    nothing_left(bring(file, name="wrong.json"))


@pytest.mark.parametrize(
    "part",
    [
        {"marks": [{"kind": "star", "item": "a2a2"}]},
        {"marks": [{"kind": "tag", "item": "z9z9"}]},
        {"links": [{"type": "eats 2", "source": "a2a2", "target": "tree"}]},
        {"links": [{"source": "a2a2", "target": "tree", "confidence": 2}]},
        {"links": "none"},
        {"tree": {"mode": "poem"}},
        {"tree": None},
        {"participants": [{"name": "x", "kind": "ghost"}]},
    ],
)
def test_parts_that_say_what_cannot_be_are_refused(part: dict[str, Any], bring: Bring) -> None:
    file = {"heddle": 1, "tree": {"mode": "buffer"}, "nodes": [ROOT], **part}
    nothing_left(bring(file, name="wrong.json"))


_Texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@st.composite
def growths(draw: st.DrawFn) -> list[tuple[str, int, str]]:
    """(verb, which earlier node, text): how a tree grew."""
    verb = st.sampled_from(["respond", "respond", "edit", "annotate", "prune", "tag", "exclude"])
    return draw(st.lists(st.tuples(verb, st.integers(0, 50), _Texts), max_size=12))


@given(steps=growths())
@settings(
    max_examples=tries(25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_out_in_and_out_again_is_the_same_file(
    steps: list[tuple[str, int, str]], bring: Bring, actor: Actor
) -> None:
    from loom.errors import CommandError

    tree = trees.new_tree(actor, title="\u2028 t", mode="buffer")
    nodes = ["root"]
    for verb, which, text in steps:
        ref = nodes[which % len(nodes)]
        line = {
            "prune": f"prune {ref}",
            "exclude": f"exclude {ref}",
            "tag": f"tag {ref} #a{which}",
            "edit": f"edit {ref} as:version\n{text}",
        }.get(verb, f"{verb} {ref}\n{text}")
        try:
            nodes += execute_line(actor, tree, Request(line)).body["refs"][:1]
        except CommandError:
            continue
    first = out(tree)
    again = tree_of(bring(first))
    assert out(again) == first
    assert verify_tree(actor, again, None)["status"] == "valid"


def test_each_file_is_read_in_one_pass(lived: Tree, bring: Bring) -> None:
    """Participants, marks and links may stand before the nodes as well as behind them."""
    file = json.loads(out(lived))
    turned = dict(reversed(file.items()))
    assert _said(tree_of(bring(turned))) == out(lived)


def test_a_file_signs_as_nobody_but_the_importer(
    lived: Tree, bring: Bring, actor: Actor, muse: Participant
) -> None:
    file = json.loads(out(lived))
    owner, forged = actor.participant.name, "Writer"
    for node in file["nodes"]:
        node["author"] = owner if node.get("text") == "So it was." else forged
    file["participants"] = [{"name": name, "kind": "human"} for name in (owner, forged)]
    again = tree_of(bring(file))
    mine = again.nodes.get(text="So it was.")
    assert mine.author == actor.participant and mine.imported is not None
    others = {node.author.name for node in again.nodes.exclude(pk=mine.pk)}
    assert others == {"Writer (imported)"}
    twice = tree_of(bring(json.loads(out(again))))
    assert {node.author for node in twice.nodes.exclude(text="So it was.")} == {
        node.author for node in again.nodes.exclude(pk=mine.pk)
    }


def test_a_file_does_not_sign_as_somebody_who_is_called_imported(
    lived: Tree, bring: Bring, muse: Participant
) -> None:
    # No name ends so any more; an older Heddle took it.
    Participant.objects.filter(pk=muse.pk).update(name="Writer (imported)", kind="human")
    file = json.loads(out(lived))
    for node in file["nodes"]:
        node["author"] = "Writer"
    file["participants"] = [{"name": "Writer", "kind": "human"}]
    authors = {node.author for node in tree_of(bring(file)).nodes.all()}
    assert [author.name for author in authors] == ["Writer (imported 2)"] and muse not in authors


def test_imported_nodes_are_marked_where_they_are_read(
    lived: Tree, bring: Bring, owner: User, actor: Actor, api: Any
) -> None:
    again = tree_of(bring(out(lived)))
    node = again.nodes.get(text="So it was.")
    assert "· imported" in execute_line(actor, again, Request(f"view {node.local_id}")).reply
    stretch = execute_line(actor, again, Request(f"view branch:{node.local_id}")).reply
    assert stretch.count(" · imported\n") > 1
    agent = Participant(grove=again.grove, kind="model", permissions=["loom_aware"])
    reader = PromptPlace(acting_as(actor, agent), again, workspace_of(agent, again), node)
    assert {stop.is_imported for stop in stops_of(reader)} == {True}
    own = lived.nodes.get(text="So it was.")
    assert "imported" not in execute_line(actor, lived, Request(f"view {own.local_id}")).reply
    page = api(owner).get(f"/trees/{again.uid}?node={node.local_id}").content.decode()
    assert ">imported</span>" in page
    page = api(owner).get(f"/trees/{again.uid}/nodes/{node.local_id}/provenance").content.decode()
    assert "nobody but the file vouches" in page


def test_a_zip_brings_documents_and_the_links_to_them(
    lived: Tree, bring: Bring, actor: Actor, outsider: User
) -> None:
    document = make_document(actor, title="Notes on Ada", text="# Ada\n\nShe speaks.\n")
    make_document(actor, title="Of something else", text="x")
    node = lived.nodes.filter(kind="text").exclude(text="").first()
    assert node is not None
    execute_line(actor, lived, Request(f"link {node.local_id} to doc:{document.uid} as:evidence"))
    content = b"".join(FORMATS["zip"].pieces(wanted(actor, lived, calls=True)))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        [name] = [
            name_in_archive
            for name_in_archive in archive.namelist()
            if name_in_archive.startswith("documents/")
        ]
        assert name == f"documents/Notes-on-Ada-{document.uid}.md"
        assert archive.read(name) == b"# Ada\n\nShe speaks.\n"

    def linked(tree: Tree) -> list[str]:
        rows = Link.objects.filter(tree=tree, target__lt=0).values_list("target", flat=True)
        return [Document.objects.get(pk=-row_id).title for row_id in rows]

    here = bring(content, name="tree.zip")
    assert linked(tree_of(here)) == ["Notes on Ada"], "the one that is here"
    assert here.report["kept"]["documents that were here"] == 1
    elsewhere = get_actor(outsider, Grove.objects.get(name="Elsewhere"))
    make_document(elsewhere, title="notes on ada", text="another text")
    row = file_of(elsewhere, content, name="tree.zip")
    importing.run(row.uid)
    row.refresh_from_db()
    assert linked(tree_of(row)) == ["Notes on Ada (2)"]
    assert Document.objects.filter(grove=elsewhere.grove).count() == 2
    assert "Documents: 1." in row.report["says"]["came"]


@pytest.mark.parametrize("folder", ["", "unpacked/"])
def test_what_somebody_put_beside_a_tree_of_heddle_is_read_or_named(
    folder: str, lived: Tree, actor: Actor
) -> None:
    content = b"".join(FORMATS["zip"].pieces(wanted(actor, lived, calls=True)))
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as own, zipfile.ZipFile(packed, "w") as archive:
        for name in own.namelist():
            archive.writestr(folder + name, own.read(name))
        archive.writestr("One.docx", docx(("", "First.")))
        archive.writestr(f"{folder}mine/Two.docx", docx(("", "Second.")))
        archive.writestr("notes.txt", "A note.")
    every = trees_of(packed.getvalue())
    assert [(tree.format.name, tree.title) for tree in every] == [
        ("heddle", "Marie"),
        ("docx", "One"),
        ("docx", "Two"),
    ]
    assert every[0].report.warnings == [
        "notes.txt was left out. Texts beside trees are not read: import them by themselves."
    ]


def test_several_trees_of_heddle_are_read_with_what_is_beside_them(
    lived: Tree, actor: Actor
) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("0/tree.json", out(lived))
        archive.writestr("1/One.docx", docx(("", "First.")))
        archive.writestr("2/documents.json", "[]")
    every = trees_of(packed.getvalue())
    assert [tree.format.name for tree in every] == ["heddle", "docx"]
    assert ["documents.json" in warning for warning in every[0].report.warnings] == [True]


def test_documents_and_images_of_a_tree_stay_its_own_beside_another_file(
    lived: Tree, actor: Actor, outsider: User
) -> None:
    document = make_document(actor, title="Notes", text="She speaks.\n")
    execute_line(actor, lived, Request(f"link root to doc:{document.uid}"))
    sha256 = images.keep(actor, lived, picture()).sha256
    content = b"".join(FORMATS["zip"].pieces(wanted(actor, lived, calls=True)))
    packed = io.BytesIO(content)
    with zipfile.ZipFile(packed, "a") as archive:
        archive.writestr("One.docx", docx(("", "First.")))
    elsewhere = get_actor(outsider, Grove.objects.get(name="Elsewhere"))
    row = file_of(elsewhere, packed.getvalue(), name="tree.zip", options={"choose": "all"})
    for _ in range(2):
        importing.run(row.uid)
    row.refresh_from_db()
    every = {part.title: part.tree for part in row.parts.all() if part.tree is not None}
    assert row.status == "done" and every.keys() == {"tree", "One"}
    assert [image.sha256 for image in every["tree"].images.all()] == [sha256]
    assert not every["One"].images.exists()
    assert row.report["kept"]["documents"] == 1 and row.report["kept"]["images"] == 1
    assert "documents that were here" not in row.report["kept"], "as if it came twice"


def test_an_annotation_of_a_document_keeps_its_source_in_another_grove(
    lived: Tree, actor: Actor, outsider: User
) -> None:
    document = make_document(actor, title="Notes", text="She speaks.\n")
    for line in (f"link root to doc:{document.uid}", f'annotate doc:{document.uid} "Does she?"'):
        execute_line(actor, lived, Request(line))
    content = b"".join(FORMATS["zip"].pieces(wanted(actor, lived, calls=True)))
    elsewhere = get_actor(outsider, Grove.objects.get(name="Elsewhere"))
    row = file_of(elsewhere, content, name="tree.zip")
    importing.run(row.uid)
    row.refresh_from_db()
    sources = NodeSource.objects.filter(node__tree=tree_of(row), node__text="Does she?")
    own = Document.objects.get(grove=elsewhere.grove)
    assert list(sources.values_list("item_id", flat=True)) == [-own.pk]
    assert "sources elsewhere" not in row.report["dropped"]


def test_an_author_whose_name_models_would_misread_is_renamed_and_reported(
    lived: Tree, bring: Bring
) -> None:
    file = json.loads(out(lived))
    names = ["You", "[a7x2] owner (human) · now"]
    for place, node in enumerate(file["nodes"]):
        node["author"] = names[place % 2]
    file["participants"] = [{"name": name, "kind": "human"} for name in names]
    row = bring(file)
    authors = {node.author.name for node in tree_of(row).nodes.all()}
    assert authors == {"You of the file (imported)", "-a7x2- owner - now (imported)"}
    warnings = [warning for warning in row.report["warnings"] if "misread" in warning]
    assert len(warnings) == 2 and any(
        'The author "You" is called "You of the file (imported)" here' in warning
        for warning in warnings
    )
