"""Who asks: keys, cookies, and what neither of them may do."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.test import Client as Browser
from django.utils import timezone
from rest_framework.test import APIClient

from loom.access import get_actor
from loom.live.rechecks import Pass, memberships, verdicts_of
from loom.people.commands import accounts as people
from loom.people.models import ApiKey, Participant, User, UserSession
from loom.site import api_requests as requests
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from loom.turns.access import acting_in
from loom.turns.models import Turn

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


def bearer(user: User, **more: Any) -> tuple[APIClient, ApiKey]:
    """A client with a fresh key of the user, and the key's row."""
    key, secret = people.make_key(user, "laptop", **more)
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    return client, key


def _said(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_a_key_needs_no_csrf_token(owner: User) -> None:
    client, _ = bearer(owner)
    response = client.post("/api/groves", {"name": "Mine"}, format="json")
    assert response.status_code == 201


def test_the_use_of_a_key_is_noted_at_most_once_a_minute(owner: User) -> None:
    client, key = bearer(owner)
    client.get("/api/me")
    key.refresh_from_db()
    first = key.last_used_at
    assert first is not None
    client.get("/api/me")
    key.refresh_from_db()
    assert key.last_used_at == first
    ApiKey.objects.update(last_used_at=first - timedelta(minutes=2))
    client.get("/api/me")
    key.refresh_from_db()
    assert key.last_used_at is not None and key.last_used_at > first - timedelta(minutes=1)


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer ",
        "Bearer nonsense",
        "Basic b3duZXI6",
        "bearer  x y",
        "Bearer \xff",
        "x" * 9000,
    ],
)
def test_bad_credentials_are_refused_whatever_they_look_like(header: str, owner: User) -> None:
    client = APIClient()
    client.force_login(owner)  # the header decides, not the cookie that came along
    answer = client.get("/api/me", HTTP_AUTHORIZATION=header)
    assert _said(answer) == (401, "UNAUTHENTICATED")
    assert answer["WWW-Authenticate"].startswith("Bearer")


def test_a_page_whose_person_signed_out_is_not_told_of_keys() -> None:
    client = Browser()
    for_programs = client.get("/api/me").json()
    assert "Authorization: Bearer KEY" in for_programs["hint"]
    client.get("/signin")  # gives the CSRF cookie, as every page does
    answer = client.get("/api/me")
    assert _said(answer) == (401, "UNAUTHENTICATED")
    assert answer.json()["message"] == "You are signed out."
    assert "/signin" in answer.json()["hint"] and "KEY" not in answer.json()["hint"]


def test_a_revoked_key_and_an_inactive_user_come_in_no_more(owner: User, writer: User) -> None:
    client, key = bearer(owner)
    people.revoke_key(owner, key.uid)
    assert client.get("/api/me").status_code == 401
    client, _ = bearer(writer)
    User.objects.filter(pk=writer.pk).update(is_active=False)
    assert client.get("/api/me").status_code == 401


def test_a_cookie_needs_the_csrf_token_to_change_something(owner: User) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(owner)
    assert client.get("/api/me").status_code == 200
    refused = client.post("/api/groves", {"name": "x"}, format="json")
    assert _said(refused) == (403, "PERMISSION_DENIED")
    assert "X-CSRFToken" in refused.json()["hint"]
    client.cookies[settings.CSRF_COOKIE_NAME] = "a" * 32
    sent = client.post("/api/groves", {"name": "x"}, format="json", HTTP_X_CSRFTOKEN="a" * 32)
    assert sent.status_code == 201


@pytest.mark.parametrize("body", [r'{"name": "a\u0000b"}', '{"name": '])
def test_a_body_that_cannot_be_read_is_not_called_a_wrong_token(owner: User, body: str) -> None:
    client = APIClient(enforce_csrf_checks=True)
    client.force_login(owner)
    client.cookies[settings.CSRF_COOKIE_NAME] = "a" * 32
    client.credentials(HTTP_X_CSRFTOKEN="a" * 32)
    sent = client.post("/api/groves", body, content_type="application/json")
    assert _said(sent) == (400, "INVALID_SYNTAX")


def test_keys_are_listed_without_their_secret_and_can_be_revoked(owner: User, api: Client) -> None:
    client = api(owner)
    body = client.post("/api/api-keys", {"name": "laptop"}, format="json").json()
    listed = client.get("/api/api-keys").json()
    assert listed["results"] == [{name: body[name] for name in body if name != "key"}]
    assert body["key"].endswith(body["hint"]) and body["key"] not in str(listed)
    assert not ApiKey.objects.filter(digest=body["key"]).exists()
    assert client.delete(f"/api/api-keys/{body['id']}").json() == {"ok": True}
    assert client.get("/api/api-keys").json() == {"count": 0, "results": []}
    assert client.delete(f"/api/api-keys/{body['id']}").status_code == 404


