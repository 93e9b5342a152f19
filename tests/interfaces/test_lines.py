"""Lines over the API: POST …/commands as docs/model.md §14.3.3 to §14.3.6 has it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from rest_framework.test import APIClient

from agents.providers.values import Failure
from loom.access import Actor
from loom.engine.models import Event, Step
from loom.engine.streams import head
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node, Tree
from loom.turns import generation_lifecycle
from loom.turns.models import Generation

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
Send = Callable[..., Any]


@pytest.fixture
def send(owner: User, tree: Tree, api: Client) -> Send:
    """`send(line, key=…)`: what the owner's line in the tree is answered."""

    def post(line: str, **more: Any) -> Any:
        return api(owner).post(
            f"/api/trees/{tree.uid}/commands", {"line": line, **more}, format="json"
        )

    return post


def test_the_answer_says_what_was_made(send: Send, tree: Tree) -> None:
    answer = send('→ respond "It was night."')
    body = answer.json()
    node = Node.objects.get(text="It was night.")
    assert answer.status_code == 200
    assert body == {
        "ok": True,
        "reply": body["reply"],
        "canonical": '→ respond "It was night."',
        "step": 1,
        "stream": f"tree:{tree.uid}",
        "events": body["events"],
        "refs": [node.local_id],
        "generations": [],
        "position": node.local_id,
    }
    assert body["reply"].startswith(f"✓ created [{node.local_id}]")
    kinds = Event.objects.filter(stream__name=body["stream"], seq__in=body["events"])
    assert set(kinds.values_list("kind", flat=True)) == {"node.added"}


def test_a_block_is_kept_to_the_character(send: Send) -> None:
    body = send("respond root\n  a\r\n\tb →\n\n←").json()
    assert Node.objects.get(local_id=body["refs"][0]).text == "  a\r\n\tb →\n"


@pytest.mark.parametrize("line", ["", " ", "→", "tree\nlist root", "nonsense", "x" * 70_000])
def test_what_is_no_line_changes_nothing_but_the_steps(line: str, send: Send, tree: Tree) -> None:
    before = head(f"tree:{tree.uid}")
    answer = send(line)
    body = answer.json()
    assert answer.status_code in (400, 413)
    assert body["code"] in ("INVALID_SYNTAX", "LIMIT_EXCEEDED")
    assert body["reply"].startswith(f"✗ {body['code']}: {body['message']}")
    assert body["step"] == Step.objects.get().seq == 1
    assert head(f"tree:{tree.uid}") == before


def test_a_refusal_reports_its_step_and_the_line_as_it_was_read(send: Send) -> None:
    body = send("go to x9y3").json()
    assert (body["code"], body["step"]) == ("NOT_FOUND", 1)
    assert body["canonical"] == "→ switch to x9y3"
    dry = send("prune root", dry_run=True).json()
    assert (dry["code"], dry["step"]) == ("REJECTED", None)


def test_a_dry_run_says_what_would_happen_and_writes_nothing(send: Send, tree: Tree) -> None:
    before = (head(f"tree:{tree.uid}"), Node.objects.count(), Step.objects.count())
    answer = send('respond "x"', dry_run=True, key="k")
    body = answer.json()
    assert (answer.status_code, body["step"], body["events"]) == (200, None, [])
    assert body["reply"].startswith("✓ created")
    assert (head(f"tree:{tree.uid}"), Node.objects.count(), Step.objects.count()) == before
    assert "repeated" not in send('respond "y"', key="k").json()


def test_a_key_makes_a_repeat_harmless(send: Send, writer: User, api: Client, tree: Tree) -> None:
    first = send('respond "once"', key="a").json()
    again = send('respond "once"', key="a")
    assert again.json() == {**first, "repeated": True}
    other = send('respond "twice"', key="a")
    assert (other.status_code, other.json()["code"]) == (409, "CONFLICT")
    theirs = api(writer).post(
        f"/api/trees/{tree.uid}/commands", {"line": 'respond "twice"', "key": "a"}, format="json"
    )
    assert theirs.status_code == 200
    assert Node.objects.filter(text="once").count() == 1
    assert send("tree", key="k" * 65).status_code == 413


