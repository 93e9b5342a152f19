"""The form of a new model: kinds, lists of models, and what is stored."""

import html
import re
from typing import Any

import pytest
from django.core.cache import cache

from loom.participants import commands as participants
from loom.participants.commands import ProviderAddress
from loom.people.models import Grove, Participant, User
from loom.permissions import LOOM
from loom.site.display import cast_from
from loom.trees.models import Tree
from tests.web.conftest import Visitor

pytestmark = pytest.mark.django_db
ELSEWHERE = "https://models.example.com/v1"
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
    participant = Participant.objects.get(name="Muse")
    assert answer.headers["location"] == f"/groves/{grove.uid}/participants"
    assert (participant.model_ref, participant.base_url, participant.probe) == (
        model_ref,
        base_url,
        {},
    )
    assert participant.context_limit == 8192


def test_a_new_model_is_probed_where_that_is_ticked(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    sent = {**FORM, "kind": "openai", "model": "gpt-4o", "probe": "1"}
    answer = visitor(owner).post(f"/groves/{grove.uid}/participants/new", sent)
    participant = Participant.objects.get(name="Muse")
    assert answer.headers["location"].endswith(
        f"participants?added={participant.uid}#model-{participant.uid}"
    )
    assert participant.probe["status"] == "queued"


@pytest.mark.parametrize("sent", [{"kind": "openai"}, {"kind": "custom", "model": "m"}])
def test_what_is_missing_is_asked_for(
    owner: User, grove: Grove, visitor: Visitor, sent: dict[str, str]
) -> None:
    answer = visitor(owner).post(f"/groves/{grove.uid}/participants/new", {**FORM, **sent})
    assert answer.status_code == 400
    assert "Write" in answer.content.decode() or "write" in answer.content.decode()


def _errors(page: str) -> list[tuple[str, str]]:
    """The name of each field that is marked as wrong, with what the page says beside it."""
    marked = re.findall(r'name="(\w+)" aria-invalid="true"', page)
    texts = re.findall(r'<span class="field-error">([^<]+)</span>', page)
    return list(zip(marked, (html.unescape(words).strip() for words in texts), strict=True))


def test_each_field_that_is_wrong_says_so_and_keeps_what_was_typed(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    sent = {**FORM, "kind": "openai", "model": "m", "temperature": "9", "max_tokens": "many"}
    sent |= {"price_input": "-x", "parallel": "1.5", "persona": "Be brief.", "authority": "7"}
    answer = visitor(owner).post(f"/groves/{grove.uid}/participants/new", sent)
    page = answer.content.decode()
    assert answer.status_code == 400 and not Participant.objects.filter(name="Muse").exists()
    assert _errors(page) == [
        ("temperature", "Must be between 0 and 2. Try 0.9."),
        ("max_tokens", "'many' is not a number. Write digits."),
        ("authority", "Must be between 0 and 3. Try 0."),
        ("price_input", "'-x' is not a number. Write digits."),
        ("parallel", "1.5 is not a whole number. Round it."),
    ]
    assert "“Temperature” must be between 0 and 2." in page
    assert "Be brief." in page and 'value="many"' in page and '<details class="more" open' in page


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ({"kind": "openai", "model": ""}, "model"),
        ({"kind": "custom", "model": "m"}, "base_url"),
        ({"kind": "openai", "model": "m", "name": ""}, "name"),
        ({"kind": "openai", "model": "m", "price_input": "-1"}, "prices"),
    ],
)
def test_what_a_command_refuses_is_shown_beside_its_field(
    owner: User, grove: Grove, visitor: Visitor, sent: dict[str, str], name: str
) -> None:
    answer = visitor(owner).post(f"/groves/{grove.uid}/participants/new", {**FORM, **sent})
    page = answer.content.decode()
    assert answer.status_code == 400 and 'class="refusal" role="alert"' in page
    assert [field for field, _ in _errors(page)] == ([] if name == "prices" else [name])


def test_only_owners_ask_for_lists_and_see_their_own(
    owner: User, writer: User, grove: Grove, visitor: Visitor
) -> None:
    cache.clear()
    address = f"/groves/{grove.uid}/participants/models"
    sent = {"kind": "custom", "base_url": "https://models.example.com/v1", "api_key": "sk-secret"}
    page = visitor(owner).post(address, sent).content.decode()
    assert "Loading from https://models.example.com/v1" in page and "sk-secret" not in page
    uid = page.split("participants/models/")[1].split('"')[0]
    listing = participants.asked(uid)
    assert listing is not None and listing[0] == ProviderAddress(
        "custom", sent["base_url"], "sk-secret"
    )
    participants.note_models(listing[1], {"m-1": 131_072, "<b>": 0}, None)
    shown = visitor(owner).get(f"{address}/{uid}").content.decode()
    assert (
        "2 models available" in shown
        and '<option data-context="131072">m-1</option>' in shown
        and "<b>" not in shown
    )
    assert visitor(writer).get(f"{address}/{uid}").status_code == 403
    assert visitor(writer).post(address, sent).status_code == 403