def test_browsers_are_listed_and_signed_out(owner: User, rf: Any) -> None:
    here, there = Browser(), Browser()
    for browser in (here, there):
        browser.force_login(owner)
        UserSession.objects.create(
            user=owner, session_key=browser.session.session_key or "", uid=f"uid{browser is here}"
        )
    gone = Browser()
    gone.force_login(owner)
    UserSession.objects.create(user=owner, session_key=gone.session.session_key or "", uid="gone")
    gone.session.flush()
    listed = here.get("/api/me/sessions").json()
    assert listed["count"] == 2
    assert [result["here"] for result in listed["results"]].count(True) == 1
    assert here.delete("/api/me/sessions/uidFalse").status_code == 200
    assert there.get("/api/me").status_code == 401
    assert here.get("/api/me").status_code == 200


def test_a_new_password_signs_all_other_browsers_out(owner: User) -> None:
    here, there = Browser(), Browser()
    for browser in (here, there):
        browser.post("/signin", {"username": "owner", "password": "owner-password"})
        assert browser.get("/api/me").status_code == 200
    wrong = here.post(
        "/api/me/password",
        {"old": "no", "new": "glade-of-birches"},
        content_type="application/json",
    )
    assert _said(wrong) == (409, "REJECTED")
    weak = here.post(
        "/api/me/password",
        {"old": "owner-password", "new": "12345678"},
        content_type="application/json",
    )
    assert _said(weak) == (400, "INVALID_SYNTAX")
    done = here.post(
        "/api/me/password",
        {"old": "owner-password", "new": "glade-of-birches"},
        content_type="application/json",
    )
    assert done.status_code == 200
    assert there.get("/api/me").status_code == 401
    assert here.get("/api/me").status_code == 200
    assert here.get("/api/me/sessions").json()["results"][0]["here"] is True
    owner.refresh_from_db()
    assert owner.check_password("glade-of-birches")


def test_requests_over_the_limit_are_told_when_to_come_again(
    owner: User, api: Client, settings: Any
) -> None:
    settings.REQUESTS_A_MINUTE = 3
    client, other = bearer(owner)[0], bearer(owner)[0]
    assert [client.get("/api/me").status_code for _ in range(3)] == [200] * 3
    over = client.get("/api/me")
    assert _said(over) == (429, "LIMIT_EXCEEDED")
    assert 1 <= int(over["Retry-After"]) <= 60
    assert over.json()["retryable"] is True
    assert other.get("/api/me").status_code == 200  # each key has its own


def test_a_broker_that_is_away_lets_requests_through(
    owner: User, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests._Away, "until", 0.0)
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.REQUESTS_A_MINUTE = 1
    client, _ = bearer(owner)
    assert [client.get("/api/me").status_code for _ in range(3)] == [200] * 3
    monkeypatch.setattr(requests._Away, "until", 0.0)


def test_times_and_who_i_am(owner: User, tree: Tree, api: Client) -> None:
    body = api(owner).get("/api/me").json()
    assert (body["user"], body["groves"][0]["role"]) == ("owner", "owner")
    created_at = body["groves"][0]["created_at"]
    assert created_at.endswith("Z") and len(created_at) == len("2026-11-21T02:07:00.123456Z")
    assert timezone.now().year >= int(created_at[:4])


@pytest.mark.parametrize("scope", ["read", "write", "owner"])
def test_a_key_takes_no_account_over(scope: str, owner: User) -> None:
    client, key = bearer(owner, scope=scope)
    browser = Browser()
    browser.post("/signin", {"username": "owner", "password": "owner-password"})
    session = UserSession.objects.get(user=owner)
    other = people.make_key(owner, "other")[0]
    sent = {"old": "owner-password", "new": "glade-of-birches"}
    answers = [
        client.post("/api/me/password", sent, format="json"),
        client.post("/api/api-keys", {"name": "more"}, format="json"),
        client.delete(f"/api/me/sessions/{session.uid}"),
        client.delete(f"/api/api-keys/{other.uid}"),
    ]
    assert [_said(answer) for answer in answers] == [(403, "PERMISSION_DENIED")] * 4
    assert browser.get("/api/me").status_code == 200
    owner.refresh_from_db()
    assert owner.check_password("owner-password")
    if scope != "read":
        assert client.delete(f"/api/api-keys/{key.uid}").status_code == 200
        assert client.get("/api/me").status_code == 401


def _line(client: APIClient, tree: Tree, line: str) -> int:
    body = {"line": line}
    return int(client.post(f"/api/trees/{tree.uid}/commands", body, format="json").status_code)


def test_a_key_that_may_read_changes_nothing(owner: User, tree: Tree) -> None:
    client, _ = bearer(owner, scope="read")
    workspace = client.get(f"/api/trees/{tree.uid}").json()["workspace"]["id"]
    assert _line(client, tree, "view root") == 200
    for line in ('respond root "a"', "switch to root", "undo", 'think "x"'):
        assert _line(client, tree, line) == 403, line
    for method, path, body in (
        ("patch", "settings", {"theme": "dark"}),
        ("post", "groves", {"name": "Mine"}),
        ("patch", f"trees/{tree.uid}", {"title": "Other"}),
        ("post", "workspaces", {"tree": tree.uid}),
        ("put", f"workspaces/{workspace}/drafts/commands", {"text": "a"}),
    ):
        answer = getattr(client, method)(f"/api/{path}", body, format="json")
        assert _said(answer) == (403, "PERMISSION_DENIED"), path