def test_a_refusal_is_tried_again_under_its_key(send: Send) -> None:
    assert send('respond x9y3 "a"', key="a").status_code == 404
    assert send('respond "a"', key="a").status_code == 200


def test_at_is_what_here_means_for_this_line(send: Send) -> None:
    first = send('respond root "a"').json()["refs"][0]
    send('respond root "b"')
    under = send('respond "c"', at=first.upper()).json()["refs"][0]
    node = Node.objects.get(local_id=under)
    assert node.parent_slot == Node.objects.get(local_id=first)
    for wrong in ("x9y3", "[a7]", "root", "a b"):
        assert send("tree", at=wrong).json()["code"] == "NOT_FOUND", wrong


def test_the_line_of_an_outsider_writes_no_step(outsider: User, tree: Tree, api: Client) -> None:
    answer = api(outsider).post(f"/api/trees/{tree.uid}/commands", {"line": "tree"}, format="json")
    body = answer.json()
    assert (answer.status_code, body["code"], body["step"]) == (404, "NOT_FOUND", None)
    assert not Step.objects.exists()


def test_a_workspace_is_made_on_first_use_and_is_the_same(
    send: Send, owner: User, tree: Tree, api: Client
) -> None:
    mine = api(owner).get(f"/api/workspaces?tree={tree.uid}").json()
    answer = api(owner).post(
        f"/api/workspaces/{mine['id']}/commands", {"line": 'respond "a"'}, format="json"
    )
    position = answer.json()["position"]
    assert api(owner).get(f"/api/workspaces/{mine['id']}").json()["position"] == position
    shown = api(owner).get(f"/api/trees/{tree.uid}").json()["workspace"]
    assert shown == {"id": mine["id"], "position": position}
    send("tree")
    steps = api(owner).get(f"/api/steps?workspace={mine['id']}&limit=1").json()
    assert (steps["count"], steps["next"], steps["results"][0]["line"]) == (2, 1, 'respond "a"')
    rest = api(owner).get(f"/api/steps?workspace={mine['id']}&after=1").json()
    assert (rest["next"], [result["seq"] for result in rest["results"]]) == (None, [2])
    seen = api(owner).get(f"/api/workspaces/{mine['id']}/events").json()
    assert [event["kind"] for event in seen["events"]] == ["view.changed"]


def test_null_is_what_is_left_out(send: Send, tree: Tree) -> None:
    answer = send("view root", dry_run=None, key=None, at=None, wait=None)
    assert (answer.status_code, answer.json()["step"]) == (200, 1)


def test_an_event_names_the_step_or_the_key_it_came_from(
    send: Send, owner: User, tree: Tree, api: Client
) -> None:
    send("view root")
    first = send('respond "a"').json()["step"]
    send('respond "b"', key="a key")
    last = send("undo n:2").json()["step"]
    seen = api(owner).get(f"/api/trees/{tree.uid}/events?since=2").json()["events"]
    assert (first, last) == (2, 5)
    assert [event["origin"] for event in seen] == ["step:2", "a key", "step:4", "step:5"]


def test_a_step_names_what_it_touched_as_its_reader_would(
    send: Send, owner: User, tree: Tree, api: Client
) -> None:
    first = send('respond "a"').json()["refs"][0]
    send(f"tag tree:{tree.uid} #kept")
    send("bookmark root")
    mine = api(owner).get(f"/api/workspaces?tree={tree.uid}").json()["id"]
    steps = api(owner).get(f"/api/steps?workspace={mine}").json()["results"]
    root = api(owner).get(f"/api/trees/{tree.uid}").json()["root"]
    touched = [step["items"] for step in steps if step["outcome"] == "ok"]
    assert touched == [[first, root], [f"tree:{tree.uid}"], [root]]


def test_a_dry_run_of_continue_asks_nobody(send: Send, muse: Participant) -> None:
    answer = send("continue from root n:2", dry_run=True, wait=5)
    assert (answer.status_code, answer.json()["generations"]) == (200, [])
    assert not Generation.objects.exists()


