"""The part of a participant's form that says what it may do."""

import pytest

from loom.people.models import Grove, Participant, User
from loom.permissions import Permission
from tests.web.conftest import Visitor
from tests.web.test_pages import text

FORM = {"name": "Analyst", "model_ref": "openai:gpt", "endpoint": "chat"}


def save(client: object, grove: Grove, **fields: object) -> int:
    """The status of sending the form of a new participant."""
    answer = client.post(f"/groves/{grove.uid}/participants/new", {**FORM, **fields})  # type: ignore[attr-defined]
    return int(answer.status_code)


@pytest.mark.parametrize(
    ("preset", "names"),
    [
        ("collaborator", list(Permission)),
        ("analysis", ["loom_aware", "doc_read"]),
        ("subject", []),
    ],
)
def test_a_preset_sets_exactly_its_permissions(
    preset: str, names: list[str], owner: User, grove: Grove, visitor: Visitor
) -> None:
    assert save(visitor(owner), grove, preset=preset, permission=["cross_tree"]) == 302
    assert Participant.objects.get(name="Analyst").permissions == names


def test_single_permissions_and_the_rest_are_kept_and_shown(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    client = visitor(owner)
    ticked = ["loom_aware", "loom_generate", "web_search"]
    more = {"archetype": "auditor", "budget": "quick", "authority": "2", "tool_filter": "A\r\n B"}
    assert save(client, grove, permission=ticked, **more) == 302
    participant = Participant.objects.get(name="Analyst")
    assert participant.permissions == ticked
    assert (participant.archetype, participant.budget, participant.authority) == (
        "auditor",
        "quick",
        2,
    )
    assert participant.tool_filter == ["A", "B"]
    page = text(client, f"/groves/{grove.uid}/participants/{participant.uid}")
    for name in Permission:
        box = page.split(f'value="{name}"')[1].split(">")[0]
        assert ("checked" in box) == (name in ticked), name
    page = text(client, f"/groves/{grove.uid}/participants")
    assert "acts in the tree within the quick budget" in page


def test_permissions_that_break_a_rule_are_refused_and_stay_in_the_form(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    client = visitor(owner)
    answer = client.post(
        f"/groves/{grove.uid}/participants/new", {**FORM, "permission": ["loom_write"]}
    )
    assert answer.status_code == 400
    page = answer.content.decode()
    assert "loom_write needs loom_aware too." in page
    assert "checked" in page.split('value="loom_write"')[1].split(">")[0]
    assert not Participant.objects.filter(name="Analyst").exists()
    for wrong in ({"budget": "endless"}, {"authority": "9"}, {"archetype": "king"}):
        assert save(client, grove, **wrong) == 400