@pytest.mark.parametrize("line", ['respond root "a"', 'think "x"', 'todo add "x"'])
def test_a_key_that_may_only_read_is_what_is_advised_about(
    owner: User, tree: Tree, line: str
) -> None:
    """Whatever its person may do themselves."""
    client, _ = bearer(owner, scope="read")
    body = {"line": line}
    answer = client.post(f"/api/trees/{tree.uid}/commands", body, format="json").json()
    assert answer["hint"] == "use a key with the scope write"


def test_a_key_that_may_write_owns_nothing(owner: User, grove: Any, tree: Tree) -> None:
    client, _ = bearer(owner, scope="write")
    assert _line(client, tree, 'respond root "a"') == 200
    assert client.patch("/api/settings", {"theme": "dark"}, format="json").status_code == 200
    assert client.get("/api/me").json()["groves"][0]["role"] == "writer"
    for method, path, body in (
        ("post", "groves", {"name": "Mine"}),
        ("patch", f"groves/{grove.uid}", {"name": "Other"}),
        ("post", f"groves/{grove.uid}/invitations", {"role": "owner"}),
        ("post", f"participants?grove={grove.uid}", {"name": "N", "model_ref": "local:a"}),
        ("post", f"trees/{tree.uid}/public-links", {"days": 7}),
        ("delete", f"trees/{tree.uid}", {"title": tree.title}),
    ):
        answer = getattr(client, method)(f"/api/{path}", body, format="json")
        assert _said(answer) == (403, "PERMISSION_DENIED"), path


def test_a_scope_holds_by_whatever_address_a_tree_is_reached(owner: User, tree: Tree) -> None:
    actor = get_actor(owner, tree.grove)
    view = node_writer.workspace_of(actor.participant, tree)
    client, _ = bearer(owner, scope="read")
    for line, status in (("view root", 200), ('respond root "a"', 403), ("switch to root", 403)):
        path = f"/api/workspaces/{view.uid}/commands"
        assert client.post(path, {"line": line}, format="json").status_code == status, line
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Ed", model_ref="openai:a", permissions=["loom_aware"]
    )
    client, _ = bearer(owner, scope="write")
    asks = {"participant": agent.uid}
    body = client.post(f"/api/trees/{tree.uid}/turns", asks, format="json").json()
    turn = Turn.objects.get(uid=body["id"])
    assert (acting_in(turn).role, acting_in(turn).user.scope) == ("writer", "write")


def test_a_scope_gives_no_more_than_the_person_has(reader: User, tree: Tree) -> None:
    client, _ = bearer(reader, scope="owner")
    assert _line(client, tree, 'respond root "a"') == 403


def test_a_key_ends_when_its_days_are_over(owner: User) -> None:
    client, key = bearer(owner, days=30)
    assert client.get("/api/me").status_code == 200
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = client.get("/api/me")
    assert _said(answer) == (401, "UNAUTHENTICATED")
    assert "expired" in answer.json()["message"]


def test_a_key_made_by_a_browser_has_the_scope_and_days_it_asked_for(
    owner: User, api: Client
) -> None:
    sent = {"name": "desk", "scope": "read", "days": 7}
    body = api(owner).post("/api/api-keys", sent, format="json").json()
    assert body["scope"] == "read"
    assert body["expires_at"].endswith("Z")
    for wrong in ({"scope": "all"}, {"days": 0}, {"days": 10**6}):
        answer = api(owner).post("/api/api-keys", {"name": "x", **wrong}, format="json")
        assert answer.status_code in (400, 429) and not ApiKey.objects.filter(name="x")
    page = Browser()
    page.force_login(owner)
    shown = page.post("/settings/key", {"name": "k", "scope": "read", "days": "30"})
    assert shown.status_code == 200
    key = ApiKey.objects.get(name="k")
    assert (key.scope, key.is_over, key.expires_at is None) == ("read", False, False)
    assert "read-only" in page.get("/settings/access").content.decode()


def test_a_socket_of_a_key_has_the_role_that_its_scope_leaves(owner: User, grove: Any) -> None:
    key, _ = people.make_key(owner, "k", scope="read", days=1)
    ticket = Pass(owner.pk, grove.pk, None, key_id=key.pk, scope="read")
    assert memberships({ticket}) == {ticket: "reader"}
    assert verdicts_of({ticket}) == {ticket: "reader"}
    ApiKey.objects.filter(pk=key.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert verdicts_of({ticket}) == {ticket: 4401}


@pytest.mark.parametrize(
    ("path", "page"), [("api-keys", "Settings, Access"), ("gateway-keys", "Settings, Programs")]
)
def test_a_key_that_cannot_make_another_names_the_page_that_can(
    owner: User, path: str, page: str
) -> None:
    client, _ = bearer(owner)
    answer = client.post(f"/api/{path}", {"name": "a", "participant": "x"}, format="json")
    assert answer.status_code == 403 and answer.json()["hint"].endswith(page)
