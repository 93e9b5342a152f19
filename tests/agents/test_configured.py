"""What a grove, a tree, a person and an owner of models can set, as it shows in the requests."""

import base64
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from agents.context.subject_request import PromptTooLong
from agents.refusals import too_long
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.people.commands.groves import change_grove
from loom.people.grove_settings import SETTINGS
from loom.people.models import Grove, Participant, User
from loom.trees.models import Tree
from loom.turns.models import Call, Generation
from tests.agents.conftest import Say, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)

Api = Callable[..., APIClient]
TEXTS = 12


@pytest.fixture
def long(actor: Actor, tree: Tree, model: Participant) -> Tree:
    """A path of twelve texts of 200 tokens each, which the model cannot read as a whole."""
    for n in range(TEXTS):
        execute_line(actor, tree, Request(f'respond here "Text {n}: {"word " * 158}"'))
    Tree.objects.filter(pk=tree.pk).update(system_context="The context of the tree.")
    Participant.objects.filter(pk=model.pk).update(context_limit=1733)  # room for 1,300
    return tree


def sent(ask: Say, provider: ScriptedProvider) -> str:
    """What the model is sent next, as one text."""
    provider.script(says("And so on."))
    run(*ask("continue n:1"))
    messages = provider.seen[-1].json["messages"]
    assert messages[0]["content"].startswith("You write plainly.\n\nThe context of the tree.")
    return "\n".join(message["content"] for message in messages)


def held(text: str) -> list[int]:
    """The numbers of the texts that it holds from their start."""
    return [n for n in range(TEXTS) if f"Text {n}: word" in text]


# -- truncation: by the tree, and by the person who asks


def test_the_middle_is_left_out_with_a_marker_and_the_last_four_are_kept(
    long: Tree, ask: Say, provider: ScriptedProvider
) -> None:
    text = sent(ask, provider)
    assert "[…]" in text and held(text)[0] == 0
    assert held(text)[-4:] == [8, 9, 10, 11] and len(held(text)) < TEXTS


def test_a_rolling_window_is_the_end(long: Tree, ask: Say, provider: ScriptedProvider) -> None:
    Tree.objects.filter(pk=long.pk).update(truncation="rollingWindow")
    text = sent(ask, provider)
    assert held(text) == list(range(TEXTS))[-len(held(text)) :] and "[…]" not in text


def test_stopping_at_the_limit_is_an_error_and_nobody_is_asked(
    long: Tree, ask: Say, provider: ScriptedProvider
) -> None:
    Tree.objects.filter(pk=long.pk).update(truncation="stopAtLimit")
    ended = run(*ask("continue n:1"))
    assert ended.status == "failed" and ended.error and ended.error["code"] == "LIMIT_EXCEEDED"
    assert not provider.seen


def test_a_model_that_reads_a_thousand_tokens_answers(
    long: Tree, model: Participant, ask: Say, provider: ScriptedProvider
) -> None:
    """What is reserved for the answer is at most a quarter of a small context."""
    Participant.objects.filter(pk=model.pk).update(context_limit=1000)
    text = sent(ask, provider)
    assert held(text)[-1] == TEXTS - 1 and len(text) <= 4 * 760


def test_a_context_without_room_for_a_path_is_named_as_the_cause(
    long: Tree, model: Participant, ask: Say, provider: ScriptedProvider
) -> None:
    persona = "You write plainly. " * 100
    Participant.objects.filter(pk=model.pk).update(context_limit=400, persona=persona)
    ended = run(*ask("continue n:1"))
    error = ended.error or {}
    assert error["code"] == "LIMIT_EXCEEDED" and not error["retryable"]
    assert "no room for it in the 400 tokens" in error["message"]
    assert "raise its context limit" in error["hint"] and not provider.seen


def test_nobody_is_told_to_raise_a_limit_that_the_server_of_a_model_sets(
    model: Participant, settings: Any
) -> None:
    settings.LOCAL_MODEL_URL = "http://127.0.0.1:1"
    model.model_ref, model.base_url, model.context_limit = "local:story", "", 128_000
    refused = too_long(PromptTooLong(3_000, 0), model)
    assert "in the 2,048 tokens" in refused.message
    assert refused.hint == "ask for less at once"


