"""Signing in by OpenID Connect, at a provider that runs for the tests."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings as conf
from django.test import Client
from oidc_provider_mock import run_server_in_thread

from config.env import OpenId, WrongSetting, _openid
from loom.access import Actor
from loom.engine.models import Step
from loom.identities.models import Identity
from loom.openid import provider
from loom.people.commands import groves
from loom.people.models import Grove, Membership, User
from tests.clients import open_client

pytestmark = [pytest.mark.django_db, pytest.mark.filterwarnings("ignore:get_jwt_config")]
MARIE = {"preferred_username": "marie", "name": "Marie Curie", "email": "marie@example.org"}


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """The address of a provider of identities; whoever asks may be anybody."""
    with run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture
def openid(issuer: str, settings: Any) -> Iterator[Any]:
    """Sets the organisation up, with what a test changes."""

    def changed(**more: Any) -> None:
        given = {"name": "Sorbonne", "client": "heddle", "secret": "s", "new": "anybody", **more}
        settings.OPENID = OpenId(issuer=issuer, **given)
        provider._client.cache_clear()

    changed()
    yield changed
    provider._client.cache_clear()


def account(issuer: str, subject: str, **claims: Any) -> None:
    """Makes somebody known to the provider."""
    with open_client() as there:
        there.put(f"{issuer}/users/{subject}", json=claims).raise_for_status()


def sign_in(client: Client, subject: str, start: str = "/openid/start") -> Any:
    """What the browser gets who goes there, says who it is, and comes back."""
    sent = client.get(start)
    assert sent.status_code == 302, sent.content.decode()
    with open_client() as there:
        answer = there.post(sent["Location"], data={"sub": subject})
    assert answer.status_code in (302, 303), answer.text
    back = urlsplit(answer.headers["Location"])
    assert back.path == "/openid/back"
    return client.get(f"{back.path}?{back.query}")


def whose(client: Client) -> str:
    """Who has signed in with this browser; "" for nobody."""
    pk = client.session.get("_auth_user_id")
    return User.objects.get(pk=pk).username if pk else ""


def test_somebody_new_gets_an_account_once(openid: Any, issuer: str, client: Client) -> None:
    account(issuer, "1", **MARIE)
    shown = client.get("/signin?next=/guide").content.decode()
    assert "Sign in with Sorbonne" in shown and "/openid/start?next=/guide" in shown
    came = sign_in(client, "1", "/openid/start?next=/guide")
    assert (came.status_code, came["Location"]) == (302, "/guide")
    marie = User.objects.get(username="marie")
    assert (whose(client), marie.display_name) == ("marie", "Marie Curie")
    assert not marie.has_usable_password()
    # A second time, under another name there: the same person.
    account(issuer, "1", **MARIE | {"preferred_username": "mme"})
    other = Client()
    sign_in(other, "1")
    assert whose(other) == "marie"
    assert marie.browsers.count() == 2


def test_a_name_that_is_taken_is_nobody_elses(
    openid: Any, issuer: str, client: Client, owner: User
) -> None:
    account(issuer, "2", preferred_username="owner", email="owner@example.org")
    sign_in(client, "2")
    assert whose(client) == "owner-2"


@pytest.mark.parametrize("new", ["nobody", "groups"])
def test_whoever_is_not_let_in_is_told_why(
    openid: Any, issuer: str, client: Client, new: str
) -> None:
    openid(new=new)
    account(issuer, "3", **MARIE)
    refused = sign_in(client, "3")
    assert refused.status_code == 400
    assert "Ask an owner of your grove to invite you." in refused.content.decode()
    assert whose(client) == "" and not User.objects.filter(username="marie").exists()


def test_groups_make_members_change_roles_and_end_what_they_made(
    openid: Any, issuer: str, client: Client, grove: Grove, owner: User
) -> None:
    openid(
        new="groups",
        groups=(
            ("lab", grove.uid, "reader"),
            ("chiefs", grove.uid, "writer"),
            ("x", "none", "owner"),
        ),
    )

    def role_with(*groups: str) -> str | None:
        account(issuer, "4", **MARIE, groups=list(groups))
        sign_in(client, "4")
        member = Membership.objects.filter(grove=grove, user__username="marie").first()
        return member.role if member else None

    assert role_with("lab") == "reader"
    assert role_with("lab", "chiefs", "x") == "writer"
    steps = Step.objects.count()
    assert role_with("chiefs") == "writer"
    assert Step.objects.count() == steps  # nothing has changed
    assert role_with("lab") == "reader"
    assert role_with() is None
    assert role_with("lab") == "reader"
    # Whom somebody invited stays: no group made them a member.
    groves.remove_member(_owner(owner, grove), "marie")
    groves.add_member(_owner(owner, grove), "marie", "writer")
    Identity.objects.get(subject="4").groves.clear()
    assert role_with("lab") == "writer"
    assert role_with() == "writer"


@pytest.mark.parametrize("way", ["unlink", "another account"])
def test_what_a_group_made_does_not_outlive_the_link(
    openid: Any, issuer: str, client: Client, grove: Grove, owner: User, way: str
) -> None:
    openid(new="anybody", groups=(("chiefs", grove.uid, "owner"), ("lab", grove.uid, "reader")))
    account(issuer, "14", **MARIE, groups=["chiefs"])
    account(issuer, "15", preferred_username="other")
    sign_in(client, "14")
    marie = User.objects.get(username="marie")
    marie.set_password("radium in the shed")
    marie.save()
    client.force_login(marie)

    def role() -> str | None:
        return (
            Membership.objects.filter(grove=grove, user=marie)
            .values_list("role", flat=True)
            .first()
        )

    assert role() == "owner"
    if way == "unlink":
        client.post("/openid/unlink")
    else:
        client.post("/openid/link")
        sign_in(client, "15", "/openid/start?next=/settings/access")
        assert Identity.objects.get(user=marie).subject == "15"
    assert role() is None
    # Her groups make her a member again, and another one where she has an account of the same.
    account(issuer, "16", **MARIE, groups=["lab"])
    for subject, expected in (("14", "owner"), ("16", "reader")):
        client.post("/openid/link")
        sign_in(client, subject, "/openid/start?next=/settings/access")
        assert role() == expected


def _owner(owner: User, grove: Grove) -> Actor:
    from loom.access import get_actor

    return get_actor(owner, grove)


def test_an_account_is_linked_by_its_owner_and_only_by_a_form(
    openid: Any, issuer: str, client: Client, owner: User
) -> None:
    openid(new="nobody")
    account(issuer, "5", **MARIE)
    client.force_login(owner)
    # Not by an address that somebody else can make a browser open.
    assert "invite you" not in sign_in(client, "5").get("Location", "")
    assert not Identity.objects.exists()
    page = client.post("/openid/link").content.decode()
    assert "/openid/start?next=/settings/access" in page
    came = sign_in(client, "5", "/openid/start?next=/settings/access")
    assert came["Location"] == "/settings/access"
    assert "marie@example.org" in client.get("/settings/access").content.decode()
    other = Client()
    sign_in(other, "5")
    assert whose(other) == "owner"
    client.post("/openid/unlink")
    assert not Identity.objects.exists()
    assert sign_in(Client(), "5").status_code == 400


def test_an_account_of_somebody_else_is_not_linked(
    openid: Any, issuer: str, client: Client, owner: User, writer: User
) -> None:
    Identity.objects.create(user=writer, issuer=issuer, subject="6")
    client.force_login(owner)
    client.post("/openid/link")
    sign_in(client, "6")
    assert Identity.objects.get(subject="6").user == writer
    assert "is linked to writer" in client.get("/settings/access").content.decode()


def test_the_last_way_in_is_kept(openid: Any, issuer: str, client: Client) -> None:
    account(issuer, "7", **MARIE)
    sign_in(client, "7")
    client.post("/openid/unlink")
    assert Identity.objects.filter(subject="7").exists()


@pytest.mark.parametrize(
    "query", ["", "?code=x", "?code=x&state=y", "?error=access_denied&error_description=<b>no"]
)
def test_what_did_not_begin_here_signs_nobody_in(openid: Any, client: Client, query: str) -> None:
    refused = client.get(f"/openid/back{query}")
    assert refused.status_code == 400
    assert "<b>no" not in refused.content.decode() and whose(client) == ""


def test_a_code_of_one_browser_is_no_use_in_another(
    openid: Any, issuer: str, client: Client
) -> None:
    account(issuer, "8", **MARIE)
    sent = client.get("/openid/start")
    assert parse_qs(urlsplit(sent["Location"]).query)["code_challenge_method"] == ["S256"]
    with open_client() as there:
        back = urlsplit(there.post(sent["Location"], data={"sub": "8"}).headers["Location"])
    other = Client()
    assert other.get(f"{back.path}?{back.query}").status_code == 400
    assert whose(other) == ""
    assert client.get(f"{back.path}?{back.query}").status_code == 302
    # Nor a second time.
    assert Client().get(f"{back.path}?{back.query}").status_code == 400


def test_without_an_organisation_there_is_no_such_way(client: Client, owner: User) -> None:
    assert OpenId() == conf.OPENID
    assert client.get("/openid/start").status_code == 404
    assert client.get("/openid/back").status_code == 404
    assert "openid" not in client.get("/signin").content.decode()
    client.force_login(owner)
    assert "openid" not in client.get("/settings/access").content.decode()
    assert client.post("/openid/link").status_code == 404


def test_an_organisation_that_is_away_is_reported_in_a_sentence(
    openid: Any, client: Client, settings: Any
) -> None:
    settings.OPENID = OpenId(issuer="http://localhost:9", client="x", name="Sorbonne")
    provider._client.cache_clear()
    answer = client.get("/openid/start")
    assert answer.status_code == 503
    assert "Sorbonne does not answer." in answer.content.decode()


def test_a_user_whose_account_is_closed_stays_out(
    openid: Any, issuer: str, client: Client, writer: User
) -> None:
    Identity.objects.create(user=writer, issuer=issuer, subject="9")
    User.objects.filter(pk=writer.pk).update(is_active=False)
    assert sign_in(client, "9").status_code == 400
    assert whose(client) == ""


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("HEDDLE_OIDC_ISSUER", "id.example.org", "is no address"),
        ("HEDDLE_OIDC_CLIENT", "", "needs HEDDLE_OIDC_CLIENT"),
        ("HEDDLE_OIDC_NEW", "all", "does not exist"),
        ("HEDDLE_OIDC_GROUPS", "lab:reader", "HEDDLE_OIDC_GROUPS contains"),
        ("HEDDLE_OIDC_GROUPS", "lab=a7x2:chief", "HEDDLE_OIDC_GROUPS contains"),
    ],
)
def test_a_wrong_variable_ends_the_start_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, sentence: str
) -> None:
    monkeypatch.setenv("HEDDLE_OIDC_ISSUER", "https://id.example.org")
    monkeypatch.setenv("HEDDLE_OIDC_CLIENT", "heddle")
    monkeypatch.setenv("HEDDLE_OIDC_GROUPS", "lab=a7x2:reader, a=b=c3:owner")
    assert _openid().groups == (("lab", "a7x2", "reader"), ("a=b", "c3", "owner"))
    monkeypatch.setenv(name, value)
    with pytest.raises(WrongSetting, match=sentence):
        _openid()
