"""What a provider of identities answers is checked: a token that was made for another program, of
another provider or with another key signs nobody in, and no answer breaks anything."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from config.env import OpenId
from loom.openid import provider
from loom.people.models import User
from tests.clients import open_client
from tests.openid.hostile import HostileProvider

pytestmark = pytest.mark.django_db


@pytest.fixture
def hostile(settings: Settings) -> Iterator[HostileProvider]:
    """The organisation's provider, which answers as a test wants."""
    with HostileProvider() as there:
        settings.OPENID = OpenId(
            issuer=there.origin, name="Sorbonne", client="heddle", secret="s", new="anybody"
        )
        provider._client.cache_clear()
        yield there
        provider._client.cache_clear()


def sign_in() -> Any:
    """What a new browser gets who goes there and comes back."""
    client = Client()
    sent = client.get("/openid/start")
    if sent.status_code != 302:
        return sent
    with open_client() as there:
        answer = there.get(sent["Location"])
    return client.get(answer.headers["Location"])


def is_in(answer: Any) -> bool:
    """Whether somebody was signed in."""
    assert answer.status_code in (302, 400, 401), answer.status_code
    return bool(answer.status_code == 302 and User.objects.filter(username="marie").exists())


def test_an_honest_answer_signs_in(hostile: HostileProvider) -> None:
    assert is_in(sign_in())


@pytest.mark.parametrize("audience", ["heddle", ["heddle"], ["heddle", "other"]])
def test_a_token_for_this_program_signs_in(hostile: HostileProvider, audience: object) -> None:
    hostile.claims = {"aud": audience, "azp": "heddle"}
    assert is_in(sign_in())


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "other"},
        {"aud": "other", "azp": "heddle"},
        {"aud": ["other"], "azp": "heddle"},
        {"aud": ["heddle", "other"], "azp": "other"},
        {"aud": []},
        {"aud": ""},
        {"aud": None},
        {"aud": {"heddle": 1}},
        {"iss": "https://a.example"},
        {"iss": None},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"sub": "1\0"},
        {"sub": "s" * 256},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_this_sign_in_signs_nobody_in(
    hostile: HostileProvider, claims: dict[str, Any]
) -> None:
    hostile.claims = claims
    answer = sign_in()
    assert not is_in(answer) and "did not confirm who you are" in answer.content.decode()


@pytest.mark.parametrize("name", ["email", "preferred_username", "name"])
def test_half_a_character_in_a_claim_is_no_error(hostile: HostileProvider, name: str) -> None:
    hostile.claims = {name: "Marie \ud800"}
    assert sign_in().status_code == 302


@pytest.mark.parametrize("token", [{"id_token": None}, {"id_token": 5}, {"id_token": "a.b.c"}])
def test_an_answer_without_a_token_is_reported_in_a_sentence(
    hostile: HostileProvider, token: dict[str, Any]
) -> None:
    hostile.token = token
    answer = sign_in()
    assert not is_in(answer) and "did not confirm who you are" in answer.content.decode()


@pytest.mark.parametrize("names_key", [True, False])
def test_another_key_is_refused_until_the_provider_publishes_it(
    hostile: HostileProvider, names_key: bool
) -> None:
    hostile.names_key = names_key
    assert is_in(sign_in())
    hostile.signs_with = "second"
    assert sign_in().status_code == 400
    hostile.keys = ["second"]
    answers = [sign_in().status_code for _ in range(2)]
    assert answers[-1] == 302
    hostile.signs_with = "first"
    assert sign_in().status_code == 400


@pytest.mark.parametrize(
    "keys", [[1], {"keys": None}, "x", {"keys": [{"kty": "x"}]}, {"keys": [5]}, {"a": 1}], ids=str
)
def test_keys_that_cannot_be_read_are_asked_for_again(hostile: HostileProvider, keys: Any) -> None:
    hostile.keys = keys
    assert not is_in(sign_in())
    hostile.keys = ["first"]
    assert is_in(sign_in())


@pytest.mark.parametrize(
    "description",
    [
        [],
        "x",
        None,
        {"issuer": "https://a.example"},
        {"issuer": None},
        {"token_endpoint": 5},
    ],
    ids=str,
)
def test_a_description_that_cannot_be_used_is_asked_for_again(
    hostile: HostileProvider, description: Any
) -> None:
    hostile.description = description
    assert sign_in().status_code in (400, 401, 503)
    hostile.description = {}
    assert is_in(sign_in())


def test_the_sentence_of_an_address_is_not_shown(hostile: HostileProvider, client: Client) -> None:
    answer = client.get("/openid/back?error=access_denied&error_description=Call+0123+456")
    assert "access_denied" in answer.content.decode() and "0123" not in answer.content.decode()
    answer = client.get("/openid/back?error=Call+0123+456")
    assert answer.status_code == 400 and "0123" not in answer.content.decode()


def test_many_people_without_a_name_are_all_let_in(hostile: HostileProvider) -> None:
    for number in range(24):
        hostile.claims = {"sub": f"s{number}", "preferred_username": None}
        assert sign_in().status_code == 302, number
    assert User.objects.filter(username__startswith="person").count() == 24
