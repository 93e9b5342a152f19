"""Regions: drafts of the lines of a window, tested before they are written."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.claims.models import CheckResult, TokenState
from loom.documents.models import Document
from loom.documents.queries import newest
from loom.engine.models import Step
from loom.people.models import Participant, User
from loom.trees.models import Node, Tree
from loom.workspace.models import Window
from tests.claims.conftest import Declare
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
TEXT = '{\n"lamp": "lit",\n"keeper": "asleep"\n}'


def _key() -> str:
    return f"w{Window.objects.get().number}"


@pytest.fixture
def address(say: Say, tree: Tree) -> str:
    """The region of a window on the second line of a document."""
    say(f'write doc:"Facts" new\n{TEXT}\n←')
    say('open doc:"Facts" lines:2-2')
    return f"/api/items/doc:{Document.objects.get().uid}/tokens/{_key()}?tree={tree.uid}"


@pytest.fixture
def give(owner: User, address: str) -> Any:
    """Gives the region an input; returns the body of the answer, with its `status`."""
    client = APIClient()
    client.force_login(owner)

    def _give(given: str, text: str = "", **more: Any) -> dict[str, Any]:
        answer = client.post(address, {"input": given, "text": text, **more}, format="json")
        return {**answer.json(), "status": answer.status_code}

    return _give


def test_a_draft_is_compiled_tested_and_written(
    say: Say, give: Any, address: str, declare: Declare, owner: User, tree: Tree
) -> None:
    declare("json")
    declare("max_words", n=9)
    client = APIClient()
    client.force_login(owner)
    before = client.get(address).json()
    assert (before["state"], before["inputs"], before["text"]) == (
        "unmodified",
        ["edit"],
        '"lamp": "lit",',
    )
    assert (before["first"], before["last"]) == (2, 16)
    drafted = give("edit", '"lamp": "out",')
    assert drafted["token"]["state"] == "modified" and drafted["token"]["text"] == '"lamp": "out",'
    assert newest(Document.objects.get()).text == TEXT
    for early in ("test", "commit"):
        assert give(early)["code"] == "REJECTED"
    assert give("compile")["token"]["state"] == "compiled"
    tested = give("test")
    assert tested["token"]["state"] == "tested"
    assert [obligation["met"] for obligation in tested["obligations"]] == [True] * 4
    tried = give("commit", dry_run=True)
    line = f'→ write #{_key()[1:]} "\\"lamp\\": \\"out\\","'
    assert (tried["lines"], tried["reply"]) == ([line], "")
    assert newest(Document.objects.get()).text == TEXT
    done = give("commit")
    assert done["token"]["state"] == "committed", done
    assert newest(Document.objects.get()).text == TEXT.replace('"lit"', '"out"')
    # The checks have passed in the new version: strong evidence.
    assert set(CheckResult.objects.values_list("version", "outcome")) == {("2", "passed")}
    steps = Step.objects.filter(canonical__in=("draft_region", "commit_region"))
    assert steps.count() == 4  # a refused input changes nothing
    assert give("edit", '"lamp": "lit",')["token"]["state"] == "modified"


def test_a_failing_check_keeps_a_region_from_being_committed(give: Any, declare: Declare) -> None:
    declare("json")
    declare("absent", text="out")
    give("edit", '"lamp": "out"')
    give("compile")
    tried = give("test", dry_run=True)
    met = {
        obligation["says"].split(":")[0]: obligation["met"] for obligation in tried["obligations"]
    }
    assert met == {
        "applies": True,
        "format valid": False,
        "check passes": False,
        "no check that passed before fails": False,
    }
    refused = give("test")
    assert (refused["status"], refused["code"]) == (409, "REJECTED")
    assert give("commit")["code"] == "REJECTED"
    assert newest(Document.objects.get()).text == TEXT
    assert give("drop")["token"]["text"] == '"lamp": "lit",'


def test_a_draft_that_no_longer_applies_is_not_compiled(say: Say, give: Any) -> None:
    give("edit", '"lamp": "out",')
    assert give("compile")["token"]["state"] == "compiled"
    say('write doc:"Facts" replace:"lit" with:"dim"')
    assert give("test")["status"] == 409
    assert give("compile")["status"] == 409
    assert '"dim"' in newest(Document.objects.get()).text


def test_a_region_of_a_text_makes_a_new_wording(say: Say, owner: User, tree: Tree) -> None:
    text = say("respond root\none\ntwo\n←").body["refs"][0]
    say(f"open {text} lines:2-2")
    client = APIClient()
    client.force_login(owner)
    region = f"/api/items/{text}/tokens/{_key()}?tree={tree.uid}"
    listed = client.get(f"/api/items/{text}/tokens?tree={tree.uid}").json()["results"]
    assert [(row["key"], row["kind"], row["state"]) for row in listed] == [
        (_key(), "region", "unmodified")
    ]
    for given in ("edit", "compile", "test"):
        client.post(region, {"input": given, "text": "zwei"}, format="json")
    done = client.post(region, {"input": "commit"}, format="json").json()
    assert done["token"]["state"] == "committed", done
    assert Node.objects.latest("pk").text == "one\nzwei"


def test_nobody_else_reads_a_region(
    say: Say, give: Any, address: str, writer: User, reader: User
) -> None:
    give("edit", "a kestrel")
    for user in (writer, reader):
        client = APIClient()
        client.force_login(user)
        assert client.get(address).status_code == 404
        listed = client.get(address.replace(f"/{_key()}", ""))
        assert listed.status_code == 200 and "kestrel" not in listed.content.decode()
        refused = client.post(address, {"input": "drop"}, format="json")
        assert refused.status_code == 404
    assert TokenState.objects.get().state == "modified"
    assert Participant.objects.filter(user=writer).exists()
