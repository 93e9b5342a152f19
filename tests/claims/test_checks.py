"""Checks: declared, run by a line, on save and by judges, and shown to who may read the text."""

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.claims.commands.checks import change_check, declare_check, run_on_save
from loom.claims.models import Check, CheckResult
from loom.documents import actions as documents
from loom.engine import streams
from loom.engine.models import Event
from loom.errors import CommandError
from loom.language import ids
from loom.people.models import Grove, User
from loom.trees.models import Node, Tree, TreeRight
from tests.claims.conftest import Declare, refused
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def test_a_text_is_checked_and_what_failed_is_named(say: Say, write: Say, declare: Declare) -> None:
    a = write("a lamp in the tower")
    declare("contains", text="lamp")
    declare("absent", text="ghost")
    declare("min_words", n=3)
    declare("max_words", n=4)
    assert say(f"check {a}").reply == "✓ 3 passed · ✗ 1 failed: max_words 5 > 4"
    assert say(f'check {a} "CONTAINS"').reply == "✓ 1 passed"
    assert say(f"test {a}").body["canonical"] == f"→ check {a}"


def test_a_part_of_a_text_is_checked_and_its_result_is_not_kept(
    say: Say, write: Say, declare: Declare
) -> None:
    a = str(say("respond root\na lamp\nin the tower\n←").body["refs"][0])
    declare("max_words", n=2)
    assert say(f"check {a} lines:1").reply == "✓ 1 passed"
    assert not CheckResult.objects.exists()
    say(f"check {a}")
    assert CheckResult.objects.get().outcome == "failed"


def test_a_text_without_checks_or_an_unknown_name_is_refused(
    say: Say, write: Say, declare: Declare
) -> None:
    a = write("a")
    none = refused(say, f"check {a}")
    hint = "declare one under Checks, in the settings of the grove"
    assert (none.code, none.hint) == ("NOT_FOUND", hint)
    declare("json")
    assert refused(say, f'check {a} "short"').hint == 'there are "json"'


def test_a_result_is_kept_once_for_a_version_and_announced(
    say: Say, write: Say, declare: Declare, tree: Tree
) -> None:
    a = write("a lamp")
    check = declare("max_words", n=1)
    say(f"check {a}")
    say(f"check {a}")
    result = CheckResult.objects.get()
    assert (result.outcome, result.said, result.version) == ("failed", "2 > 1", "")
    event = Event.objects.filter(kind="check.changed", stream__name=f"tree:{tree.uid}").last()
    assert event is not None and event.payload["item"] == a
    assert event.payload["results"][0]["check"] == check.uid


def test_a_dry_run_keeps_nothing(say: Say, write: Say, declare: Declare) -> None:
    a = write("a lamp")
    declare("max_words", n=1)
    assert say(f"check {a}", dry_run=True).reply == "✓ 0 passed · ✗ 1 failed: max_words 2 > 1"
    assert not CheckResult.objects.exists()


def test_a_check_of_a_tree_or_document_applies_there_only(
    say: Say, write: Say, declare: Declare, tree: Tree, actor: Actor
) -> None:
    a = write("a lamp")
    say('write doc:"Notes" new "a lamp"')
    say('write doc:"Other" new "a lamp"')
    uid = say('view doc:"Notes"').body["refs"][0]
    declare("max_words", name="of tree", scope=f"tree:{tree.uid}", n=1)
    declare("min_words", name="of document", scope=uid, n=1)
    assert say(f"check {a}").reply == "✓ 0 passed · ✗ 1 failed: of tree 2 > 1"
    assert say('check doc:"Notes"').reply == "✓ 1 passed"
    assert refused(say, 'check doc:"Other"').code == "NOT_FOUND"


def test_the_result_of_a_document_is_that_of_its_revision(
    say: Say, declare: Declare, actor: Actor
) -> None:
    say('write doc:"Notes" new "a lamp"')
    declare("max_words", n=3)
    assert say('check doc:"Notes"').reply == "✓ 1 passed"
    say('write doc:"Notes" append "in the old tower"')
    assert say('check doc:"Notes"').reply == "✓ 0 passed · ✗ 1 failed: max_words 6 > 3"
    assert list(CheckResult.objects.values_list("version", "outcome")) == [
        ("1", "passed"),
        ("2", "failed"),
    ]


