"""Signing in with a second factor: setting it up, codes and recovery codes, and who removes it."""

import re
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.test import Client
from rest_framework.test import APIClient

from loom.errors import CommandError
from loom.operations import commands as operations
from loom.people.commands import accounts
from loom.people.commands.accounts import make_key, make_signin_link
from loom.people.models import User, UserSession
from loom.second_factor import codes, commands
from loom.second_factor.models import RecoveryCode, SecondFactor
from tests.conftest import make_user

pytestmark = pytest.mark.django_db


def code_of(user: User, *, steps: int = 0) -> str:
    """What the app of the user shows now, or so many steps later."""
    secret = codes.open_sealed(SecondFactor.objects.get(user=user).sealed)
    app = TOTP(secret, codes.DIGITS, SHA1(), codes.STEP_S, enforce_key_length=False)
    return app.generate(int(time.time()) + steps * codes.STEP_S).decode()


def set_up(user: User) -> list[str]:
    """Sets it up, with a code of the step before; the recovery codes."""
    commands.begin(user)
    return commands.confirm(user, code_of(user, steps=-1))


def entered(client: Client, user: User) -> Any:
    """What a browser gets for the right name and password."""
    given = {"username": user.username, "password": f"{user.username}-password"}
    return client.post("/signin?next=/guide", given)


def is_in(client: Client) -> bool:
    """Whether the browser has signed in."""
    return client.get("/settings").status_code == 200


def listed(page: str) -> list[str]:
    """The recovery codes of a page."""
    return re.findall(r"(?<=[>\n])[a-z2-9]{4}-[a-z2-9]{4}-[a-z2-9]{4}(?=\n)", page)


def test_it_is_set_up_on_a_page_with_a_qr_code(owner: User) -> None:
    client = Client()
    client.force_login(owner)
    assert "Set it up" in client.get("/settings/access").content.decode()
    assert client.get("/second-factor/set-up").status_code == 302
    shown = client.post("/second-factor/do/begin", follow=True).content.decode()
    secret = codes.open_sealed(SecondFactor.objects.get(user=owner).sealed)
    assert codes.shown_secret(secret) in shown
    assert '<svg class="qr" role="img"' in shown and "style=" not in shown
    # Until it is confirmed nothing is asked for.
    assert entered(other := Client(), owner)["Location"] == "/guide" and is_in(other)
    wrong = client.post("/second-factor/do/confirm", {"code": "000000"})
    assert wrong.status_code == 400 and "This code is wrong." in wrong.content.decode()
    page = client.post("/second-factor/do/confirm", {"code": code_of(owner)}).content.decode()
    assert len(set(listed(page))) == commands.RECOVERY_CODES == RecoveryCode.objects.count()
    assert client.get("/second-factor/set-up").status_code == 302
    settings = client.get("/settings/access").content.decode()
    assert "10 recovery codes are left" in settings
    assert is_in(client)  # who is signed in stays so
    assert "already" in client.post("/second-factor/do/begin", follow=True).content.decode()


def test_the_app_reads_its_secret_from_the_qr_code(owner: User) -> None:
    address = codes.app_address(b"12345678901234567890", "ada b", "loom.example.org:8000")
    assert address == (
        "otpauth://totp/Heddle%20loom.example.org%3A8000%3Aada%20b"
        "?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Heddle%20loom.example.org%3A8000"
    )
    drawn = codes.qr_code(address, "a <title>")
    assert "a &lt;title&gt;" in drawn
    assert drawn.count("h1v1h-1z") > 400
    assert codes.qr_code("one", "t") != codes.qr_code("two", "t")


def test_codes_are_those_of_the_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = b"12345678901234567890"
    for at, code in ((59, "287082"), (1111111109, "081804"), (20000000000, "353130")):
        monkeypatch.setattr(time, "time", lambda at=at: at)
        assert codes.step_of(secret, code, after=0) == at // 30
        assert codes.step_of(secret, f" {code[:3]} {code[3:]} ", after=0) == at // 30
        for wrong in ("", "1", code[::-1] + "1", "²87082", "2870821", "-87082"):
            assert codes.step_of(secret, wrong, after=0) is None
        monkeypatch.setattr(time, "time", lambda at=at: at + 90)
        assert codes.step_of(secret, code, after=0) is None


