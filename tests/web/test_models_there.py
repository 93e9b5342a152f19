"""The form of a new model: kinds, lists of models, and what is stored."""

import pytest
from django.core.cache import cache

from loom.commands import participants
from loom.commands.participants import Source
from loom.models import Grove, Participant, User
from tests.web.conftest import Visitor

pytestmark = pytest.mark.django_db
FORM = {"name": "Muse", "endpoint": "chat", "context_limit": "8192"}


@pytest.mark.parametrize(
    ("sent", "model_ref", "base_url"),
    [
        ({"kind": "openai", "model": "gpt-4o"}, "openai:gpt-4o", ""),
        (
            {"kind": "openrouter", "model": "a/b"},
            "openrouter:a/b",
            "https://openrouter.ai/api/v1",
        ),
        (
            {"kind": "custom", "model": "m:7b", "base_url": "https://models.example.com/v1"},
            "custom:m:7b",
            "https://models.example.com/v1",
        ),
        (
            {"kind": "litellm", "model": "gemini/pro", "api_key": "a-key-of-it"},
            "litellm:gemini/pro",
            "",
        ),
    ],
)
def test_a_kind_and_a_name_become_a_model(
    owner: User,
    grove: Grove,
    visitor: Visitor,
    sent: dict[str, str],
    model_ref: str,
    base_url: str,
) -> None:
    client = visitor(owner)
    answer = client.post(f"/groves/{grove.uid}/participants/new", {**FORM, **sent})
    made = Participant.objects.get(name="Muse")
    assert answer.headers["location"] == f"/groves/{grove.uid}/participants"
    assert (made.model_ref, made.base_url, made.probe) == (model_ref, base_url, {})


def test_a_new_model_is_probed_where_that_is_ticked(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    sent = {**FORM, "kind": "openai", "model": "gpt-4o", "probe": "1"}
    answer = visitor(owner).post(f"/groves/{grove.uid}/participants/new", sent)
    made = Participant.objects.get(name="Muse")
    assert answer.headers["location"].endswith(f"/{made.uid}#probe")
    assert made.probe["status"] == "queued"


@pytest.mark.parametrize("sent", [{"kind": "openai"}, {"kind": "custom", "model": "m"}])
def test_what_is_missing_is_asked_for(
    owner: User, grove: Grove, visitor: Visitor, sent: dict[str, str]
) -> None:
    answer = visitor(owner).post(f"/groves/{grove.uid}/participants/new", {**FORM, **sent})
    assert answer.status_code == 400
    assert "Write" in answer.content.decode() or "write" in answer.content.decode()


def test_only_owners_ask_for_lists_and_see_their_own(
    owner: User, writer: User, grove: Grove, visitor: Visitor
) -> None:
    cache.clear()
    address = f"/groves/{grove.uid}/participants/models"
    sent = {"kind": "custom", "base_url": "https://models.example.com/v1", "api_key": "sk-secret"}
    page = visitor(owner).post(address, sent).content.decode()
    assert "Loading from https://models.example.com/v1" in page and "sk-secret" not in page
    uid = page.split("participants/models/")[1].split('"')[0]
    found = participants.asked(uid)
    assert found is not None and found[0] == Source("custom", sent["base_url"], "sk-secret")
    participants.note_models(found[1], ["m-1", "<b>"], None)
    shown = visitor(owner).get(f"{address}/{uid}").content.decode()
    assert "2 models available" in shown and "<option>m-1</option>" in shown and "<b>" not in shown
    assert visitor(writer).get(f"{address}/{uid}").status_code == 403
    assert visitor(writer).post(address, sent).status_code == 403


def test_a_list_that_cannot_be_asked_for_says_why(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    sent = {"kind": "ollama", "base_url": "", "api_key": ""}
    page = visitor(owner).post(f"/groves/{grove.uid}/participants/models", sent)
    assert "HEDDLE_PROVIDER_ALLOW" in page.content.decode()