def test_checks_on_save_run_for_a_new_text_and_a_new_revision(
    say: Say, write: Say, declare: Declare, actor: Actor, grove: Grove
) -> None:
    declare("max_words", n=1, on_save=True)
    declare("min_words", n=1)
    grove.refresh_from_db()
    assert grove.checks_on_save
    a = write("a lamp")
    node = Node.objects.get(local_id=a)
    run_on_save(ids.of_node(node.pk))
    run_on_save(ids.of_node(node.pk))
    assert CheckResult.objects.get().outcome == "failed"
    document = documents.make_document(actor, title="Notes", text="a lamp")
    run_on_save(ids.of_document(document.pk))
    assert CheckResult.objects.filter(item=ids.of_document(document.pk)).count() == 1


def test_only_a_grove_with_checks_on_save_queues_them(
    say: Say,
    write: Say,
    declare: Declare,
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queued: list[str] = []
    monkeypatch.setattr(
        "loom.engine.jobs.enqueue", lambda task, args, *, queue: queued.append(task)
    )
    check = declare("max_words", n=1)
    tree.grove.refresh_from_db()
    write("a")
    document = documents.make_document(actor, title="Notes", text="a lamp")
    assert "loom.tasks.run_checks" not in queued
    change_check(actor, check, on_save=True)
    tree.grove.refresh_from_db()
    write("b")
    assert queued.count("loom.tasks.run_checks") == 1
    documents.write_document(actor, document, append="It burns.")
    assert queued.count("loom.tasks.run_checks") == 2


def test_changed_parameters_drop_the_results_and_archiving_ends_a_check(
    say: Say, write: Say, declare: Declare, actor: Actor
) -> None:
    a = write("a lamp")
    check = declare("max_words", n=1)
    say(f"check {a}")
    change_check(actor, check, parameters={"n": 5})
    assert not CheckResult.objects.exists()
    assert say(f"check {a}").reply == "✓ 1 passed"
    change_check(actor, check, archived=True)
    assert refused(say, f"check {a}").code == "NOT_FOUND"
    declare("max_words", n=2)  # its name is free again


def test_a_reader_runs_checks_and_declares_none(
    say: Say, write: Say, declare: Declare, reader: User, grove: Grove
) -> None:
    from loom.access import get_actor

    a = write("a")
    declare("max_words", n=2)
    assert say(f"check {a}", by=reader).reply == "✓ 1 passed"
    with pytest.raises(CommandError) as caught:
        declare_check(get_actor(reader, grove), name="x", kind="json")
    assert caught.value.code == "PERMISSION_DENIED"


def test_a_check_of_a_tree_is_for_who_may_write_there(
    declare: Declare, writer: User, owner: User, grove: Grove, tree: Tree
) -> None:
    actor, scope = get_actor(writer, grove), f"tree:{tree.uid}"
    TreeRight.objects.create(tree=tree, user=writer, right="read")
    row = declare("json", scope=scope)
    with pytest.raises(CommandError) as caught:
        declare_check(actor, name="mine", kind="json", scope=scope)
    assert caught.value.code == "PERMISSION_DENIED"
    with pytest.raises(CommandError) as caught:
        change_check(actor, row, archived=True)
    assert caught.value.code == "PERMISSION_DENIED"
    TreeRight.objects.filter(user=writer).update(right="write")
    assert change_check(actor, row, archived=True).archived_at is not None


def test_the_log_of_the_grove_says_no_more_of_a_check_of_a_hidden_tree(
    declare: Declare, writer: User, grove: Grove, tree: Tree
) -> None:
    declare("absent", name="no kestrel", scope=f"tree:{tree.uid}", text="kestrel")
    TreeRight.objects.create(tree=tree, user=writer, right="hidden")
    declare("json")
    client = APIClient()
    client.force_login(writer)
    log = client.get(f"/api/groves/{grove.uid}/events").json()["events"]
    checks = [row["payload"]["check"] for row in log if row["kind"] == "check.changed"]
    assert [body.get("name") for body in checks] == [None, "json"]
    assert "kestrel" not in str(log) and tree.uid not in str(checks)


def test_names_are_unique_and_scopes_are_of_the_grove(
    declare: Declare, two_groves: TwoGroves
) -> None:
    declare("json", name="Short")
    for fields, code in (
        ({"name": "short"}, "CONFLICT"),
        ({"name": ""}, "CONFLICT"),  # named as its kind: see below
        ({"name": "x" * 41}, "INVALID_SYNTAX"),
        ({"name": "a", "scope": f"tree:{two_groves.right.tree.uid}"}, "NOT_FOUND"),
        ({"name": "a", "scope": "doc:none"}, "NOT_FOUND"),
        ({"name": "a", "scope": "all"}, "INVALID_SYNTAX"),
        ({"name": "a", "agent": "none"}, "INVALID_SYNTAX"),
    ):
        if not fields["name"]:
            declare("json")
        with pytest.raises(CommandError) as caught:
            declare("json", **fields)
        assert caught.value.code == code, fields


def test_a_check_of_another_grove_is_not_found(two_groves: TwoGroves) -> None:
    world = two_groves
    far = declare_check(
        world.right.actor(world.both), name="far", kind="json", scope=f"tree:{world.right.tree.uid}"
    )
    for user, status in ((world.both, 200), (world.only_left, 404), (world.nobody, 404)):
        client = world.client(user)
        assert client.get(f"/api/checks/{far.uid}").status_code == status
        assert client.delete(f"/api/checks/{far.uid}").status_code == status
    assert refused_in(world.left, world.both) == "NOT_FOUND"


def refused_in(side: object, user: User) -> str:
    """The code with which `check here` is refused."""
    with pytest.raises(CommandError) as caught:
        side.run(user, "check here")  # type: ignore[attr-defined]
    return caught.value.code


def test_checks_by_api(owner: User, grove: Grove, say: Say, write: Say) -> None:
    client = APIClient()
    client.force_login(owner)
    sent = {"name": "short", "kind": "max_words", "parameters": {"n": 2}, "grove": grove.uid}
    declared = client.post("/api/checks", sent, format="json").json()
    assert (declared["scope"], declared["on_save"], declared["agent"]) == ("grove", False, None)
    changed = client.patch(f"/api/checks/{declared['id']}", {"on_save": True}, format="json").json()
    assert changed["on_save"] is True
    assert client.get(f"/api/checks?grove={grove.uid}").json()["count"] == 1
    assert client.delete(f"/api/checks/{declared['id']}").json()["archived"] is True
    assert client.get(f"/api/checks?grove={grove.uid}").json()["count"] == 0
    assert Check.objects.get().archived_at is not None
    bad = client.post("/api/checks", {**sent, "parameters": {"n": 0}}, format="json")
    assert (bad.status_code, bad.json()["code"]) == (400, "INVALID_SYNTAX")


def test_the_results_of_nodes_are_read_by_their_ids(
    say: Say, write: Say, declare: Declare, owner: User, outsider: User, tree: Tree
) -> None:
    declare("max_words", name="short", n=2)
    a, b, c = str(write("one two three")), str(write("one")), str(write("two"))
    for node in (a, b):
        say(f"check {node}")
    client = APIClient()
    client.force_login(owner)
    address = f"/api/checks/results?tree={tree.uid}&items="
    results = client.get(f"{address}{a},{b},{c},zzzz").json()["results"]
    assert [(result["item"], result["name"], result["outcome"]) for result in results] == [
        (a, "short", "failed"),
        (b, "short", "passed"),
    ]
    many = client.get(f"{address}{','.join([a] * 201)}")
    assert (many.status_code, many.json()["code"]) == (429, "LIMIT_EXCEEDED")
    assert client.get(address).json() == {"count": 0, "results": [], "seq": 0}
    document = documents.make_document(get_actor(owner, tree.grove), title="Notes", text="a b c")
    say('check doc:"Notes"')
    of_document = f"/api/checks/results?document={document.uid}"
    body = client.get(of_document).json()
    assert [
        (result["item"], result["outcome"], result["version"]) for result in body["results"]
    ] == [(f"doc:{document.uid}", "failed", "1")]
    assert body["seq"] == streams.head(streams.name_of(tree.grove)) > 0
    say('write doc:"Notes" append "d"')
    assert client.get(of_document).json()["results"] == []
    client.force_login(outsider)
    assert client.get(of_document).status_code == 404


def test_the_results_of_another_grove_are_not_read(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    declare_check(right.actor(two_groves.both), name="short", kind="max_words", parameters={"n": 1})
    right.run(two_groves.both, f"check {right.text.local_id}")
    for user, status in ((two_groves.only_left, 404), (two_groves.both, 200)):
        address = f"/api/checks/results?tree={right.tree.uid}&items={right.text.local_id}"
        assert two_groves.client(user).get(address).status_code == status
    # The ids of nodes are looked for in the tree that is named.
    address = f"/api/checks/results?tree={left.tree.uid}&items={right.text.local_id}"
    assert two_groves.client(two_groves.only_left).get(address).json()["count"] == 0