def test_a_person_chooses_their_own_truncation_in_a_tree(
    long: Tree, actor: Actor, writer: User, ask: Say, provider: ScriptedProvider, api: Api
) -> None:
    client = api(actor.user)
    workspace = client.get(f"/api/trees/{long.uid}").json()["workspace"]["id"]
    address = f"/api/workspaces/{workspace}"
    sent_settings = {"settings": {"truncation": "rollingWindow"}}
    changed = client.patch(address, sent_settings, format="json").json()
    assert changed["settings"]["truncation"] == "rollingWindow"
    assert "[…]" not in sent(ask, provider)
    # Somebody else's requests, and one's own afterwards, are cut as the tree says.
    other = get_actor(writer, long.grove)
    node = Generation.objects.latest("pk").point
    line = execute_line(other, long, Request(f"continue from {node.local_id} n:1"))
    provider.script(says("Theirs."))
    run(Generation.objects.get(uid=line.body["generations"][0]))
    assert "[…]" in str(provider.seen[-1].json["messages"])
    wrong = client.patch(address, {"settings": {"truncation": "none"}}, format="json")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "INVALID_SYNTAX")
    back = client.patch(address, {"settings": {"truncation": None}}, format="json").json()
    assert back["settings"]["truncation"] == "truncateMiddle"


# -- how a key is sent


def _made(client: APIClient, **fields: Any) -> dict[str, Any]:
    got = client.post("/api/participants", fields, format="json")
    assert got.status_code == 201, got.content
    return dict(got.json())