def test_continue_goes_on_running(send: Send, muse: Participant) -> None:
    node = send('respond "a"').json()["refs"][0]
    answer = send("continue n:3", key="k")
    body = answer.json()
    assert answer.status_code == 202
    assert body["reply"] == f"✓ 3 continuations from [{node}] started"
    assert (len(body["generations"]), body["refs"]) == (3, [])
    again = send("continue n:3", key="k")
    assert (again.status_code, again.json()["repeated"]) == (202, True)
    assert Generation.objects.count() == 3
    assert send("continue n:3", wait=0.05).status_code == 202
    assert send("tree", wait=121).status_code == 429


def limit(*, is_size: bool) -> dict[str, object]:
    """The error of a generation that exceeded a limit, of a size or of a day."""
    refused = CommandError(
        "LIMIT_EXCEEDED", "Too much.", hint="less", is_size=is_size, retryable=not is_size
    )
    return refused.body


FAILURES = {
    "": Failure("server", "it broke").error,
    "too long": limit(is_size=True),
    "used up": limit(is_size=False),
}


@pytest.fixture
def worker(muse: Participant, transactional_db: None) -> Iterator[Callable[..., None]]:
    """`worker(text, text…)` lands the next generations with these texts, "" as a failure."""
    with ThreadPoolExecutor(1) as pool:
        running: list[Any] = []

        def land(*texts: str) -> None:
            try:
                for text in texts:
                    row = None
                    while row is None:
                        row = Generation.objects.filter(status="queued").order_by("id").first()
                    held = generation_lifecycle.take(row.uid, lease="x", seconds=60)
                    assert held is not None
                    error = FAILURES.get(text)
                    words = "" if error else text
                    generation_lifecycle.end_generation(
                        row.uid, lease="x", text=words, chunk=1, finish="complete", error=error
                    )
            finally:
                connection.close()

        yield lambda *texts: running.append(pool.submit(land, *texts))
        for future in running:
            future.result()


@pytest.mark.django_db(transaction=True)
def test_wait_answers_with_the_nodes(worker: Callable[..., None], send: Send, tree: Tree) -> None:
    worker("one two", "", "three")
    answer = send("continue from root n:3", wait=60)
    body = answer.json()
    assert answer.status_code == 200
    refs = [Node.objects.get(text=text).local_id for text in ("one two", "three")]
    assert body["refs"] == refs
    assert body["reply"].splitlines()[0].startswith("✓ 2 continuations from [")
    assert sum(line.startswith("  ✗ ") for line in body["reply"].splitlines()) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("text", "status"), [("too long", 413), ("used up", 429)])
def test_wait_says_which_limit_was_exceeded(
    worker: Callable[..., None], send: Send, text: str, status: int
) -> None:
    worker(text)
    answer = send("continue from root", wait=60)
    body = answer.json()
    is_passing = status == 429
    expected = (status, "LIMIT_EXCEEDED", is_passing)
    assert (answer.status_code, body["code"], body["retryable"]) == expected


@pytest.mark.django_db(transaction=True)
def test_wait_says_when_all_failed(worker: Callable[..., None], send: Send) -> None:
    worker("", "")
    answer = send("continue from root n:2", wait=60)
    body = answer.json()
    assert (answer.status_code, body["code"], body["retryable"]) == (502, "MODEL_ERROR", True)
    assert body["reply"].startswith("✗ MODEL_ERROR: ")
    assert body["step"] == 1 and body["canonical"].startswith("→ continue")


