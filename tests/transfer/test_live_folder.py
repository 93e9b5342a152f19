"""A file in step with a tree: what is saved becomes versions, and nothing is lost on any side."""

import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError as Failed
from django.core.management import call_command
from django.db import OperationalError

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.management.commands import export
from loom.people.models import Participant, User
from loom.transfer import live_folder
from loom.transfer.live_folder import LiveFile
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from loom.trees.queries.trees import head_of
from tests.transfer.planting import paths, plant

pytestmark = pytest.mark.django_db
Live = Callable[..., LiveFile]


@pytest.fixture
def live(actor: Actor, tmp_path: Path) -> Live:
    """A file in step with a tree, once written. What it says is in `said`."""

    def live_file(tree: Tree, kind: str = "markdown", by: Actor = actor) -> LiveFile:
        file = LiveFile(tmp_path, by, tree, kind, reported.append)
        file.step()
        return file

    reported.clear()
    return live_file


reported: list[str] = []


def saved(file: LiveFile, old: str, new: str) -> None:
    """Somebody replaces a passage in the file."""
    text = file.path.read_text()
    assert old in text
    file.path.write_text(text.replace(old, new))


def grown(actor: Actor, muse: Participant, mode: str = "buffer") -> tuple[Tree, list[Node]]:
    tree, nodes = plant(
        actor, muse, [(-1, False, "It was"), (0, True, " day"), (0, True, " dusk")], mode=mode
    )
    execute_line(actor, tree, Request(f"switch to {nodes[1].local_id}"))
    return tree, nodes


def test_the_file_holds_the_path_and_is_written_only_when_it_differs(
    live: Live, actor: Actor, muse: Participant
) -> None:
    tree, nodes = grown(actor, muse)
    file = live(tree)
    ids = [node.local_id for node in nodes]
    assert file.path.read_text() == f"<!--{ids[0]}-->It was<!--{ids[1]}--> day"
    assert not file.step()
    execute_line(actor, tree, Request(f"switch to {ids[2]}"))
    assert file.step() and file.path.read_text().endswith(" dusk")


@pytest.mark.parametrize("mode", ["buffer", "dialogue"])
def test_an_edit_becomes_a_version_and_an_addition_a_text(
    mode: str, live: Live, actor: Actor, muse: Participant
) -> None:
    tree, nodes = grown(actor, muse, mode)
    file = live(tree)
    saved(file, "It was", "It is")
    saved(file, " day", " day\n\nand then night.\n")
    assert file.step()
    version = tree.nodes.get(text="It is")
    assert version.slot_id == nodes[0].slot_id and version.author == actor.participant
    new = tree.nodes.exclude(pk__in=[node.pk for node in nodes]).order_by("id").last()
    assert new is not None and new.parent_slot_id == nodes[1].slot_id
    assert "and then night." in new.text
    count = tree.nodes.count()
    assert not file.step() and tree.nodes.count() == count
    assert f"<!--{version.local_id}-->It is" in file.path.read_text()


def test_two_edits_of_one_text_are_two_versions(
    live: Live, actor: Actor, muse: Participant, writer: User
) -> None:
    tree, nodes = grown(actor, muse)
    file = live(tree)
    other = get_actor(writer, tree.grove)
    execute_line(other, tree, Request(f'edit {nodes[0].local_id} "It will be" as:version'))
    saved(file, "It was", "It is")
    file.step()
    slot = tree.nodes.filter(slot=nodes[0].slot_id).order_by("id")
    assert list(slot.values_list("text", flat=True)) == ["It was", "It will be", "It is"]
    assert "It is" in file.path.read_text()


def test_a_text_that_was_taken_out_of_the_file_stays_in_the_tree(
    live: Live, actor: Actor, muse: Participant
) -> None:
    tree, nodes = grown(actor, muse)
    file = live(tree)
    saved(file, f"<!--{nodes[1].local_id}--> day", "")
    file.step()
    assert tree.nodes.count() == 4 and " day" in file.path.read_text()


def test_what_is_refused_stays_in_the_file(
    live: Live, actor: Actor, muse: Participant, reader: User
) -> None:
    tree, nodes = grown(actor, muse)
    file = live(tree, by=get_actor(reader, tree.grove))
    execute_line(file.actor, tree, Request(f"switch to {nodes[1].local_id}"))
    file.step()
    saved(file, "It was", "It is")
    assert not file.step() and "It is" in file.path.read_text()
    assert "only read" in reported[-1] or "needs" in reported[-1]
    saved(file, "It is", "It was")
    file.step()
    assert tree.nodes.count() == 4


