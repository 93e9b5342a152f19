"""Coming in: password, one-time link, invitation; and going out."""

import pytest
from django.test import Client

from loom.access import Actor
from loom.commands import invitations, people
from loom.models import Grove, Membership, User, UserSession
from tests.conftest import make_user
from tests.doors.web.conftest import Visitor


def signed_in(client: Client) -> bool:
    """Whether the browser is somebody's."""
    return client.get("/settings").status_code == 200


def test_a_stranger_is_led_to_the_form_and_back(owner: User, visitor: Visitor) -> None:
    client = visitor()
    answer = client.get("/settings?x=1")
    assert answer.status_code == 302
    assert answer["Location"] == "/signin?next=/settings%3Fx%3D1"
    form = {"username": "owner", "password": "owner-password", "next": "/settings?x=1"}
    assert client.post("/signin", form)["Location"] == "/settings?x=1"
    assert signed_in(client)


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.test/", "//evil.test", "javascript:alert(1)", "/\\evil.test"]
)
def test_signing_in_never_leads_to_another_site(
    owner: User, visitor: Visitor, elsewhere: str
) -> None:
    form = {"username": "owner", "password": "owner-password", "next": elsewhere}
    assert visitor().post("/signin", form)["Location"] == "/"


def test_a_wrong_password_says_so_and_after_ten_there_is_a_pause(
    owner: User, visitor: Visitor
) -> None:
    client = visitor()
    for _ in range(10):
        answer = client.post("/signin", {"username": "owner", "password": "wrong"})
        assert "do not go together" in answer.content.decode()
    answer = client.post("/signin", {"username": "owner", "password": "owner-password"})
    assert answer.status_code == 429
    assert "Too many attempts" in answer.content.decode()
    assert not signed_in(client)


def test_looking_at_a_one_time_link_does_not_use_it_up(owner: User, visitor: Visitor) -> None:
    secret = people.make_signin_link(owner)
    client = visitor()
    for _ in range(2):
        assert "Sign in as owner" in client.get(f"/signin/{secret}").content.decode()
    assert client.post(f"/signin/{secret}").status_code == 302
    assert signed_in(client)
    again = visitor()
    assert again.get(f"/signin/{secret}").status_code == 404
    assert again.post(f"/signin/{secret}").status_code == 404
    assert not signed_in(again)


def test_a_sign_in_is_listed_and_signing_out_ends_it(owner: User, visitor: Visitor) -> None:
    client = visitor()
    client.post("/signin", {"username": "owner", "password": "owner-password"})
    assert UserSession.objects.filter(user=owner).count() == 1
    client.post("/signout")
    assert not signed_in(client)
    assert UserSession.objects.filter(user=owner).count() == 0


def test_signing_out_needs_a_post(owner: User, visitor: Visitor) -> None:
    client = visitor(owner)
    assert client.get("/signout").status_code == 405
    assert signed_in(client)


def test_who_opens_an_invitation_chooses_name_and_password_and_is_a_member(
    actor: Actor, grove: Grove, visitor: Visitor
) -> None:
    _, secret = invitations.make_invitation(actor, role="writer", days=1, uses=1)
    client = visitor()
    assert "invited as writer" in client.get(f"/invitations/{secret}").content.decode()
    form = {"username": "ada", "password": "walks the tall grass"}
    assert client.post(f"/invitations/{secret}", form)["Location"] == f"/groves/{grove.uid}"
    assert Membership.objects.get(user__username="ada").role == "writer"
    assert signed_in(client)
    assert visitor().get(f"/invitations/{secret}").status_code == 404


def test_a_weak_password_or_a_taken_name_uses_nothing_up(
    actor: Actor, owner: User, visitor: Visitor
) -> None:
    _, secret = invitations.make_invitation(actor, role="writer", days=1, uses=1)
    client = visitor()
    for form in (
        {"username": "ada", "password": "short"},
        {"username": "ada", "password": ""},
        {"username": "owner", "password": "walks the tall grass"},
    ):
        assert client.post(f"/invitations/{secret}", form).status_code == 400
    assert client.get(f"/invitations/{secret}").status_code == 200


def test_somebody_with_an_account_joins_with_it(
    actor: Actor, grove: Grove, visitor: Visitor
) -> None:
    user = make_user("beth")
    _, secret = invitations.make_invitation(actor, role="reader", days=1, uses=1)
    visitor(user).post(f"/invitations/{secret}")
    assert Membership.objects.get(grove=grove, user=user).role == "reader"