@pytest.mark.parametrize("shape", ["local:story", "anthropic:story"])
def test_a_local_endpoint_is_asked_with_basic_authentication_and_the_secret_is_nowhere(
    shape: str,
    actor: Actor,
    tree: Tree,
    opening: str,
    provider: ScriptedProvider,
    api: Api,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    client = api(actor.user)
    secret = "marie:a-secret-of-the-river"
    basic = base64.b64encode(secret.encode()).decode()
    model = _made(
        client, name="Muse", model_ref=shape, base_url=provider.url, auth="basic", api_key=secret
    )
    assert model["auth"] == "basic" and model["has_key"] is True
    provider.script(says("Yes."))
    asked = {"line": 'continue n:1 using agent:"Muse"'}
    got = client.post(f"/api/trees/{tree.uid}/commands", asked, format="json").json()
    ran = run(Generation.objects.get(uid=got["generations"][0]))
    assert ran.status == "done"
    assert provider.seen[0].header("authorization") == f"Basic {basic}"
    assert provider.seen[0].header("x-api-key") == ""
    call = Call.objects.get()
    shown = [
        model,
        client.get(f"/api/participants/{model['id']}").json(),
        client.get(f"/api/calls/{call.uid}").json(),
        list(Event.objects.values()),
        list(Step.objects.values()),
        list(Participant.objects.values()),
        call.request,
        caplog.text,
    ]
    for answer in shown:
        assert (
            secret not in str(answer)
            and basic not in str(answer)
            and "a-secret-of" not in str(answer)
        )


def test_with_auth_none_no_key_is_sent(
    actor: Actor, model: Participant, ask: Say, opening: str, provider: ScriptedProvider, api: Api
) -> None:
    address = f"/api/participants/{model.uid}"
    changed = api(actor.user).patch(address, {"auth": "none", "api_key": "sk-1"}, format="json")
    assert changed.json()["auth"] == "none"
    provider.script(says("Yes."))
    run(*ask("continue n:1"))
    assert provider.seen[0].header("authorization") == ""


def test_basic_needs_a_name_and_a_password(actor: Actor, model: Participant, api: Api) -> None:
    client = api(actor.user)
    address = f"/api/participants/{model.uid}"
    wrong = client.patch(address, {"auth": "basic", "api_key": "sk-only"}, format="json")
    assert (wrong.status_code, wrong.json()["code"]) == (400, "INVALID_SYNTAX")
    assert "name:password" in wrong.json()["hint"]
    assert client.patch(address, {"auth": "digest"}, format="json").status_code == 400


# -- templates, and usual limits


def test_local_endpoints_are_small_where_nobody_says(
    actor: Actor, provider: ScriptedProvider, api: Api
) -> None:
    client = api(actor.user)
    own = _made(client, name="Own", model_ref="local:story", base_url=provider.url)
    assert (own["context_limit"], own["max_tokens"]) == (4096, 2048)
    told = _made(
        client, name="Told", model_ref="local:story", base_url=provider.url, context_limit=9000
    )
    assert (told["context_limit"], told["max_tokens"]) == (9000, 2048)
    far = _made(client, name="Far", model_ref="openai:gpt-5")
    assert (far["context_limit"], far["max_tokens"]) == (32_768, None)


def test_a_participant_begins_as_a_template(actor: Actor, api: Api) -> None:
    client = api(actor.user)
    listed = client.get("/api/participants/templates").json()["results"]
    names = [template["name"] for template in listed]
    assert names == ["collaborator", "analyst", "editor", "narrator", "base"]
    for template in listed:
        model = _made(
            client, name=template["name"], model_ref="test:one", template=template["name"]
        )
        assert sorted(model["permissions"]) == sorted(template["permissions"])
        assert {name: model[name] for name in template["fields"]} == template["fields"]
    own = _made(
        client,
        name="Own",
        model_ref="test:one",
        template="analyst",
        persona="Mine.",
        permissions=[],
    )
    assert own["persona"] == "Mine." and own["permissions"] == [] and own["archetype"] == "auditor"
    wrong = {"name": "No", "model_ref": "test:one", "template": "wizard"}
    got = client.post("/api/participants", wrong, format="json")
    assert (got.status_code, got.json()["code"]) == (404, "NOT_FOUND")


def test_one_model_serves_several_agents_with_one_key(
    actor: Actor, provider: ScriptedProvider, tree: Tree, opening: str, api: Api
) -> None:
    client = api(actor.user)
    first = _made(
        client, name="First", model_ref="openai:echo", base_url=provider.url, api_key="sk-first-key"
    )
    second = _made(client, name="Second", template=first["id"], persona="You doubt.")
    assert (second["model_ref"], second["base_url"]) == (first["model_ref"], first["base_url"])
    assert second["has_key"] and second["persona"] == "You doubt."
    provider.script(says("Is it so?"))
    line = {"line": 'continue n:1 using agent:"Second"'}
    got = client.post(f"/api/trees/{tree.uid}/commands", line, format="json").json()
    run(Generation.objects.get(uid=got["generations"][0]))
    assert provider.seen[0].header("authorization") == "Bearer sk-first-key"
    # A key never goes along to another address, and never to another grove.
    url = provider.url.replace("127.0.0.1", "localhost")
    away = {"name": "Away", "template": first["id"], "base_url": "https://models.example/v1"}
    assert _made(client, **away)["has_key"] is False
    assert url != provider.url
    other = client.post("/api/groves", {"name": "Other"}, format="json").json()["id"]
    there = {"name": "There", "template": first["id"], "grove": other}
    assert client.post("/api/participants", there, format="json").status_code == 404


# -- the settings of a grove


def test_all_settings_have_a_value_and_a_schema(actor: Actor, reader: User, api: Api) -> None:
    got = api(reader).get(f"/api/groves/{actor.grove.uid}/settings").json()
    assert got["values"].keys() == got["schema"]["properties"].keys() == SETTINGS.keys()
    for name, field in got["schema"]["properties"].items():
        assert got["values"][name] == field["default"] and field["description"]
        if field["type"] == "integer":
            assert field["minimum"] <= field["default"] <= field["maximum"]
    values = got["values"]
    numbers = "summary_tokens tree_summary_tokens tree_summary_every truncation_kept".split()
    assert [values[name] for name in numbers] == [50, 120, 10, 4]
    assert values["truncation_reserve"] == 1024 and values["standard_steps"] == 100


@pytest.mark.parametrize(
    "wrong",
    [
        {"summary_tokens": 1},
        {"summary_tokens": True},
        {"quick_steps": "20"},
        {"steps": 5},
        {"auto_open": 1},
        {"evict": "fifo"},
    ],
)
def test_a_setting_out_of_bounds_is_refused(wrong: dict[str, Any], actor: Actor, api: Api) -> None:
    address = f"/api/groves/{actor.grove.uid}/settings"
    got = api(actor.user).patch(address, {"trace_actions": 3, **wrong}, format="json")
    assert (got.status_code, got.json()["code"]) == (400, "INVALID_SYNTAX")
    assert Grove.objects.get(pk=actor.grove.pk).settings == {}


def test_only_owners_change_settings_and_null_is_the_default(
    actor: Actor, writer: User, api: Api
) -> None:
    address = f"/api/groves/{actor.grove.uid}/settings"
    assert api(writer).patch(address, {"trace_actions": 3}, format="json").status_code == 403
    client = api(actor.user)
    changed = client.patch(address, {"trace_actions": 3, "quick_seconds": 90}, format="json").json()
    assert (changed["values"]["trace_actions"], changed["values"]["quick_seconds"]) == (3, 90)
    back = client.patch(address, {"trace_actions": None}, format="json").json()
    assert back["values"]["trace_actions"] == 10
    assert Grove.objects.get(pk=actor.grove.pk).settings == {"quick_seconds": 90}


def test_numbers_of_a_grove_are_what_holds(
    long: Tree, actor: Actor, ask: Say, provider: ScriptedProvider, api: Api
) -> None:
    numbers = {"truncation_kept": 7, "trace_actions": 2, "continue_max": 2, "stashes": 1}
    change_grove(actor, settings=numbers)
    long = Tree.objects.select_related("grove").get(pk=long.pk)
    text = sent(ask, provider)
    assert held(text) == [6, 7, 8, 9, 10, 11] and "[…]" not in text  # seven do not fit

    def say(line: str) -> str:
        return str(execute_line(actor, long, Request(line)).body["reply"])

    assert len(say("memory trace").splitlines()) == 2
    say('stash "one" "text"')
    for line in ("continue n:3", 'stash "two" "text"'):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "LIMIT_EXCEEDED"


def test_budgets_of_turns_are_those_of_the_grove(
    actor: Actor, tree: Tree, agent: Participant, opening: str, api: Api
) -> None:
    change_grove(actor, settings={"quick_steps": 7, "quick_seconds": 33})
    body = {"participant": agent.uid, "node": opening, "budget": "quick"}
    client = api(actor.user)
    turn = client.post(f"/api/trees/{tree.uid}/turns", body, format="json").json()
    got = client.get(f"/api/turns/{turn['id']}").json()["budget"]
    assert (got["steps"], got["milliseconds"], got["rounds"]) == (7, 33_000, 3)


# -- two people at one field


def test_who_saves_a_field_second_is_refused_and_named_who_was_first(
    actor: Actor, writer: User, tree: Tree, api: Api
) -> None:
    address = f"/api/trees/{tree.uid}"
    first = {"memory": "Theirs.", "seen": {"memory": ""}}
    assert api(writer).patch(address, first, format="json").status_code == 200
    client = api(actor.user)
    second = {
        "memory": "Mine.",
        "author_note": "[Slow.]",
        "seen": {"memory": "", "author_note": ""},
    }
    got = client.patch(address, second, format="json")
    assert (got.status_code, got.json()["code"]) == (409, "CONFLICT")
    assert get_actor(writer, tree.grove).participant.name in got.json()["message"]
    now = client.get(address).json()
    assert (now["memory"], now["author_note"]) == ("Theirs.", "")
    second["seen"] = {"memory": "Theirs.", "author_note": ""}
    assert client.patch(address, second, format="json").json()["memory"] == "Mine."
    # The same text twice is no conflict, and a field that nobody names is not compared.
    assert client.patch(address, first | {"memory": "Mine."}, format="json").status_code == 200
    assert client.patch(address, {"title": "T"}, format="json").status_code == 200


# -- the pages


def test_the_form_of_a_model_begins_as_a_template_and_keeps_the_key_of_another(
    actor: Actor, provider: ScriptedProvider, api: Api, client: Client
) -> None:
    client.force_login(actor.user)
    base = f"/groves/{actor.grove.uid}/participants"
    form = client.get(f"{base}/new?template=analyst").content.decode()
    assert "You read closely" in form and 'name="template" value="analyst"' in form
    given = {"name": "First", "model_ref": "openai:echo", "base_url": provider.url}
    model = _made(api(actor.user), **given, api_key="sk-1")
    page = client.get(f"{base}/{model['id']}").content.decode()
    assert f"{base}/new?template={model['id']}" in page
    sent = {
        "template": model["id"],
        "kind": "openai",
        "model": "echo",
        "base_url": provider.url,
        "name": "Second",
        "auth": "none",
        "persona": "You doubt.",
    }
    assert client.post(f"{base}/new", sent).status_code == 302
    second = Participant.objects.get(name="Second")
    assert (second.persona, second.auth, bool(second.sealed_key)) == ("You doubt.", "none", True)
    local = {**sent, "template": "", "kind": "local", "model": "story", "name": "Local"}
    assert client.post(f"{base}/new", local).status_code == 302
    third = Participant.objects.get(name="Local")
    assert (third.context_limit, third.max_tokens) == (4096, 2048)


def test_the_page_of_settings_changes_any_number_and_takes_it_back(
    actor: Actor, client: Client
) -> None:
    client.force_login(actor.user)
    page = f"/groves/{actor.grove.uid}/settings"
    assert 'name="tree_summary_every"' in client.get(page).content.decode()
    sent = {"name": "Grove", "tree_summary_every": "5", "trace_actions": ""}
    client.post(page, sent)
    assert Grove.objects.get(pk=actor.grove.pk).settings["tree_summary_every"] == 5
    client.post(page, {**sent, "tree_summary_every": ""})
    assert "tree_summary_every" not in Grove.objects.get(pk=actor.grove.pk).settings