def test_a_file_that_others_wrote_is_not_replaced(
    actor: Actor, muse: Participant, tmp_path: Path
) -> None:
    tree, _ = grown(actor, muse)
    file = LiveFile(tmp_path, actor, tree, "markdown", reported.append)
    file.path.write_text("My notes.")
    with pytest.raises(CommandError):
        file.step()
    assert file.path.read_text() == "My notes."


def test_an_empty_tree_begins_in_the_file(live: Live, actor: Actor, tree: Tree) -> None:
    file = live(tree)
    file.path.write_text("Once upon a time.")
    assert file.step()
    node = tree.nodes.get(text="Once upon a time.")
    assert file.path.read_text() == f"<!--{node.local_id}-->Once upon a time."


def test_a_save_in_the_last_moment_is_not_overwritten(
    live: Live, actor: Actor, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, nodes = grown(actor, muse)
    file = live(tree)
    execute_line(actor, tree, Request(f"switch to {nodes[2].local_id}"))
    content = file._content()

    def late() -> bytes:
        saved(file, "It was", "It is")
        return content

    monkeypatch.setattr(file, "_content", late)
    assert not file.step() and "It is" in file.path.read_text()
    monkeypatch.undo()
    assert file.step() and tree.nodes.filter(text="It is").exists()


def test_a_save_while_the_file_is_replaced_is_put_back(
    live: Live, actor: Actor, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, nodes = grown(actor, muse)
    file = live(tree)
    execute_line(actor, tree, Request(f"switch to {nodes[2].local_id}"))
    replace = Path.replace

    def late(self: Path, target: Path) -> Path:
        if target == file.path:
            monkeypatch.undo()
            saved(file, "It was", "It is")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", late)
    assert not file.step() and "It is" in file.path.read_text()
    assert file.step() and tree.nodes.filter(text="It is").exists()
    hidden = [path.name for path in file.path.parent.iterdir() if path.name.startswith(".")]
    assert hidden == [f".heddle-{tree.uid}-markdown"]


def test_a_file_that_others_make_at_this_moment_is_not_replaced(
    actor: Actor, muse: Participant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, _ = grown(actor, muse)
    file = LiveFile(tmp_path, actor, tree, "markdown", reported.append)
    content = file._content()

    def late() -> bytes:
        file.path.write_text("My notes.")
        return content

    monkeypatch.setattr(file, "_content", late)
    assert not file.step() and file.path.read_text() == "My notes."


def test_editors_save_by_renaming_and_by_writing_again(
    live: Live, actor: Actor, muse: Participant
) -> None:
    tree, _ = grown(actor, muse)
    file = live(tree)
    aside = file.path.with_name("aside~")
    aside.write_bytes(b"\xef\xbb\xbf" + file.path.read_bytes().replace(b"It was", b"It is"))
    aside.replace(file.path)
    assert file.step() and tree.nodes.filter(text="It is").exists()
    file.path.unlink()
    assert file.step() and "It is" in file.path.read_text(), "a file that is gone is written again"
    assert tree.nodes.count() == 5


def test_a_file_that_is_being_saved_is_left_alone(
    actor: Actor, muse: Participant, tmp_path: Path
) -> None:
    tree, _ = grown(actor, muse)
    file = LiveFile(tmp_path, actor, tree, "markdown", reported.append, settle=3600)
    assert file.step()
    whole = file.path.read_text()
    file.path.write_text(whole.replace("It was", "It i")[:-3])
    assert file.is_settling() and not file.step() and tree.nodes.count() == 4
    file.path.write_text(whole.replace("It was", "It is"))
    os.utime(file.path, (0, 0))
    assert not file.is_settling() and file.step()
    assert sorted(tree.nodes.values_list("text", flat=True)) == [
        "",
        " day",
        " dusk",
        "It is",
        "It was",
    ]


def test_what_was_changed_on_both_sides_while_nobody_watched_is_kept(
    live: Live, actor: Actor, muse: Participant, writer: User
) -> None:
    tree, nodes = grown(actor, muse)
    file = live(tree)
    saved(file, "It was", "It is")
    other = get_actor(writer, tree.grove)
    execute_line(other, tree, Request(f'edit {nodes[0].local_id} "It will be" as:version'))
    trees.change_tree(actor, tree, {"title": "Another title"})
    tree.refresh_from_db()
    again = live(tree)
    assert again.path == file.path, "a new title is no new file"
    slot = tree.nodes.filter(slot=nodes[0].slot_id).order_by("id")
    assert list(slot.values_list("text", flat=True)) == ["It was", "It will be", "It is"]


def test_a_long_file_is_read_with_few_queries(
    live: Live, actor: Actor, muse: Participant, django_assert_max_num_queries: Any
) -> None:
    texts = [(place - 1, False, f"{place} ") for place in range(400)]
    tree, nodes = plant(actor, muse, texts)
    execute_line(actor, tree, Request(f"switch to {nodes[-1].local_id}"))
    for kind in ("markdown", "loomsidian"):
        file = live(tree, kind)
        saved(file, "200 ", f"200 changed for {kind} ")
        with django_assert_max_num_queries(120):
            assert file.step()
    assert tree.nodes.count() == 403


# Loomsidian: every branch, and new notes.


def test_notes_of_loomsidian_become_texts(live: Live, actor: Actor, muse: Participant) -> None:
    tree, _ = grown(actor, muse)
    file = live(tree, "loomsidian")
    notes = json.loads(file.path.read_text())
    names = {note["text"]: name for name, note in notes["nodes"].items()}
    notes["nodes"][names[" dusk"]]["text"] = " dawn"
    notes["nodes"]["new-1"] = {"text": " and", "parentId": names[" day"]}
    notes["nodes"]["new-2"] = {"text": " night", "parentId": "new-1"}
    del notes["nodes"][names[" day"]]["collapsed"]
    file.path.write_text(json.dumps(notes))
    assert file.step()
    assert ("It was", " day", " and", " night") in paths(tree)
    assert ("It was", " dawn") in paths(tree) and tree.nodes.filter(text=" dusk").exists()
    count = tree.nodes.count()
    assert not file.step() and tree.nodes.count() == count


@pytest.mark.parametrize("half", ['{"nodes": {"a', "[]", '{"nodes": {"a": 1}}', "\udcff"])
def test_a_file_that_is_half_saved_is_left_alone(
    half: str, live: Live, actor: Actor, muse: Participant
) -> None:
    tree, _ = grown(actor, muse)
    file = live(tree, "loomsidian")
    raw = half.encode("utf-8", "surrogateescape")
    file.path.write_bytes(raw)
    assert not file.step() and file.path.read_bytes() == raw
    assert tree.nodes.count() == 4


# The commands.


def test_the_commands_write_files(
    actor: Actor, muse: Participant, tmp_path: Path, owner: User, outsider: User
) -> None:
    tree, _ = grown(actor, muse)
    told = io.StringIO()
    named = {"tree": tree.uid, "by": "owner", "stdout": told}
    call_command("watch", str(tmp_path), once=True, **named)
    [file] = tmp_path.glob("*.md")
    file.write_text(file.read_text().replace("It was", "It is"))
    call_command("watch", str(tmp_path), once=True, **named)
    assert tree.nodes.filter(text="It is").exists()
    out = tmp_path / "tree.html"
    call_command("export", str(out), format="html", **named)
    assert "It is" in out.read_text() and "wrote" in told.getvalue()
    with pytest.raises(Failed):
        call_command("export", str(out), tree=tree.uid, by="outsider")
    with pytest.raises(Failed):
        call_command("watch", str(tmp_path / "none"), once=True, **named)
    trees.change_tree(actor, tree, {"archived": True})
    file.write_text(file.read_text().replace("It is", "It was not"))
    call_command("watch", str(tmp_path), once=True, **named)
    assert "It was not" in file.read_text(), "what the tree refuses stays in the file"


@pytest.mark.parametrize("command", ["watch", "export"])
def test_the_commands_go_on_when_the_database_does_not_answer(
    command: str, actor: Actor, muse: Participant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, _ = grown(actor, muse)
    asked = [OperationalError("locked"), None, KeyboardInterrupt()]

    def look(given: Tree) -> int:
        if (error := asked.pop(0)) is not None:
            raise error
        return head_of(given)

    monkeypatch.setattr({"watch": live_folder, "export": export}[command], "head_of", look)
    monkeypatch.setattr("time.sleep", lambda _: None)
    # The connection is that of the test.
    name = f"loom.management.commands.{command}.close_old_connections"
    monkeypatch.setattr(name, lambda: None)
    told = io.StringIO()
    place = tmp_path if command == "watch" else tmp_path / "tree.json"
    named = {"tree": tree.uid, "by": "owner", "every": 1, "stderr": told, "stdout": io.StringIO()}
    call_command(command, str(place), **named)
    assert told.getvalue().count("does not answer") == 1 and not asked
    assert [path for path in tmp_path.iterdir() if "It was" in path.read_text()]
