"""The form with which owners change a model: it changes what was changed in the page alone."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client

from loom.access import Actor
from loom.engine.models import Event
from loom.participants import commands as participants
from loom.participants.commands import ParticipantChangeArgs
from loom.people.models import Participant
from tests.web.conftest import Visitor

FIELDS: dict[str, Any] = {
    "name": "Muse",
    "model_ref": "openai:gpt",
    "base_url": "https://models.example/v1",
    "persona": " Speak softly.\n\nAnd “briefly” & <plainly>.\n",
    "temperature": 1.0,
    "max_tokens": 400,
    "stop": ["\n\n", "END"],
    "capabilities": ["grammar", "instruction", "prefill"],
    "context_limit": 20_000,
    "prices": {"input": 3.0, "output": 0.0, "caches_from": 1024.0},
    "tool_filter": ["erase", "prune"],
    "provider_tools": [{"type": "web_search_1", "name": "web_search", "in": ["“Ulm” & <é>", 1.5]}],
    "authority": 2,
    "archetype": "editor",
    "budget": "quick",
    "parallel": 3,
}
PRICES = {"input": 9.0, "output": 12.0}
BARE = {"name": "Bare", "model_ref": "openai:gpt", "capabilities": []}


class SentForm(HTMLParser):
    """What a browser sends of the form of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[str, list[str]] = {}
        self._text = self._select = ""
        self._is_form = False
        self.feed(page)

    def _add(self, name: str, value: str) -> None:
        self.values.setdefault(name, []).append(value)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self._is_form = given.get("autocomplete") == "off"
        elif not self._is_form:
            return
        elif tag == "input" and name and (given.get("type") != "checkbox" or "checked" in given):
            self._add(name, value or ("on" if given.get("type") == "checkbox" else ""))
        elif tag == "textarea":
            self._text = name
            self._add(name, "")
        elif tag == "select":
            self._select = name
        elif tag == "option" and (self._select not in self.values or "selected" in given):
            self.values[self._select] = [value]
            self._text = "" if "value" in given else self._select

    def handle_data(self, data: str) -> None:
        if self._text:
            self.values[self._text][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in ("textarea", "option"):
            self._text = ""
        elif tag == "form":
            self._is_form = False


def address(model: Participant) -> str:
    """The page of a model."""
    return f"/groves/{model.grove.uid}/participants/{model.uid}"


def opened(client: Client, model: Participant) -> dict[str, list[str]]:
    """The form as it is sent from a page that was just opened."""
    return SentForm(client.get(address(model)).content.decode()).values


@pytest.fixture
def client(actor: Actor, visitor: Visitor) -> Client:
    """The browser of an owner."""
    return visitor(actor.user)


@pytest.fixture
def model(actor: Actor) -> Participant:
    """A model with all that the form has."""
    return made(actor, FIELDS, ["loom_aware", "loom_write"])


def made(actor: Actor, fields: dict[str, Any], permissions: list[str]) -> Participant:
    """A model with these settings."""
    return participants.make_participant(
        actor, ParticipantChangeArgs(fields=fields, permissions=permissions)
    )


def change(actor: Actor, model: Participant, **fields: Any) -> None:
    """What another owner saves."""
    participants.change_participant(actor, model, ParticipantChangeArgs(fields=fields))


@pytest.mark.parametrize(("fields", "permissions"), [(FIELDS, ["loom_aware"]), (BARE, [])])
def test_a_form_that_is_sent_as_it_was_opened_changes_nothing(
    fields: dict[str, Any], permissions: list[str], actor: Actor, client: Client
) -> None:
    model = made(actor, fields, permissions)
    before = participants.participant_body(model)
    assert client.post(address(model), opened(client, model)).status_code == 302
    model.refresh_from_db()
    assert participants.participant_body(model) == before
    assert not Event.objects.filter(kind="participant.changed").exists()


def test_what_somebody_else_saved_meanwhile_stays(
    actor: Actor, client: Client, model: Participant
) -> None:
    form = opened(client, model)
    change(actor, model, persona="Speak up.", model_ref="openai:gpt-5", prices=PRICES)
    form["temperature"] = ["0.5"]
    assert client.post(address(model), form).status_code == 302
    model.refresh_from_db()
    assert (model.temperature, model.persona) == (0.5, "Speak up.")
    assert (model.model_ref, model.prices) == ("openai:gpt-5", PRICES)
    assert model.permissions == ["loom_aware", "loom_write"]


def test_what_a_probe_found_meanwhile_stays(client: Client, model: Participant) -> None:
    form = opened(client, model)
    Participant.objects.filter(pk=model.pk).update(
        capabilities=["images", "instruction", "prefill"]
    )
    assert client.post(address(model), form | {"way": ["few_shot"]}).status_code == 302
    model.refresh_from_db()
    assert model.capabilities == ["images", "few_shot"]


def test_a_field_that_both_changed_is_refused_and_nothing_typed_is_lost(
    actor: Actor, client: Client, model: Participant
) -> None:
    form = opened(client, model)
    change(actor, model, persona="Speak up.", max_tokens=77)
    form |= {"persona": ["Sing."], "temperature": ["0.5"]}
    answer = client.post(address(model), form)
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "somebody else" in page and "Speak up." in page
    model.refresh_from_db()
    assert (model.persona, model.temperature) == ("Speak up.", 1.0)
    again = SentForm(page).values
    assert (again["persona"], again["temperature"]) == (["Sing."], ["0.5"])
    assert client.post(address(model), again).status_code == 302
    model.refresh_from_db()
    assert (model.persona, model.temperature, model.max_tokens) == ("Sing.", 0.5, 77)


def test_another_refusal_does_not_make_a_form_newer(
    actor: Actor, client: Client, model: Participant
) -> None:
    form = opened(client, model)
    change(actor, model, persona="Speak up.")
    page = client.post(address(model), form | {"temperature": ["9"]}).content.decode()
    again = SentForm(page).values | {"temperature": ["0.5"]}
    assert client.post(address(model), again).status_code == 302
    model.refresh_from_db()
    assert (model.persona, model.temperature) == ("Speak up.", 0.5)


def test_the_same_change_by_two_is_no_conflict(
    actor: Actor, client: Client, model: Participant
) -> None:
    form = opened(client, model)
    change(actor, model, temperature=0.5)
    assert client.post(address(model), form | {"temperature": ["0.5"]}).status_code == 302


def test_a_key_is_not_stored_for_an_address_that_its_owner_has_not_seen(
    actor: Actor, client: Client, model: Participant
) -> None:
    form = opened(client, model)
    change(actor, model, base_url="https://elsewhere.example/v1")
    answer = client.post(address(model), form | {"api_key": ["sk-secret"]})
    assert answer.status_code == 400 and b"elsewhere.example" in answer.content
    model.refresh_from_db()
    assert model.sealed_key == ""


def test_permissions_that_somebody_took_away_meanwhile_are_not_given_back(
    actor: Actor, client: Client, model: Participant
) -> None:
    form = opened(client, model)
    participants.change_participant(actor, model, ParticipantChangeArgs(permissions=[]))
    assert client.post(address(model), form | {"name": ["Lark"]}).status_code == 302
    model.refresh_from_db()
    assert (model.name, model.permissions) == ("Lark", [])


@pytest.mark.parametrize("seen", ["{", "[]", "7"])
def test_what_no_page_has_shown_is_refused(seen: str, client: Client, model: Participant) -> None:
    assert client.post(address(model), opened(client, model) | {"seen": [seen]}).status_code == 400


def test_tools_of_the_provider_are_written_as_json(
    actor: Actor, client: Client, model: Participant
) -> None:
    form = opened(client, model)
    form["provider_tools"] = ['[{"type": "code_execution_1"}]']
    assert client.post(address(model), form).status_code == 302
    model.refresh_from_db()
    assert model.provider_tools == [{"type": "code_execution_1"}]
    form = opened(client, model)
    refusals = {
        "web_search": "This is not a list in JSON.",
        '{"type": "a"}': "This is not a list in JSON.",
        "[" * 3_000: "This is not a list in JSON.",
        "[" * 400 + "]" * 400: "levels",
        '[{"type": "function"}]': "is run by its caller",
    }
    for typed, words in refusals.items():
        page = client.post(address(model), {**form, "provider_tools": [typed]})
        assert page.status_code == 400 and words in page.content.decode()
        shown = SentForm(page.content.decode()).values["provider_tools"]
        assert shown == [typed]
    form = opened(client, model) | {"provider_tools": [""]}
    assert client.post(address(model), form).status_code == 302
    model.refresh_from_db()
    assert model.provider_tools == []
    assert "base models have no tools" in client.get(address(model)).content.decode()