def test_a_list_that_cannot_be_asked_for_says_why(
    owner: User, grove: Grove, visitor: Visitor, settings: Any
) -> None:
    settings.PRIVATE_ADDRESSES = "operator"
    sent = {"kind": "ollama", "base_url": "", "api_key": ""}
    page = visitor(owner).post(f"/groves/{grove.uid}/participants/models", sent).content.decode()
    assert "HEDDLE_PROVIDER_ALLOW" in page
    assert "Only the operator of this Heddle can allow private addresses." in page
    assert 'name="allow_private"' not in page
    User.objects.filter(pk=owner.pk).update(is_operator=True)
    page = visitor(owner).post(f"/groves/{grove.uid}/participants/models", sent).content.decode()
    assert 'name="allow_private" value="127.0.0.1:11434"' in page
    assert "not on the internet" in page


def test_an_owner_allows_a_private_address_in_the_form(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    address = f"/groves/{grove.uid}/participants/new"
    sent = {"name": "Muse", "kind": "ollama", "model": "llama3.2"}
    refused = visitor(owner).post(address, sent)
    assert refused.status_code == 400
    assert 'name="allow_private" value="127.0.0.1:11434"' in refused.content.decode()
    other = visitor(owner).post(address, {**sent, "allow_private": "127.0.0.1:22"})
    assert other.status_code == 400  # the box was about another address
    visitor(owner).post(address, {**sent, "allow_private": "127.0.0.1:11434"})
    participant = Participant.objects.get(name="Muse")
    assert (participant.base_url, participant.allow_private) == ("http://127.0.0.1:11434/v1", True)
    changed = {
        **sent,
        "name": "Bard",
        "base_url": participant.base_url,
        "participant": participant.uid,
    }
    visitor(owner).post(f"/groves/{grove.uid}/participants/{participant.uid}", changed)
    participant.refresh_from_db()
    assert (participant.name, participant.allow_private) == ("Bard", True)


def test_a_model_has_a_context_that_no_small_default_cuts(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    sent = {"name": "Muse", "kind": "openai", "model": "gpt-4o"}
    visitor(owner).post(f"/groves/{grove.uid}/participants/new", sent)
    assert Participant.objects.get(name="Muse").context_limit == 32_768


def test_the_model_of_a_participant_is_changed_in_the_same_form(
    owner: User, grove: Grove, visitor: Visitor
) -> None:
    participant = Participant.objects.create(
        grove=grove, kind="model", name="Muse", model_ref="mine:small", base_url=ELSEWHERE
    )
    address = f"/groves/{grove.uid}/participants/{participant.uid}"
    page = visitor(owner).get(address).content.decode()
    assert '<option value="mine" data-url="" data-model="model" data-lists selected>' in page
    sent = {"name": "Muse", "kind": "mine", "model": "large", "base_url": ELSEWHERE}
    visitor(owner).post(address, sent)
    participant.refresh_from_db()
    assert (participant.model_ref, participant.base_url) == ("mine:large", ELSEWHERE)
    visitor(owner).post(address, {"name": "Muse", "kind": "openai", "model": "gpt-4o"})
    participant.refresh_from_db()
    assert (participant.model_ref, participant.base_url) == ("openai:gpt-4o", "")


def test_the_embedded_model_says_that_it_is_a_toy(
    owner: User, grove: Grove, visitor: Visitor, tree: Tree
) -> None:
    participant = Participant.objects.create(
        grove=grove, kind="model", name="Analyst", model_ref="local:smollm2", permissions=[LOOM]
    )
    page = visitor(owner).get(f"/groves/{grove.uid}/participants").content.decode()
    assert "The embedded model is a toy" in page
    assert f'/participants/{participant.uid}">Give Analyst a larger model' in page
    here = visitor(owner).get(f"/trees/{tree.uid}").content.decode()
    assert "a toy: too small for real work" in here
    assert "Give this agent a larger model" in here
    Participant.objects.filter(pk=participant.pk).update(model_ref="openai:gpt-4o")
    here = visitor(owner).get(f"/trees/{tree.uid}").content.decode()
    assert "toy" not in here


def test_a_page_that_is_open_can_read_who_takes_part_now(
    owner: User, writer: User, grove: Grove, visitor: Visitor, tree: Tree
) -> None:
    address = f"/trees/{tree.uid}/cast"
    assert "There are no models yet." in visitor(writer).get(address).content.decode()
    Participant.objects.create(grove=grove, kind="model", name="Bard", model_ref="openai:gpt-4o")
    page = visitor(writer).get(address).content.decode()
    assert 'name="using" value="Bard"' in page and 'data-part="people"' in page
    assert visitor().get(address).status_code == 302


def test_participants_are_told_apart_by_their_initials() -> None:
    names = ["GPT-4", "GPT-5", "GPT-5 mini", "Gp", "Gpt", "Анна", "漢字", "🦉", "  "]
    models = [Participant(uid=name, name=name, kind="model") for name in names]
    shown = [person.initials for person in cast_from(models).values()]
    assert shown == ["Gp", "G5", "Gm", "G2", "Gt", "Ан", "漢字", "🦉", "?"]
    people = [Participant(uid=name, name=name, kind="human") for name in ("Ada", "Anna", "Abe")]
    assert [person.initials for person in cast_from(people).values()] == ["A", "An", "Ab"]