def test_nobody_is_signed_in_by_a_password_alone(owner: User) -> None:
    set_up(owner)
    client = Client()
    assert entered(client, owner)["Location"] == "/second-factor"
    assert not is_in(client)
    assert not UserSession.objects.filter(user=owner).exists()
    assert client.get("/api/me").status_code == 401
    assert client.post("/second-factor", {"code": "123456"}).status_code == 400
    assert not is_in(client)
    done = client.post("/second-factor", {"code": code_of(owner)})
    assert (done.status_code, done["Location"]) == (302, "/guide")
    assert is_in(client) and UserSession.objects.filter(user=owner).count() == 1
    assert client.get("/second-factor").status_code == 302  # nobody waits any more


def test_a_one_time_link_asks_for_it_too(owner: User) -> None:
    set_up(owner)
    client = Client()
    sent = client.post(f"/signin/{make_signin_link(owner)}", {"display_name": "Ada"})
    assert sent["Location"] == "/second-factor" and not is_in(client)
    client.post("/second-factor", {"code": code_of(owner)})
    assert is_in(client)


def test_whoever_has_entered_no_password_is_asked_for_nothing(owner: User) -> None:
    set_up(owner)
    client = Client()
    for answer in (
        client.get("/second-factor"),
        client.post("/second-factor", {"code": code_of(owner)}),
    ):
        assert (answer.status_code, answer["Location"]) == (302, "/signin")
    assert not is_in(client)


def test_one_cannot_wait_for_long(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(owner)
    client = Client()
    entered(client, owner)
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + accounts.WAITS_S + 1)
    assert client.get("/second-factor")["Location"] == "/signin"


@pytest.mark.parametrize("how", ["password", "sign out", "everywhere"])
def test_who_waits_does_not_come_in_once_the_other_browsers_are_signed_out(
    owner: User, how: str
) -> None:
    set_up(owner)
    intruder, client = Client(), Client()
    entered(intruder, owner)
    entered(client, owner)
    client.post("/second-factor", {"code": code_of(owner)})
    if how == "password":
        words = {"old": f"{owner.username}-password", "new": "rain-and-lamps-7"}
        assert client.post("/settings/password", words).status_code == 302
    elif how == "sign out":
        assert client.post("/settings/end-other-sessions").status_code == 302
    else:
        accounts.end_sessions(owner)
    answer = intruder.post("/second-factor", {"code": code_of(owner, steps=1)})
    assert answer["Location"] == "/signin" and not is_in(intruder)
    assert how == "everywhere" or is_in(client)


def test_attempts_at_a_name_use_up_none_at_its_second_factor(owner: User) -> None:
    set_up(owner)
    client = Client()
    entered(client, owner)
    for name in (f"second factor of {owner.username}", f"second factor:{owner.username}"):
        for _ in range(accounts.MOST + 1):
            Client().post("/signin", {"username": name, "password": "guess"})
    client.post("/second-factor", {"code": code_of(owner)})
    assert is_in(client)


def test_a_closed_account_does_not_come_in_by_its_code(owner: User) -> None:
    set_up(owner)
    client = Client()
    entered(client, owner)
    accounts.close(owner)
    answer = client.post("/second-factor", {"code": code_of(owner)})
    assert answer["Location"] == "/signin" and not is_in(client)


def test_a_code_works_once(owner: User) -> None:
    set_up(owner)
    code = code_of(owner)
    for works in (True, False):
        client = Client()
        entered(client, owner)
        client.post("/second-factor", {"code": code})
        assert is_in(client) == works


