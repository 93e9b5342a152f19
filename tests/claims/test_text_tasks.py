"""Tokens in texts: each kind recognised, the machine of tasks, one protocol, live for everybody."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from loom.access import Actor, acting_as
from loom.claims.models import Cite, Claim, TokenState
from loom.claims.rules.inline_tokens import MACHINES, optimised, tokens_in
from loom.documents.models import Document
from loom.documents.queries import newest
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.people.models import Participant, User
from loom.trees.models import Tree
from tests.claims.conftest import Declare, refused
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db

TEXT = """See [a7x2] and doc:"Bible".

- [ ] light the lamp (check: lit)
    - [x] find oil
    - [ ] find a match
- [ ] wake the keeper
@[supports -> a7x2]
![[a7x2]] is an embed, [link](x) a link
"""


def test_each_kind_is_recognised_in_a_text() -> None:
    tokens = [(token.key, token.kind, token.state) for token in tokens_in(TEXT)]
    assert tokens == [
        ("1", "reference", "idle"),
        ("2", "reference", "idle"),
        ("3", "task", "unchecked"),
        ("4", "task", "checked"),
        ("5", "task", "unchecked"),
        ("6", "task", "unchecked"),
        ("7", "portal", "collapsed"),
    ]
    assert [token.check for token in tokens_in(TEXT) if token.kind == "task"] == ["lit", "", "", ""]


def test_keys_of_a_document_stay_while_the_words_stay() -> None:
    before = {token.words: token.key for token in tokens_in(TEXT, stable=True)}
    after = {token.words: token.key for token in tokens_in(f"- [ ] first\n{TEXT}", stable=True)}
    assert before.items() <= after.items()
    assert len(set(before.values())) == len(before)


@pytest.mark.parametrize(
    "text", ["- [ ] " * 50_000, "[" * 200_000, "@[a -> " * 50_000, " " * 200_000]
)
def test_no_text_is_slow(text: str) -> None:
    tokens_in(text)


def test_the_machine_of_tasks_is_the_table_of_the_model() -> None:
    task = MACHINES["task"]
    assert (task.initial, task.states) == ("unchecked", ("unchecked", "checked", "archived"))
    table = task.transitions
    assert table[("unchecked", "toggle")] == "checked"
    assert table[("checked", "toggle")] == "unchecked"
    assert table[("checked", "archive")] == "archived"
    assert ("archived", "toggle") not in table and ("archived", "uncheck") not in table


def test_a_portal_loads_before_it_is_open_and_is_tried_again_after_an_error() -> None:
    portal = MACHINES["portal"]
    assert set(portal.states) == {"collapsed", "loading", "expanded", "error"}
    assert {state: portal.inputs(state) for state in portal.states} == {
        "collapsed": ["expand"],
        "loading": ["collapse"],
        "expanded": ["collapse"],
        "error": ["expand"],
    }
    assert optimised("portal", "collapsed", ["expand", "collapse"])[0] == []


@pytest.fixture
def tasks(say: Say) -> str:
    """A text with two tasks, the first of which has a part."""
    return str(say("respond root\n- [ ] light\n    - [ ] find oil\n- [ ] wake\n←").body["refs"][0])


def test_a_task_of_a_node_is_checked_for_everybody(say: Say, tasks: str, tree: Tree) -> None:
    assert say(f"todo check {tasks} token:2").reply == f"✓ checked 2 of [{tasks}]"
    event = Event.objects.filter(kind="token.changed").latest("id")
    assert event.payload["state"] == "checked" and event.payload["item"] == tasks
    assert say(f"todo toggle {tasks} token:2").reply == f"✓ unchecked 2 of [{tasks}]"
    assert refused(say, f"todo uncheck {tasks} token:2").code == "REJECTED"
    say(f'todo note {tasks} token:2 "in the cellar"')
    assert TokenState.objects.get().data == {"notes": ["in the cellar"]}
    assert refused(say, f"todo check {tasks} token:9").hint == "its tasks: 1, 2, 3"


def test_a_task_is_checked_through_a_window(say: Say, tasks: str) -> None:
    (number,) = opened(say, tasks)
    assert say(f"todo check #{number} token:3").reply == f"✓ checked 3 of [{tasks}]"
    say('write doc:"Plan" new "- [ ] one"')
    (number,) = opened(say, 'doc:"Plan"')
    key = tokens_in("- [ ] one", stable=True)[0].key
    assert say(f"todo check #{number} token:{key}").reply == f'✓ checked {key} of doc:"Plan"'


def opened(say: Say, ref: str) -> list[str]:
    """The number of a new window."""
    return re.findall(r"opened #(\d+)", say(f"open {ref}").reply)


def test_view_says_which_tasks_were_decided(say: Say, tasks: str, write: Say) -> None:
    plain = write("the lamp")
    before = {ref: say(f"view {ref} full").reply for ref in (tasks, plain)}
    say(f"todo check {tasks} token:3")
    say(f'todo archive {tasks} token:3 "at dawn"')
    say(f'todo note {tasks} token:3 "in the\\n✓ cellar"')
    say(f'todo note {tasks} token:2 "so"')
    with CaptureQueriesContext(connection) as queries:
        shown = say(f"view {tasks} full").reply
    line = 'tasks: token:2 unchecked "so", token:3 archived "in the ✓ cellar" (of 2 notes)'
    assert line in shown.split("\n")
    assert shown.replace(f"{line}\n", "") == before[tasks]
    say(f"todo check {tasks} token:2")
    say(f"todo uncheck {tasks} token:2")
    assert sum("claims_tokenstate" in query["sql"] for query in queries) == 1
    with CaptureQueriesContext(connection) as queries:
        assert say(f"view {plain} full").reply == before[plain]
    assert not any("claims_tokenstate" in query["sql"] for query in queries)


def test_view_says_no_tasks_of_a_text_that_a_model_is_not_shown(
    say: Say, tasks: str, actor: Actor, tree: Tree
) -> None:
    model = Participant.objects.create(
        grove=tree.grove, kind="model", name="Muse", permissions=["loom_aware"]
    )
    view = Request(f"view {tasks} full")
    say(f'todo note {tasks} token:3 "at dawn"')
    assert "at dawn" in execute_line(acting_as(actor, model), tree, view).reply
    say(f"exclude {tasks}")
    assert "at dawn" not in execute_line(acting_as(actor, model), tree, view).reply


def test_an_archived_task_refuses_the_rest(say: Say, tasks: str) -> None:
    for act in ("check", "archive"):
        say(f"todo {act} {tasks} token:3")
    why = refused(say, f"todo toggle {tasks} token:3")
    assert (why.code, why.message) == ("REJECTED", "Cannot modify archived task.")
    assert say(f'todo note {tasks} token:3 "done"').reply == (
        f"✓ noted on 3 of [{tasks}] (archived)"
    )


def test_a_task_waits_for_its_parts_and_its_check(say: Say, tasks: str, declare: Declare) -> None:
    why = refused(say, f"todo check {tasks} token:1")
    assert why.message == "1 of the tasks below it is not checked."
    say(f"todo check {tasks} token:2")
    say(f"todo check {tasks} token:1")
    declare("contains", name="lit", text="the lamp burns")
    other = str(say("respond root\n- [ ] light it (check: lit)\n←").body["refs"][0])
    assert refused(say, f"todo check {other} token:1").message.startswith("Its check fails")
    good = str(
        say("respond root\nthe lamp burns\n\n- [ ] light it (check: lit)\n←").body["refs"][0]
    )
    assert say(f"todo check {good} token:1").reply.endswith("✓ 1 passed")


def test_the_state_of_a_task_is_strong_evidence_for_the_state_only(
    say: Say, tasks: str, writer: User
) -> None:
    """Cited for the claim that it is checked, it is strong; for any other it is not, and
    no longer where somebody has taken the mark away."""
    stated = f'claim "Task “Wake” is checked." cite:{tasks} test:"look"'
    opened = say(stated, by=writer)
    claim = str(opened.body["refs"][0])
    assert "evidence: moderate, verified" in opened.reply
    say(f"todo check {tasks} token:3")
    assert "1 strong, 0 moderate" in say(f"check {claim}", by=writer).reply
    assert Cite.objects.get().reason == "task is checked"
    say(f"todo uncheck {tasks} token:3")
    assert "0 strong, 1 moderate" in say(f"check {claim}", by=writer).reply
    say(f"todo check {tasks} token:3")
    other = say(f'claim "They woke" cite:{tasks}', by=writer)
    assert "evidence: moderate, verified" in other.reply
    own = say(f'claim "the task wake is checked" cite:{tasks} again')
    assert "evidence: strong, task is checked" in own.reply


def test_the_state_of_a_task_of_a_document_is_strong_evidence(say: Say) -> None:
    say('write doc:"List" new\n- [x] light\n- [ ] wake\n←')
    done = say('claim "task light is checked" cite:doc:"List"').reply
    assert "evidence: strong, task is checked" in done
    left = say('claim "task wake is checked" cite:doc:"List"').reply
    assert "evidence: strong" not in left
    assert "strong" in say('claim "task wake is unchecked" cite:doc:"List"').reply


def test_an_input_of_a_task_compiles_to_a_delta(say: Say, tasks: str, tree: Tree) -> None:
    """Position, new state, notes, and what the state is evidence for."""
    client = APIClient()
    client.force_login(tree.grove.memberships.get(role="owner").user)
    address = f"/api/items/{tasks}/tokens/3?tree={tree.uid}"
    sent = {"input": "note", "text": "at dawn", "dry_run": True}
    would = client.post(address, sent, format="json").json()
    delta = would["delta"]
    assert (delta["first"], delta["last"]) == (would["token"]["first"], would["token"]["last"])
    assert (delta["state"], delta["notes"]) == ("unchecked", ["at dawn"])
    assert not TokenState.objects.exists()
    ran = client.post(address, {"input": "check"}, format="json").json()
    assert ran["delta"]["state"] == "checked"
    assert ran["delta"]["evidence"] == {"says": 'task "wake" is checked', "strength": "strong"}


def test_tasks_that_were_checked_are_on_the_page_of_claims(
    say: Say, tasks: str, tree: Tree, declare: Declare
) -> None:
    """The criteria are its check; a task that was decided is shown with it."""
    declare("contains", name="lit", text="the lamp burns")
    text = "the lamp burns\n\n- [ ] light it (check: lit)"
    lit = str(say(f"respond root\n{text}\n←").body["refs"][0])
    client = APIClient()
    client.force_login(tree.grove.memberships.get(role="owner").user)
    address = f"/trees/{tree.uid}/claims"
    assert b"Decided tasks" not in client.get(address).content
    say(f"todo check {lit} token:1")
    say(f"todo check {tasks} token:3")
    say(f"todo archive {tasks} token:3")
    page = client.get(address).content.decode()
    decided = page[page.index("Decided tasks") :]
    assert decided.index(">wake<") < decided.index(">light it<")  # the newest first
    assert '<span class="pill">lit</span>' in decided and "archived:" in decided
    say(f"prune {lit}")
    assert b">light it<" not in client.get(address).content


def test_tasks_of_documents_that_were_checked_are_on_the_page_of_claims(
    say: Say, tree: Tree, api: Callable[..., APIClient], reader: User
) -> None:
    """Of documents linked to the tree, that the reader may read, while the box is checked."""
    say('write doc:"List" new\n- [ ] trim the wick\n- [x] typed by hand\n- [ ] wake\n←')
    tokens = tokens_in(newest(Document.objects.get()).text, stable=True)
    first, _, third = (token.key for token in tokens)
    client, address = api(reader), f"/trees/{tree.uid}/claims"
    page = client.get(address).content.decode()
    decided = page[page.index("Decided tasks") :]
    assert ">typed by hand</a>" in decided and "by hand in the text" in decided
    assert ">trim the wick<" not in decided and ">Cite</button>" not in decided  # for writers
    say('write doc:"List" replace:"[x] typed" with:"[ ] typed"')
    assert "Decided tasks" not in client.get(address).content.decode()
    say(f'todo check doc:"List" token:{first}')
    say(f'todo check doc:"List" token:{third} "at dawn"')
    page = client.get(address).content.decode()
    decided = page[page.index("Decided tasks") :]
    assert decided.index(">wake<") < decided.index(">trim the wick<")
    assert f'href="/documents/{Document.objects.get().uid}"' in decided and ">List<" in decided
    assert "at dawn" in decided and "by hand" not in decided
    say(f'todo uncheck doc:"List" token:{third}')
    say('write doc:"List" replace:"[x] trim" with:"[ ] trim"')
    assert "Decided tasks" not in client.get(address).content.decode()


def test_a_decided_task_is_cited_by_one_press(
    say: Say, tree: Tree, api: Callable[..., APIClient], owner: User, writer: User
) -> None:
    """It opens the claim that the task is so, or adds the task to the claim that is there."""
    say('write doc:"List" new\n- [x] trim the wick\n←')
    node = str(say("respond root\n- [ ] trim the wick\n←").body["refs"][0])
    say(f"todo check {node} token:1")
    document = f"doc:{Document.objects.get().uid}"
    client, address = api(owner), f"/trees/{tree.uid}/claims"
    page = client.get(address).content.decode()
    says = "task &quot;trim the wick&quot; is checked"
    assert page.count(f'name="statement" value="{says}"') == 2
    sent = {"side": "task", "statement": 'task "trim the wick" is checked'}
    client.post(address, {**sent, "cite": document})
    api(writer).post(address, {**sent, "cite": node})
    claim = Claim.objects.get()
    assert claim.node.text == 'task "trim the wick" is checked' and claim.strong == 2
    reasons = {cite.reason for cite in Cite.objects.filter(claim=claim)}
    assert reasons == {"task is checked"}
    # Taken back in the text, it is strong no more.
    say('write doc:"List" replace:"[x] trim" with:"[ ] trim"')
    say(f"list {claim.node.local_id} evidence")
    assert node in page


def test_tasks_of_documents_of_another_grove_are_on_no_page(two_groves: TwoGroves) -> None:
    left, right, both = two_groves.left, two_groves.right, two_groves.both
    right.run(both, 'write doc:"secret" new "- [ ] feed the kestrel"')
    (token,) = tokens_in("- [ ] feed the kestrel", stable=True)
    right.run(both, f'todo check doc:"secret" token:{token.key}')
    seen = two_groves.client(both).get(f"/trees/{right.tree.uid}/claims").content.decode()
    assert ">feed the kestrel<" in seen
    for user in (both, two_groves.only_left):
        page = two_groves.client(user).get(f"/trees/{left.tree.uid}/claims").content.decode()
        assert "kestrel" not in page


def test_one_task_is_strong_evidence_and_too_little_to_conclude(
    say: Say, tasks: str, write: Say, writer: User
) -> None:
    """Concluding needs the moderate level: three items, of which the task is the strong one."""
    say(f"todo check {tasks} token:3")
    opened = say(f'claim "task wake is checked" cite:{tasks} test:"look"', by=writer)
    claim = opened.body["refs"][0]
    say(f"check {claim}", by=writer)
    why = refused(say, f'conclude {claim} "so"', by=writer)
    assert (why.code, why.message) == ("REJECTED", "Insufficient evidence.")
    assert why.hint == "moderate: have 1, need 3 evidence that counts"
    for words in ("The keeper is up.", "Her lamp burns."):
        say(f"cite {write(words)} for {claim}", by=writer)
    say(f'conclude {claim} "so"', by=writer)
    assert "committed at moderate" in say(f"commit {claim}", by=writer).reply


def test_a_task_of_a_document_is_rewritten_in_place(say: Say, tree: Tree) -> None:
    say('write doc:"List" new\n# Tonight\n- [ ] light\n- [ ] wake\n←')
    document = Document.objects.get()
    key = tokens_in(newest(document).text, stable=True)[1].key
    say(f'todo check doc:"List" token:{key}')
    document.refresh_from_db()
    assert newest(document).text == "# Tonight\n- [ ] light\n- [x] wake"
    say(f'todo uncheck doc:"List" token:{key}')
    assert refused(say, f'todo uncheck doc:"List" token:{key}').code == "REJECTED"


def test_undo_and_redo_of_a_task_change_that_task_alone(say: Say, tasks: str) -> None:
    say(f'annotate {tasks} "a note"')
    say(f"todo check {tasks} token:3")
    say("undo")
    assert TokenState.objects.get(key="3").state == "unchecked"
    say("redo")
    assert TokenState.objects.get(key="3").state == "checked"
    say("undo n:2")
    assert TokenState.objects.get(key="3").state == "unchecked"


def test_undo_of_a_task_of_a_document_rewrites_its_box(say: Say, tree: Tree) -> None:
    say('write doc:"Plan" new "- [ ] one"')
    document = Document.objects.get()
    key = tokens_in("- [ ] one", stable=True)[0].key
    texts = []
    for line in (f'todo check doc:"Plan" token:{key}', "undo", "redo"):
        say(line)
        document.refresh_from_db()
        texts.append(newest(document).text)
    assert texts == ["- [x] one", "- [ ] one", "- [x] one"]


def test_undo_of_an_archived_task_of_a_document_leaves_its_box(say: Say, tree: Tree) -> None:
    say('write doc:"Plan" new "- [ ] one"')
    key = tokens_in("- [ ] one", stable=True)[0].key
    say(f'todo check doc:"Plan" token:{key}')
    say(f'todo archive doc:"Plan" token:{key}')
    say("undo")
    assert TokenState.objects.get().state == "checked"
    assert newest(Document.objects.get()).text == "- [x] one"
    say("redo")
    assert TokenState.objects.get().state == "archived"
    say("undo n:2")
    assert newest(Document.objects.get()).text == "- [ ] one"


def test_the_protocol_compiles_and_runs(
    say: Say, tasks: str, owner: User, reader: User, tree: Tree
) -> None:
    client = APIClient()
    client.force_login(owner)
    address = f"/api/items/{tasks}/tokens"
    listed = client.get(f"{address}?tree={tree.uid}").json()
    assert listed["count"] == 3
    task = f"{address}/3?tree={tree.uid}"
    body = client.get(task).json()
    assert (body["state"], body["initial"]) == ("unchecked", "unchecked")
    assert body["inputs"] == ["toggle", "check", "note"]
    dry = client.post(task, {"input": "check", "dry_run": True}, format="json").json()
    assert (
        dry["lines"] == [f"→ todo check {tasks} token:3"] and dry["token"]["state"] == "unchecked"
    )
    assert not TokenState.objects.exists()
    blocked = client.post(
        f"{address}/1?tree={tree.uid}", {"input": "check", "dry_run": True}, format="json"
    ).json()
    assert blocked["obligations"] == [
        {"says": "1 of the tasks below it is not checked.", "met": False}
    ]
    ran = client.post(task, {"input": "check"}, format="json").json()
    assert ran["token"]["state"] == "checked"
    bad = client.post(task, {"input": "check"}, format="json")
    assert (bad.status_code, bad.json()["code"]) == (409, "REJECTED")
    kinds = {row["kind"] for row in client.get("/api/token-kinds").json()["results"]}
    of_texts = {"reference", "portal", "task", "annotation", "region", "suggestion"}
    assert kinds == {*of_texts, "sandbox", "pipe"}
    client.force_login(reader)
    refused_ = client.post(task, {"input": "uncheck"}, format="json")
    assert refused_.status_code == 403


def test_annotations_and_suggestions_are_tokens_of_themselves(
    say: Say, write: Say, owner: User, tree: Tree
) -> None:
    a = write("the lamp")
    note = str(say(f'annotate {a} "no" as:objection').body["refs"][0])
    client = APIClient()
    client.force_login(owner)
    token = f"/api/items/{note}/tokens/0?tree={tree.uid}"
    bad = client.post(token, {"input": "resolve"}, format="json").json()
    assert bad["code"] == "REJECTED"
    ran = client.post(token, {"input": "resolve", "text": "it is lit"}, format="json").json()
    assert ran["token"]["state"] == "resolved"
    suggestion = str(say(f'suggest {a} "a lamp"').body["refs"][0])
    two = f"/api/items/{suggestion}/tokens/0?tree={tree.uid}"
    assert client.get(two).json()["inputs"] == ["accept", "edit", "reject"]
    assert client.post(two, {"input": "accept"}, format="json").json()["lines"] == [
        f"→ accept {suggestion}"
    ]


def test_tokens_of_another_grove_are_not_found(two_groves: TwoGroves) -> None:
    world, right = two_groves, two_groves.right
    address = f"/api/items/{right.text.local_id}/tokens?tree={right.tree.uid}"
    for user, status in ((world.both, 200), (world.only_left, 404), (world.nobody, 404)):
        assert world.client(user).get(address).status_code == status


def test_a_pipe_is_a_token_of_itself(say: Say, write: Say, owner: User, tree: Tree) -> None:
    a = write("the lamp")
    say('pipe "view | annotate root" save:"Gloss"')
    client = APIClient()
    client.force_login(owner)
    uid = client.get("/api/pipes").json()["results"][0]["id"]
    token = f"/api/items/pipe:{uid}/tokens/0?tree={tree.uid}"
    body = client.get(token).json()
    assert (body["state"], body["inputs"]) == ("composed", ["run"])
    asked = {"input": "run", "text": a, "dry_run": True}
    tried = client.post(token, asked, format="json").json()
    assert tried["lines"] == [f'→ run pipe:"Gloss" from {a}']
    assert "→ annotate root" in tried["reply"] and tried["obligations"][0]["met"]
    assert client.get(token).json()["state"] == "composed"
    ran = client.post(token, {**asked, "dry_run": False}, format="json").json()
    assert ran["token"]["state"] == "executed" and "✓ annotation" in ran["reply"]


def test_tokens_of_a_hidden_tree_are_not_found(
    say: Say, tasks: str, writer: User, tree: Tree
) -> None:
    client = APIClient()
    client.force_login(writer)
    address = f"/api/items/{tasks}/tokens"
    assert client.get(f"{address}?tree={tree.uid}").json()["count"] == 3
    say("allow writers hidden")
    assert client.get(f"{address}?tree={tree.uid}").status_code == 404
    task = f"{address}/3?tree={tree.uid}"
    assert client.get(task).status_code == 404
    for sent in ({"input": "check"}, {"input": "check", "dry_run": True}):
        assert client.post(task, sent, format="json").status_code == 404
    assert not TokenState.objects.exists()


def test_an_input_of_each_kind_compiles_to_lines_and_runs_nothing(
    say: Say, write: Say, owner: User, tree: Tree
) -> None:
    """Regions have tests of their own."""
    a = str(write("the lamp"))
    b = str(
        say("respond root\nSee [a7x2].\n- [ ] wake\n- [x] sleep\n@[supports -> a7x2]\n←").body[
            "refs"
        ][0]
    )
    say(f"link {a} to {b} as:supports")
    note = str(say(f'annotate {a} "why?"').body["refs"][0])
    suggestion = str(say(f'suggest {a} "a lamp"').body["refs"][0])
    say('pipe "view | annotate root" save:"Gloss"')
    say(f"sandbox from {a}")
    sandbox = Tree.objects.get(sandbox_of=owner)
    client = APIClient()
    client.force_login(owner)
    pipe = client.get("/api/pipes").json()["results"][0]["id"]
    tries = (
        (b, "2", {"input": "check"}, f"→ todo check {b} token:2"),
        (b, "2", {"input": "toggle", "text": "at dawn"}, f'→ todo toggle {b} token:2 "at dawn"'),
        (b, "3", {"input": "archive"}, f"→ todo archive {b} token:3"),
        (note, "0", {"input": "reply", "text": "so"}, f'→ annotate {note} "so"'),
        (suggestion, "0", {"input": "accept"}, f"→ accept {suggestion}"),
        (suggestion, "0", {"input": "reject", "text": "no"}, f'→ reject {suggestion} "no"'),
        (f"pipe:{pipe}", "0", {"input": "run", "text": a}, f'→ run pipe:"Gloss" from {a}'),
        (f"tree:{sandbox.uid}", "0", {"input": "discard"}, "→ discard"),
    )
    head = Event.objects.latest("id").pk
    for ref, key, sent, line in tries:
        address = f"/api/items/{ref}/tokens/{key}?tree={tree.uid}"
        before = client.get(address).json()
        answer = client.post(address, {**sent, "dry_run": True}, format="json").json()
        assert answer["lines"] == [line], answer
        assert answer["token"] == before == client.get(address).json()
    # A portal to what is not there compiles, and says what is owed.
    address = f"/api/items/{b}/tokens/4?tree={tree.uid}"
    answer = client.post(address, {"input": "expand", "dry_run": True}, format="json").json()
    assert answer["lines"] == [f'→ expand supports of {b} to:"a7x2"']
    assert len(answer["obligations"]) == 1
    assert Event.objects.latest("id").pk == head
    # Nothing is dropped but what changes nothing: an input that leads back to where it is.
    assert (
        client.post(
            f"/api/items/{b}/tokens/3?tree={tree.uid}", {"input": "check"}, format="json"
        ).json()["code"]
        == "REJECTED"
    )


def test_inputs_that_lead_back_are_dropped(say: Say, tasks: str, tree: Tree, owner: User) -> None:
    """Several inputs of a task: what changes nothing is not run, and said (docs/model.md §9)."""
    client = APIClient()
    client.force_login(owner)
    address = f"/api/items/{tasks}/tokens/3?tree={tree.uid}"
    line = f"→ todo {{}} {tasks} token:3"

    def give(*inputs: str, **more: object) -> dict[str, Any]:
        first, *then = inputs
        return dict(
            client.post(address, {"input": first, "then": then, **more}, format="json").json()
        )

    twice = give("toggle", "toggle", dry_run=True)
    assert twice["lines"] == [] and twice["dropped"] == [line.format("toggle")] * 2
    assert twice["reply"] == "no change" and twice["delta"]["state"] == "unchecked"
    assert give("toggle", "toggle")["token"]["state"] == "unchecked"
    assert not TokenState.objects.exists()
    thrice = give("check", "uncheck", "check", dry_run=True)
    assert thrice["lines"] == [line.format("check")]
    assert thrice["dropped"] == [line.format("check"), line.format("uncheck")]
    ran = give("check", "archive")
    assert ran["lines"] == [line.format("check"), line.format("archive")] and not ran["dropped"]
    assert ran["token"]["state"] == ran["delta"]["state"] == "archived"
    assert give("check", "uncheck", text="no", dry_run=True)["code"] == "REJECTED"
    assert give("note", "toggle")["message"] == "It is archived, which takes no toggle."
    assert give("note", *["note"] * 20)["code"] == "LIMIT_EXCEEDED"
    noted = str(say(f'annotate {tasks} "a note"').body["refs"][0])
    address = f"/api/items/{noted}/tokens/0?tree={tree.uid}"
    assert give("reply", "resolve")["code"] == "INVALID_SYNTAX"
