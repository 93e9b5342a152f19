"""Coming in: password, one-time link, invitation; and going out."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from lxml import html

from config.logs import MaskingFormatter, masked
from loom.access import Actor, get_actor
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import Grove, Membership, User, UserSession
from loom.trees.commands import trees
from loom.trees.models import Tree
from tests.conftest import make_user
from tests.web.conftest import Visitor


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


def test_a_script_of_somebody_who_is_signed_out_is_answered_in_what_it_asks_for(
    visitor: Visitor,
) -> None:
    client = visitor()
    answer = client.get("/trees/t/search?q=x", HTTP_ACCEPT="application/json")
    assert (answer.status_code, answer.json()["code"]) == (401, "UNAUTHENTICATED")
    assert client.get("/trees/t/search?q=x", HTTP_X_PART="1").status_code == 401
    assert client.get("/trees/t/search?q=x", HTTP_ACCEPT="text/html").status_code == 302


@pytest.mark.parametrize(
    ("referer", "expected"),
    [
        ("http://testserver/settings/look?tab=1", "/settings/look%3Ftab%3D1"),
        ("http://evil.test/settings/look", "/"),
        ("//evil.test", "/"),
        ("", "/"),
    ],
)
def test_a_form_of_an_ended_session_leads_back_to_its_page(
    visitor: Visitor, referer: str, expected: str
) -> None:
    client = visitor()
    answer = client.post("/settings/profile", {"display_name": "Zoe"}, HTTP_REFERER=referer)
    assert answer.status_code == 302
    assert answer["Location"] == f"/signin?unsent=1&next={expected}"
    assert "so nothing was sent" in client.get(answer["Location"]).content.decode()
    assert "so nothing was sent" not in client.get("/signin?next=/").content.decode()


def test_every_page_with_a_form_of_an_ended_session_can_be_opened_again(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client, stranger = visitor(owner), visitor()
    grove = f"/groves/{tree.grove.uid}"
    pages = [grove, f"{grove}/people", f"/trees/{tree.uid}/about", "/settings", "/settings/access"]
    sent = 0
    for page in pages:
        forms = html.fromstring(client.get(page).content.decode()).forms
        for action in {form.action or page for form in forms if form.method == "POST"}:
            answer = stranger.post(action, HTTP_REFERER=f"http://testserver{page}")
            query = (
                parse_qs(urlsplit(answer["Location"]).query)
                if answer.has_header("Location")
                else {}
            )
            if "next" in query:
                sent += 1
                assert client.get(query["next"][0]).status_code == 200
    assert sent > 10


def test_who_opens_the_address_of_a_form_sees_a_page(owner: User, visitor: Visitor) -> None:
    client = visitor(owner)
    answer = client.get("/operator/do/close", HTTP_ACCEPT="text/html,*/*")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert "Only forms are sent to this address." in answer.content.decode()
    assert client.get("/operator/do/close").content == b""


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.test/", "//evil.test", "javascript:alert(1)", "/\\evil.test"]
)
def test_signing_in_never_leads_to_another_site(
    owner: User, visitor: Visitor, elsewhere: str
) -> None:
    form = {"username": "owner", "password": "owner-password", "next": elsewhere}
    assert visitor().post("/signin", form)["Location"] == "/"


@pytest.mark.django_db
@pytest.mark.parametrize("typed", ["BJÖRN-ilse", "björn-ILSE", " Bjo\u0308rn-Ilse "])
def test_a_name_is_read_in_any_case(typed: str, visitor: Visitor) -> None:
    people.make_user("Björn-Ilse", "glade-of-birches")
    client = visitor()
    client.post("/signin", {"username": typed, "password": "glade-of-birches"})
    assert signed_in(client)


@pytest.mark.django_db
def test_names_that_only_look_alike_sign_nobody_in(visitor: Visitor) -> None:
    people.make_user("Ilse", "glade-of-birches")
    client = visitor()
    for typed in ("llse", "Ilsé", "ılse"):
        client.post("/signin", {"username": typed, "password": "glade-of-birches"})
    assert not signed_in(client)


def test_an_unknown_name_costs_what_a_known_one_does(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    encode = MD5PasswordHasher.encode

    def counted(self: MD5PasswordHasher, password: str, salt: str) -> str:
        hashed.append(password)
        return encode(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", counted)
    costs = set()
    for name in ("owner", "OWNER", "nobody-of-this-name"):
        hashed.clear()
        with CaptureQueriesContext(connection) as queries:
            assert authenticate(None, username=name, password="wrong") is None
        costs.add((len(queries), len(hashed)))
    assert costs == {(2, 1)}


def test_another_case_or_form_of_a_name_gives_no_more_attempts(
    owner: User, visitor: Visitor
) -> None:
    client = visitor()
    for name in ("owner", "OWNER", "ｏｗｎｅｒ", "Owner", "oWNER") * 2:
        client.post("/signin", {"username": name, "password": "wrong"})
    answer = client.post("/signin", {"username": "ＯＷＮＥＲ", "password": "owner-password"})
    assert answer.status_code == 429


def test_a_wrong_password_says_so_and_after_ten_there_is_a_pause(
    owner: User, visitor: Visitor
) -> None:
    client = visitor()
    for _ in range(10):
        answer = client.post("/signin", {"username": "owner", "password": "wrong"})
        assert "name or password is wrong" in answer.content.decode()
    answer = client.post("/signin", {"username": "owner", "password": "owner-password"})
    assert answer.status_code == 429
    assert "Too many failed attempts" in answer.content.decode()
    assert not signed_in(client)


def test_wrong_passwords_from_one_address_lock_nobody_else_out(
    owner: User, visitor: Visitor
) -> None:
    for _ in range(12):
        visitor().post("/signin", {"username": "owner", "password": "wrong"})
    client = visitor()
    form = {"username": "owner", "password": "owner-password"}
    assert client.post("/signin", form).status_code == 429
    assert client.post("/signin", form, REMOTE_ADDR="192.0.2.7").status_code == 302


def test_many_addresses_leave_a_few_attempts_to_each_other_one(
    owner: User, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(people, "MOST_FOR", 12)
    form = {"username": "owner", "password": "wrong"}
    for number in range(people.MOST_FOR):
        visitor().post("/signin", form, REMOTE_ADDR=f"192.0.2.{number}")
    statuses = [
        visitor().post("/signin", form, REMOTE_ADDR="198.51.100.9").status_code for _ in range(5)
    ]
    assert statuses == [400, 400, 400, 429, 429]
    right = {**form, "password": "owner-password"}
    assert visitor().post("/signin", right, REMOTE_ADDR="198.51.100.10").status_code == 302


def test_an_attempt_counts_before_its_password_is_checked(
    owner: User, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []

    def late(request: object, **given: str) -> None:
        """Checks as slowly as others come: each begins another attempt before it ends."""
        checked.append(given)
        if len(checked) < 40:
            visitor().post("/signin", {"username": "owner", "password": "wrong"})

    monkeypatch.setattr("loom.people.pages.accounts.authenticate", late)
    visitor().post("/signin", {"username": "owner", "password": "wrong"})
    assert len(checked) == people.MOST


def test_wrong_old_passwords_count_like_those_of_signing_in(owner: User, visitor: Visitor) -> None:
    client = visitor(owner)
    wrong = {"old": "wrong", "new": "birch-90-birch"}
    for _ in range(people.MOST):
        assert (
            "old password is wrong"
            in client.post("/settings/password", wrong, follow=True).content.decode()
        )
    right = {"old": "owner-password", "new": "birch-90-birch"}
    answer = client.post("/settings/password", right, follow=True)
    assert "Too many failed attempts" in answer.content.decode()
    form = {"username": "owner", "password": "owner-password"}
    assert visitor().post("/signin", form).status_code == 429
    assert visitor().post("/signin", form, REMOTE_ADDR="192.0.2.7").status_code == 302


def test_a_right_password_takes_the_wrong_ones_back(owner: User, visitor: Visitor) -> None:
    for _ in range(3):
        for _ in range(9):
            visitor().post("/signin", {"username": "owner", "password": "wrong"})
        form = {"username": "owner", "password": "owner-password"}
        assert visitor().post("/signin", form).status_code == 302


def test_one_network_of_ipv6_counts_as_one_address(owner: User, visitor: Visitor) -> None:
    form = {"username": "owner", "password": "wrong"}
    statuses = [
        visitor().post("/signin", form, REMOTE_ADDR=f"2001:db8:1:2::{number:x}").status_code
        for number in range(11)
    ]
    assert statuses == [400] * 10 + [429]


def test_addresses_of_ipv4_written_as_ipv6_are_not_one_network(
    owner: User, visitor: Visitor
) -> None:
    form = {"username": "owner", "password": "wrong"}
    statuses = [
        visitor().post("/signin", form, REMOTE_ADDR=f"::ffff:10.1.2.{number}").status_code
        for number in range(11)
    ]
    assert statuses == [400] * 11


def test_no_secret_of_a_link_is_in_the_log(
    db: None, visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    for path in ("/signin/", "/invitations/", "/public/"):
        visitor().get(f"{path}secret-of-a-link?x=1")
    lines = [MaskingFormatter("%(name)s %(message)s").format(record) for record in caplog.records]
    assert any("/invitations/…" in line for line in lines), lines
    assert "secret-of-a-link" not in "".join(lines)
    assert masked("key hd_abcdefghijklmnopqrstuv.") == "key …."
    assert "config.logs.MaskingFormatter" in str(settings.LOGGING["formatters"])


def test_looking_at_a_one_time_link_does_not_use_it_up(owner: User, visitor: Visitor) -> None:
    secret = people.make_signin_link(owner)
    client = visitor()
    address = f"/signin/{secret}"
    for _ in range(2):
        assert '<button class="button primary">Sign in<' in client.get(address).content.decode()
    assert client.post(f"/signin/{secret}").status_code == 302
    assert signed_in(client)
    again = visitor()
    assert again.get(f"/signin/{secret}").status_code == 404
    assert again.post(f"/signin/{secret}").status_code == 404
    assert not signed_in(again)


def test_the_first_link_asks_for_a_name_and_later_ones_greet_by_it(
    owner: User, visitor: Visitor
) -> None:
    page = visitor().get(f"/signin/{people.make_signin_link(owner)}").content.decode()
    assert "autofocus" in page.split('name="display_name"')[1].split(">")[0]
    assert "owner" not in page.split("<h1>")[1].split("</h1>")[0]
    User.objects.filter(pk=owner.pk).update(display_name="Ada")
    page = visitor().get(f"/signin/{people.make_signin_link(owner)}").content.decode()
    assert "display_name" not in page
    assert "Welcome, Ada" in page and "Sign in as Ada" in page


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
    _, secret = groves.make_invitation(actor, role="writer", days=1, uses=1)
    client = visitor()
    assert (
        "Owner invites you. Your role: writer."
        in client.get(f"/invitations/{secret}").content.decode()
    )
    form = {"username": "ada", "password": "walks the tall grass"}
    assert client.post(f"/invitations/{secret}", form)["Location"] == f"/groves/{grove.uid}"
    assert Membership.objects.get(user__username="ada").role == "writer"
    assert signed_in(client)
    assert visitor().get(f"/invitations/{secret}").status_code == 404


def test_a_weak_password_or_a_taken_name_uses_nothing_up(
    actor: Actor, owner: User, visitor: Visitor
) -> None:
    _, secret = groves.make_invitation(actor, role="writer", days=1, uses=1)
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
    _, secret = groves.make_invitation(actor, role="reader", days=1, uses=1)
    visitor(user).post(f"/invitations/{secret}")
    assert Membership.objects.get(grove=grove, user=user).role == "reader"


def test_the_first_sign_in_asks_for_a_name(owner: User, actor: Actor, visitor: Visitor) -> None:
    link = f"/signin/{people.make_signin_link(owner)}"
    client = visitor()
    assert 'name="display_name"' in client.get(link).content.decode()
    refused = client.post(link, {"display_name": "Ada\u202eLovelace"})
    assert refused.status_code == 400 and not signed_in(client)
    assert client.post(link, {"display_name": "Ada Lovelace"}).status_code == 302
    actor.participant.refresh_from_db()
    owner.refresh_from_db()
    assert (actor.participant.name, owner.display_name) == ("Ada Lovelace", "Ada Lovelace")
    again = f"/signin/{people.make_signin_link(owner)}"
    assert 'name="display_name"' not in visitor().get(again).content.decode()


def test_an_invitation_names_tree_and_inviter_and_leads_to_the_tree(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    page = visitor(owner).post(f"/trees/{tree.uid}/share/invite", {"role": "reader", "days": "7"})
    link = re.search(r"/invitations/[^<]+", page.content.decode())
    assert link is not None
    client = visitor()
    shown = client.get(link[0]).content.decode()
    assert "Owner invites you to “Marie” and this grove. Your role: reader." in shown
    form = {"username": "bea", "password": "bea walks the tall grass", "tree": tree.uid}
    assert client.post(link[0], form)["Location"] == f"/trees/{tree.uid}"
    assert client.get(f"/trees/{tree.uid}").status_code == 200


def test_an_invitation_names_no_tree_of_another_grove(
    actor: Actor, outsider: User, visitor: Visitor
) -> None:
    elsewhere = get_actor(outsider, groves.make_grove(outsider, "Elsewhere"))
    other = trees.make_tree(elsewhere, trees.NewTree(title="Secret plans", mode="dialogue"))
    _, secret = groves.make_invitation(actor, role="reader", days=7, uses=1)
    page = visitor().get(f"/invitations/{secret}?tree={other.uid}").content.decode()
    assert "Secret plans" not in page and "invites you. Your role: reader." in page
