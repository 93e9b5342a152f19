"""Lists of models: asked by a worker, kept for a day, without the key."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache

from agents.providers import probing
from agents.providers.transport import the_loop
from loom.access import Actor
from loom.errors import CommandError
from loom.participants import commands as participants
from loom.participants.commands import (
    ParticipantChangeArgs,
    ProviderAddress,
    ask_models,
    listing_of,
)
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, raw

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "sk-very-secret"


@pytest.fixture(autouse=True)
def _forgets() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def lists(*names: str) -> Any:
    """An endpoint's list of models."""
    body = json.dumps({"data": [{"id": name} for name in names]}).encode()
    return raw(body, kind="application/json")


def catalogue_of(actor: Actor, source: ProviderAddress, *, again: bool = False) -> dict[str, Any]:
    """The list of models once a worker has asked for it."""
    uid = ask_models(actor, source, again=again)["id"]
    the_loop().run(probing.list_models(uid))
    return listing_of(actor, uid)


def test_an_address_says_which_models_it_has(actor: Actor, provider: ScriptedProvider) -> None:
    provider.script(lists("m-1", "m-2"))
    told = catalogue_of(actor, ProviderAddress("custom", provider.url, KEY))
    assert (told["status"], told["models"], told["error"]) == ("done", ["m-1", "m-2"], None)
    (seen,) = provider.seen
    assert (seen.method, seen.path) == ("GET", "/v1/models")
    assert seen.header("authorization") == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({"context_length": 131_072}, 131_072),
        ({"max_model_len": 8192}, 8192),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 32_768}}, 4096),
        ({"context_window": 16_384}, 16_384),
        ({"context_length": "many"}, None),
        ({"context_length": -1}, None),
        ({}, None),
    ],
)
def test_a_list_says_how_much_a_model_reads(
    actor: Actor, provider: ScriptedProvider, fields: dict[str, Any], tokens: int | None
) -> None:
    body = json.dumps({"data": [{"id": "m-1", **fields}]}).encode()
    provider.script(raw(body, kind="application/json"))
    told = catalogue_of(actor, ProviderAddress("custom", provider.url))
    assert (told["models"], told["contexts"].get("m-1")) == (["m-1"], tokens)


def test_a_list_is_asked_for_with_the_key_of_its_participant(
    actor: Actor, provider: ScriptedProvider
) -> None:
    participant = participants.make_participant(
        actor,
        ParticipantChangeArgs(
            fields={"name": "Muse", "model_ref": "custom:m", "base_url": provider.url}, api_key=KEY
        ),
    )
    provider.script(lists("m-1"), lists("m-2"))
    source = ProviderAddress("custom", provider.url, participant=participant.uid)
    assert KEY not in json.dumps(ask_models(actor, source))
    assert catalogue_of(actor, source)["models"] == ["m-1"]
    assert provider.seen[0].header("authorization") == f"Bearer {KEY}"
    other = ProviderAddress("openrouter", provider.url, participant=participant.uid)
    assert catalogue_of(actor, other)["models"] == ["m-2"]
    assert provider.seen[1].header("authorization") == ""


def test_a_private_address_is_called_once_an_operator_allows_it(
    actor: Actor, provider: ScriptedProvider, settings: Any
) -> None:
    settings.PROVIDER_ALLOW = ()
    settings.PRIVATE_ADDRESSES = "operator"
    allowed = ProviderAddress("custom", provider.url, allow_private=True)
    with pytest.raises(CommandError) as refused:
        ask_models(actor, allowed)
    assert refused.value.code == "PERMISSION_DENIED"
    actor.user.is_operator = True
    with pytest.raises(CommandError) as refused:
        ask_models(actor, ProviderAddress("custom", provider.url))
    assert refused.value.hint == "allow it here"
    provider.script(lists("m-1"))
    assert catalogue_of(actor, allowed)["models"] == ["m-1"]
    settings.PRIVATE_ADDRESSES = "nobody"
    with pytest.raises(CommandError) as refused:
        ask_models(actor, allowed, again=True)
    assert refused.value.code == "PERMISSION_DENIED"


def test_what_was_found_is_kept_until_somebody_asks_again(
    actor: Actor, provider: ScriptedProvider
) -> None:
    source = ProviderAddress("custom", provider.url, KEY)
    provider.script(lists("m-1"), lists("m-2"), lists("m-3"))
    assert catalogue_of(actor, source)["models"] == ["m-1"]
    assert catalogue_of(actor, source)["models"] == ["m-1"]
    assert len(provider.seen) == 1
    assert catalogue_of(actor, source, again=True)["models"] == ["m-2"]
    assert catalogue_of(actor, ProviderAddress("custom", provider.url, "another"))["models"] == [
        "m-3"
    ]


def test_a_key_is_kept_sealed_and_only_until_the_answer(
    actor: Actor, provider: ScriptedProvider
) -> None:
    provider.script(fails(401, f"no such key: {KEY}"))
    source = ProviderAddress("custom", provider.url, KEY)
    waiting = ask_models(actor, source)
    assert waiting["sealed"] and KEY not in json.dumps(waiting)
    told = catalogue_of(actor, source)
    assert (told["status"], told["sealed"]) == ("failed", "")
    assert told["error"]["reason"] == "auth" and KEY not in json.dumps(told)
    provider.script(lists("m-1"))
    assert catalogue_of(actor, source)["models"] == ["m-1"]


def test_anthropics_shape_is_asked_in_its_own_way(actor: Actor, provider: ScriptedProvider) -> None:
    provider.script(lists("claude"))
    told = catalogue_of(actor, ProviderAddress("anthropic", provider.url, KEY))
    assert (told["error"], told["models"]) == (None, ["claude"])
    assert provider.seen[0].path == "/v1/models"
    assert provider.seen[0].header("x-api-key") == KEY


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (ProviderAddress("custom"), "INVALID_SYNTAX"),
        (ProviderAddress("litellm"), "REJECTED"),
        (ProviderAddress("ollama"), "REJECTED"),
        (ProviderAddress("custom", "http://169.254.169.254/v1"), "REJECTED"),
    ],
)
def test_what_cannot_or_must_not_be_asked_is_refused(
    actor: Actor, source: ProviderAddress, code: str
) -> None:
    with pytest.raises(CommandError) as refused:
        ask_models(actor, source)
    assert refused.value.code == code and refused.value.hint


def test_a_list_of_another_grove_is_not_there(actor: Actor, provider: ScriptedProvider) -> None:
    told = ask_models(actor, ProviderAddress("custom", provider.url))
    participants.note_models({**told, "grove": "another"}, {"m": 0}, None)
    with pytest.raises(CommandError):
        listing_of(actor, told["id"])
    with pytest.raises(CommandError):
        listing_of(actor, "nothing")