@pytest.mark.parametrize(
    ("line", "status", "code", "retryable"),
    [
        ("view zz99", 404, "NOT_FOUND", False),
        ("frobnicate the node", 400, "INVALID_SYNTAX", True),
        ("continue n:50", 429, "LIMIT_EXCEEDED", True),
        ("view {other}", 409, "CROSS_TREE", True),
        ('edit {node} replace:"no such words" with:"x"', 409, "CONFLICT", True),
        ('edit root "x"', 409, "REJECTED", False),
        ('search "clock towers"', 503, "UNAVAILABLE", True),
    ],
)
def test_each_code_has_its_status_and_says_whether_to_try_again(
    send: Send,
    actor: Actor,
    owner: User,
    tree: Tree,
    api: Client,
    line: str,
    status: int,
    code: str,
    retryable: bool,
) -> None:
    second = trees.new_tree(actor, title="Second", mode="dialogue")
    url = f"/api/trees/{second.uid}/commands"
    other = api(owner).post(url, {"line": 'respond root "There."'}, format="json").json()["refs"][0]
    node = send('respond root "Here."').json()["refs"][0]
    answer = send(line.format(node=node, other=other))
    body = answer.json()
    assert (answer.status_code, body["code"], body["retryable"]) == (status, code, retryable)
    assert body["reply"].startswith(f"✗ {code}: ") and "\n  hint: " in body["reply"]
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Watcher", permissions=["loom_aware"]
    )
    view = node_writer.workspace_of(agent, tree)
    denied = api(owner).post(
        f"/api/workspaces/{view.uid}/commands", {"line": 'respond here "x"'}, format="json"
    )
    body = denied.json()
    assert (denied.status_code, body["code"]) == (403, "PERMISSION_DENIED")
    assert body["retryable"] is False


def test_the_registry_is_reported(owner: User, api: Client) -> None:
    listed = api(owner).get("/api/commands").json()
    assert listed["count"] == len(listed["results"])
    assert {"respond", "continue", "undo"} <= {result["verb"] for result in listed["results"]}
    assert all(result["arguments"]["type"] == "object" for result in listed["results"])


def test_a_line_in_another_tree_is_not_this_ones(
    send: Send, actor: Actor, owner: User, api: Client
) -> None:
    other = trees.new_tree(actor, title="Other")
    node = api(owner).post(
        f"/api/trees/{other.uid}/commands", {"line": 'respond "there"'}, format="json"
    )
    answer = send(f"view {node.json()['refs'][0]}")
    assert answer.json()["code"] in ("CROSS_TREE", "NOT_FOUND")


def test_a_command_can_be_named_instead_of_written(owner: User, tree: Tree, api: Client) -> None:
    url = f"/api/trees/{tree.uid}/commands"
    sent = {"command": "respond", "args": {"content": "By name."}, "key": "by-name"}
    first = api(owner).post(url, sent, format="json")
    assert first.status_code == 200
    assert first.json()["canonical"] == '→ respond "By name."'
    again = api(owner).post(url, sent, format="json").json()
    assert again == {**first.json(), "repeated": True}
    node = Node.objects.get(text="By name.")
    dry = {"command": "prune", "args": {"ref": node.local_id}, "dry_run": True}
    assert api(owner).post(url, dry, format="json").json()["step"] is None


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"args": {}},
        {"line": "tree", "command": "tree"},
        {"line": "tree", "args": {}},
        {"command": "tag", "args": {"ref": "root"}},
        {"command": "tag", "args": {"ref": "root", "names": ["a"], "more": 1}},
    ],
)
def test_half_a_call_by_name_is_refused(
    owner: User, tree: Tree, api: Client, sent: dict[str, Any]
) -> None:
    answer = api(owner).post(f"/api/trees/{tree.uid}/commands", sent, format="json")
    assert answer.status_code == 400
    assert answer.json()["code"] == "INVALID_SYNTAX" and answer.json()["hint"]
    assert not Step.objects.filter(workspace__tree=tree).exists()


def test_in_the_workspace_of_an_agent_only_its_view_is_changed_by_name(
    owner: User, tree: Tree, api: Client
) -> None:
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Watcher", permissions=["loom_aware"]
    )
    url = f"/api/workspaces/{node_writer.workspace_of(agent, tree).uid}/commands"
    moved = api(owner).post(url, {"command": "switch", "args": {"ref": "root"}}, format="json")
    assert moved.status_code == 200
    write = {"command": "respond", "args": {"content": "x"}}
    refused = api(owner).post(url, write, format="json").json()
    assert refused["code"] == "PERMISSION_DENIED"