def test_a_recovery_code_works_once_and_for_nobody_else(owner: User, writer: User) -> None:
    first, *_ = set_up(owner)
    set_up(writer)
    for user, works in ((writer, False), (owner, True), (owner, False)):
        client = Client()
        entered(client, user)
        client.post("/second-factor", {"code": f" {first.upper()} "})
        assert is_in(client) == works
    assert RecoveryCode.objects.filter(user=owner).count() == commands.RECOVERY_CODES - 1


def test_attempts_are_counted(owner: User) -> None:
    set_up(owner)
    client = Client()
    entered(client, owner)
    answers = [
        client.post("/second-factor", {"code": f"{number:06}"}).status_code
        for number in range(accounts.MOST + 1)
    ]
    assert answers == [400] * accounts.MOST + [429]
    refused = client.post("/second-factor", {"code": code_of(owner)})
    assert refused.status_code == 429
    # A one-time link asks for a code as well.
    assert "one-time link" not in refused.content.decode()
    assert not is_in(client)


def test_keys_of_programs_go_on(owner: User) -> None:
    _, secret = make_key(owner, "laptop")
    set_up(owner)
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert client.get("/api/me").status_code == 200


def test_it_is_removed_with_a_code_only(owner: User) -> None:
    set_up(owner)
    client = Client()
    client.force_login(owner)
    answer = client.post("/second-factor/do/remove", {"code": "111111"}, follow=True)
    assert "This code is wrong." in answer.content.decode()
    answer = client.post("/second-factor/do/remove", {"code": code_of(owner)}, follow=True)
    assert "has been removed" in answer.content.decode()
    assert not SecondFactor.objects.exists() and not RecoveryCode.objects.exists()
    assert entered(Client(), owner)["Location"] == "/guide"
    answer = client.post("/second-factor/do/remove", {"code": "111111"}, follow=True)
    assert "You have no second factor." in answer.content.decode()
    assert client.post("/second-factor/do/other").status_code == 404


def test_new_recovery_codes_replace_those_before(owner: User) -> None:
    first, *_ = set_up(owner)
    client = Client()
    client.force_login(owner)
    page = client.post("/second-factor/do/codes", {"code": code_of(owner)}).content.decode()
    assert first not in page
    assert len(set(listed(page))) == 10
    assert RecoveryCode.objects.filter(user=owner).count() == 10


def test_no_secret_and_no_code_is_stored_as_it_is(owner: User) -> None:
    recovery = set_up(owner)
    row = SecondFactor.objects.get(user=owner)
    secret = codes.open_sealed(row.sealed)
    assert secret not in row.sealed.encode() and codes.shown_secret(secret) not in row.sealed
    assert not set(recovery) & set(RecoveryCode.objects.values_list("digest", flat=True))


def test_another_secret_of_the_installation_is_reported(owner: User, settings: Any) -> None:
    set_up(owner)
    client = Client()
    entered(client, owner)
    session = client.session
    settings.SECRET_KEY = "another" * 8
    settings.SECRET_KEY_FALLBACKS = ["x"]
    with pytest.raises(CommandError, match="can't be read"):
        commands.check(owner, "123456")
    assert session is not None


def test_operators_reset_what_was_lost(owner: User) -> None:
    boss = make_user("boss", is_operator=True)
    set_up(owner)
    client = Client()
    client.force_login(boss)
    assert "Reset second factor" in client.get("/operator/people").content.decode()
    answer = client.post(
        "/operator/do/reset", {"user": "owner", "what": "second-factor"}, follow=True
    )
    assert "signs in without a second factor now" in answer.content.decode()
    assert "Reset second factor" not in client.get("/operator/people").content.decode()
    assert entered(Client(), owner)["Location"] == "/guide"
    answer = client.post(
        "/operator/do/reset", {"user": "owner", "what": "second-factor"}, follow=True
    )
    assert "There is no second factor." in answer.content.decode()
    with pytest.raises(CommandError):
        operations.reset(owner, "boss", what="second-factor")
