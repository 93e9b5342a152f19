"""Signing in with a passkey: adding it, using it alone and after a password; what is refused."""

import json
import time
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from fido2.utils import websafe_decode, websafe_encode

from loom.errors import CommandError
from loom.operations import commands as operations
from loom.passkeys import ceremonies, commands
from loom.passkeys.models import AskedForPasskey, Passkey
from loom.people.commands import accounts
from loom.people.commands.accounts import make_signin_link
from loom.people.models import User, UserSession
from loom.second_factor import commands as second_factor
from loom.second_factor.models import SecondFactor
from tests.conftest import make_user
from tests.passkeys.authenticator import Device
from tests.second_factor.test_second_factor import code_of
from tests.second_factor.test_second_factor import set_up as set_up_codes

pytestmark = pytest.mark.django_db
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


@pytest.fixture(autouse=True)
def _addresses(settings: Any) -> None:
    """The installation has an address that is a number, and one that has a name."""
    settings.ORIGINS = ("http://127.0.0.1:8000", "http://localhost:8000")


def browser(user: User | None = None) -> Client:
    """A browser at the address that has a name, maybe signed in."""
    client = Client(HTTP_HOST="localhost:8000", HTTP_USER_AGENT=FIREFOX)
    if user is not None:
        client.force_login(user)
    return client


def added(user: User, device: Device | None = None, *, name: str = "laptop") -> Device:
    """The device of a user, after they have added its passkey."""
    device = device or Device()
    client = browser(user)
    answer = device.make(client.post("/passkeys/new").json())
    response = client.post("/passkeys/do/add", {"name": name, "answer": answer}, follow=True)
    assert "You can sign in with the passkey" in response.content.decode()
    return device


def sign_in(client: Client, device: Device, **more: str) -> Any:
    """What a browser gets that uses a passkey."""
    options = client.post("/passkeys/options").json()
    return client.post("/passkeys/signin", {"answer": device.use(options), **more})


def is_in(client: Client) -> bool:
    """Whether the browser has signed in."""
    return client.get("/settings").status_code == 200


def enter(client: Client, user: User) -> Any:
    """What a browser gets for the right name and password."""
    given = {"username": user.username, "password": f"{user.username}-password"}
    return client.post("/signin?next=/guide", given)


def test_a_passkey_is_added_listed_and_signs_in(owner: User) -> None:
    page = browser(owner).get("/settings/access").content.decode()
    assert "Add a passkey" in page and "dist/passkeys.js" in page
    device = added(owner)
    page = browser(owner).get("/settings/access").content.decode()
    assert 'value="laptop"' in page and "never used" in page
    client = browser()
    assert "Sign in with a passkey" in client.get("/signin?next=/guide").content.decode()
    came = sign_in(client, device, next="/guide")
    assert (came.status_code, came["Location"]) == (302, "/guide")
    assert is_in(client)
    assert UserSession.objects.get(user=owner).agent == FIREFOX  # noted as every other
    page = client.get("/settings/access").content.decode()
    assert "never used" not in page.partition("Passkeys</h2>")[2]


def test_what_is_asked_for_is_verified_discoverable_and_says_nothing_of_the_user(
    owner: User,
) -> None:
    client = browser(owner)
    asked = client.post("/passkeys/new").json()
    assert asked["rp"]["id"] == "localhost"
    wanted = asked["authenticatorSelection"]
    assert wanted["residentKey"] == wanted["userVerification"] == "required"
    assert asked.get("attestation", "none") == "none"
    added(owner)
    again = client.post("/passkeys/new").json()
    row = Passkey.objects.get()
    assert [len(again["excludeCredentials"]), again["user"]["id"]] == [1, row.handle]
    assert len(websafe_decode(row.handle)) == 32
    used = browser().post("/passkeys/options").json()
    assert used["userVerification"] == "required" and "allowCredentials" not in used


def test_a_passkey_without_a_name_is_called_as_its_browser(owner: User) -> None:
    added(owner, name="")
    assert Passkey.objects.get().name == "Firefox on Linux"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"origin": "https://localhost.example.org"}, "Invalid origin"),
        ({"origin": "http://localhost:8001"}, "Invalid origin"),
        ({"origin": "http://127.0.0.1:8000"}, "Invalid origin"),
        ({"site": "example.org"}, "Wrong RP ID hash"),
        ({"verified": False}, "User verification required"),
        ({"cross_origin": True}, "inside the page of another site"),
    ],
)
def test_what_another_page_or_device_without_a_finger_signed_is_refused(
    owner: User, wrong: dict[str, Any], message: str
) -> None:
    client = browser(owner)
    attestation = Device(**wrong).make(client.post("/passkeys/new").json())
    answer = client.post("/passkeys/do/add", {"name": "x", "answer": attestation}, follow=True)
    assert message in answer.content.decode() and not Passkey.objects.exists()
    device = added(owner)
    for name, value in wrong.items():
        setattr(device, name, value)
    client = browser()
    refused = sign_in(client, device)
    assert refused.status_code == 400 and message in refused.content.decode()
    assert not is_in(client)


def test_a_challenge_works_once_and_in_one_browser(owner: User) -> None:
    device = added(owner, Device(counts=False))
    first = browser()
    answer = {"answer": device.use(first.post("/passkeys/options").json())}
    other = browser()
    other.post("/passkeys/options")
    assert "Wrong challenge" in other.post("/passkeys/signin", answer).content.decode()
    assert first.post("/passkeys/signin", answer).status_code == 302
    for client in (first, browser()):
        again = client.post("/passkeys/signin", answer)
        assert again.status_code == 400 and "This request is over." in again.content.decode()


def test_a_challenge_is_used_up_by_a_wrong_answer(owner: User) -> None:
    device = added(owner)
    client = browser()
    options = client.post("/passkeys/options").json()
    stranger = Device()
    assert client.post("/passkeys/signin", {"answer": stranger.use(options)}).status_code == 400
    refused = client.post("/passkeys/signin", {"answer": device.use(options)})
    assert "This request is over." in refused.content.decode() and not is_in(client)


def test_two_answers_at_once_are_one(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    device = added(owner, Device(counts=False))
    client = browser()
    answer = {"answer": device.use(client.post("/passkeys/options").json())}
    kept = dict(client.session)
    assert client.post("/passkeys/signin", answer).status_code == 302
    other = browser()
    session = other.session
    session.update({ceremonies.CHALLENGE: kept[ceremonies.CHALLENGE]})  # as it was read before
    session.save()
    assert "This request is over." in other.post("/passkeys/signin", answer).content.decode()

    def down(*_: object) -> bool:
        raise ConnectionError("the broker")

    monkeypatch.setattr(cache, "add", down)
    assert sign_in(browser(), device).status_code == 302  # a broker that is down keeps nobody out


def test_a_challenge_does_not_last(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    device = added(owner)
    client = browser()
    options = client.post("/passkeys/options").json()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + ceremonies.CHALLENGE_S + 1)
    refused = client.post("/passkeys/signin", {"answer": device.use(options)})
    assert "This request is over." in refused.content.decode()


def test_a_challenge_is_for_one_purpose(owner: User) -> None:
    device = added(owner)
    client = browser(owner)
    attestation = Device().make(client.post("/passkeys/options").json() | {"user": {"id": "eA"}})
    client.post("/passkeys/do/add", {"name": "x", "answer": attestation})
    assert Passkey.objects.count() == 1
    client = browser(owner)
    options = client.post("/passkeys/new").json()
    refused = client.post("/passkeys/signin", {"answer": device.use(options)})
    assert refused.status_code == 400
    # Nor is an answer of one kind one of the other.
    client = browser()
    options = client.post("/passkeys/options").json()
    answer = device.use(options, kind="webauthn.create")
    assert client.post("/passkeys/signin", {"answer": answer}).status_code == 400


def test_a_device_that_counts_back_is_refused(owner: User) -> None:
    device = added(owner)
    copy = Device(id=device.id, key=device.key, handle=device.handle, count=device.count)
    assert sign_in(browser(), device).status_code == 302
    client = browser()
    refused = sign_in(client, copy)
    assert refused.status_code == 400 and "another copy of it" in refused.content.decode()
    assert not is_in(client) and Passkey.objects.get().count == 1
    assert sign_in(browser(), device).status_code == 302
    # One that has counted does not stop to.
    device.count, device.counts = 0, False
    assert sign_in(browser(), device).status_code == 400


def test_a_device_that_never_counts_is_taken(owner: User) -> None:
    device = added(owner, Device(counts=False))
    for _ in range(2):
        assert sign_in(browser(), device).status_code == 302


def test_a_signature_of_another_key_or_for_another_user_is_refused(
    owner: User, writer: User
) -> None:
    device, other = added(owner), added(writer)
    forged = Device(id=device.id, handle=device.handle, count=10)
    assert "Invalid signature" in sign_in(browser(), forged).content.decode()
    other.handle = device.handle  # it says that it is the owner's
    assert "not known here" in sign_in(browser(), other).content.decode()
    assert "not known here" in sign_in(browser(), Device()).content.decode()


def test_a_known_passkey_is_not_added_to_another_account(owner: User, writer: User) -> None:
    device = added(owner)
    client = browser(writer)
    attestation = device.make(client.post("/passkeys/new").json())
    answer = client.post("/passkeys/do/add", {"name": "mine", "answer": attestation}, follow=True)
    assert "known already" in answer.content.decode()
    assert Passkey.objects.get().user == owner


def test_one_person_cannot_change_what_another_has(owner: User, writer: User) -> None:
    added(owner)
    row = Passkey.objects.get()
    client = browser(writer)
    for action in ("rename", "remove"):
        given = {"passkey": row.uid, "name": "mine"}
        answer = client.post(f"/passkeys/do/{action}", given, follow=True)
        assert "There is no" in answer.content.decode() or "not" in answer.content.decode()
    row.refresh_from_db()
    assert row.name == "laptop"
    assert browser().post("/passkeys/new").status_code in (302, 401)
    assert client.post("/passkeys/do/other").status_code == 404


def test_a_closed_account_does_not_come_in(owner: User) -> None:
    device = added(owner)
    accounts.close(owner)
    client = browser()
    assert sign_in(client, device).status_code == 400 and not is_in(client)


def test_attempts_are_counted(owner: User) -> None:
    device = added(owner)
    device.verified = False
    answers = [sign_in(browser(), device).status_code for _ in range(accounts.MOST + 1)]
    assert answers == [400] * accounts.MOST + [429]
    device.verified = True
    assert sign_in(browser(), device).status_code == 429


def test_it_is_renamed_and_removed(owner: User) -> None:
    added(owner)
    row = Passkey.objects.get()
    client = browser(owner)
    client.post("/passkeys/do/rename", {"passkey": row.uid, "name": " phone "})
    row.refresh_from_db()
    assert row.name == "phone"
    for name in ("", "x" * 81, "a\u200bb"):
        answer = client.post("/passkeys/do/rename", {"passkey": row.uid, "name": name}, follow=True)
        assert "name" in answer.content.decode()
    row.refresh_from_db()
    assert row.name == "phone"
    answer = client.post("/passkeys/do/remove", {"passkey": row.uid}, follow=True)
    assert "The passkey phone has been removed." in answer.content.decode()
    assert not Passkey.objects.exists()


def test_the_last_way_in_is_kept(owner: User) -> None:
    added(owner)
    owner.set_unusable_password()
    owner.save()
    client = browser(owner)
    only = Passkey.objects.get()
    answer = client.post("/passkeys/do/remove", {"passkey": only.uid}, follow=True)
    assert "Without it you could not sign in any more." in answer.content.decode()
    added(owner, name="phone")
    client = browser(owner)
    client.post("/passkeys/do/remove", {"passkey": only.uid})
    assert Passkey.objects.get().name == "phone"


def test_nobody_has_more_than_some(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "MOST", 1)
    client = browser(owner)
    options = client.post("/passkeys/new").json()
    added(owner)
    refused = browser(owner).post("/passkeys/new")
    assert refused.status_code == 429 and "Remove one" in refused.json()["hint"]
    attestation = Device().make(options)
    client.post("/passkeys/do/add", {"name": "x", "answer": attestation})
    assert Passkey.objects.count() == 1


def test_it_takes_the_place_of_a_code(owner: User, writer: User) -> None:
    device, other = added(owner), added(writer)
    set_up_codes(owner)
    client = browser()
    assert enter(client, owner)["Location"] == "/second-factor"
    page = client.get("/second-factor").content.decode()
    assert "Sign in with a passkey" in page
    known = client.post("/passkeys/options").json()["allowCredentials"]
    assert [passkey["id"] for passkey in known] == [websafe_encode(device.id)]
    refused = sign_in(client, other)  # right, and of somebody else
    assert refused.status_code == 400 and not is_in(client)
    came = sign_in(client, device)
    assert (came.status_code, came["Location"]) == (302, "/guide") and is_in(client)
    # Alone it is enough: a device and a finger are two factors.
    assert sign_in(browser(), device).status_code == 302
    # Without one, the page offers none.
    Passkey.objects.all().delete()
    client = browser()
    enter(client, owner)
    assert "passkey" not in client.get("/second-factor").content.decode()
    client.post("/second-factor", {"code": code_of(owner)})
    assert is_in(client)


def test_it_can_be_asked_for_after_every_password_and_link(owner: User, writer: User) -> None:
    client = browser(owner)
    answer = client.post("/passkeys/do/asked", {"is_asked": "1"}, follow=True)
    assert "You have no passkey." in answer.content.decode()
    device, other = added(owner), added(writer)
    client = browser(owner)
    client.post("/passkeys/do/asked", {"is_asked": "1"})
    assert "Ask for my password only" in client.get("/settings/access").content.decode()
    for way in ("password", "link"):
        client = browser()
        if way == "password":
            sent = enter(client, owner)
        else:
            sent = client.post(f"/signin/{make_signin_link(owner)}", {"display_name": "Ada"})
        assert sent["Location"] == "/passkeys/ask" and not is_in(client)
        assert "One more step: use a passkey." in client.get("/passkeys/ask").content.decode()
        refused = sign_in(client, other)
        assert (
            refused.status_code == 400
            and "One more step: use a passkey." in refused.content.decode()
        )
        assert not is_in(client)
        assert sign_in(client, device).status_code == 302
        assert is_in(client)
    assert browser().get("/passkeys/ask")["Location"] == "/signin"
    # With the last one it ends.
    client = browser(owner)
    client.post("/passkeys/do/remove", {"passkey": Passkey.objects.get(user=owner).uid})
    assert not AskedForPasskey.objects.exists()
    assert enter(browser(), owner)["Location"] == "/guide"


@pytest.mark.parametrize("code", ["", "123456", "aaaa-bbbb-cccc"])
def test_who_is_asked_for_a_passkey_does_not_come_in_by_the_page_for_codes(
    owner: User, code: str
) -> None:
    added(owner)
    browser(owner).post("/passkeys/do/asked", {"is_asked": "1"})
    client = browser()
    assert enter(client, owner)["Location"] == "/passkeys/ask"
    assert client.get("/second-factor")["Location"] == "/signin"
    assert client.post("/second-factor", {"code": code})["Location"] == "/signin"
    assert not is_in(client)
    with pytest.raises(CommandError, match="no second factor"):
        second_factor.check(owner, code)


def test_where_both_are_asked_for_either_is_enough(owner: User) -> None:
    device = added(owner)
    browser(owner).post("/passkeys/do/asked", {"is_asked": "1"})
    set_up_codes(owner)
    for uses in ("code", "passkey"):
        client = browser()
        assert enter(client, owner)["Location"] == "/second-factor"
        if uses == "code":
            client.post("/second-factor", {"code": code_of(owner)})
        else:
            sign_in(client, device)
        assert is_in(client)


def test_an_address_that_is_a_number_names_the_one_to_open(owner: User, settings: Any) -> None:
    client = Client(HTTP_HOST="127.0.0.1:8000")
    refused = client.post("/passkeys/options")
    assert refused.status_code == 409
    assert refused.json()["hint"] == "Open http://localhost:8000 instead."
    settings.ORIGINS = ("http://127.0.0.1:8000",)
    assert "HEDDLE_ORIGINS" in client.post("/passkeys/options").json()["hint"]
    device = Device()
    client.post("/passkeys/signin", {"answer": device.use({"challenge": "eA"})})
    assert not is_in(client)


def test_each_name_of_an_installation_has_its_own(owner: User, settings: Any) -> None:
    settings.ORIGINS = ("https://loom.example.org", "http://localhost:8000")
    settings.ALLOWED_HOSTS = ["loom.example.org", "localhost"]
    device = added(owner)
    there = Client(HTTP_HOST="loom.example.org")
    assert there.post("/passkeys/options").json()["rpId"] == "loom.example.org"
    assert "not known here" in sign_in(there, device).content.decode()
    there.force_login(owner)
    assert "; localhost" in there.get("/settings/access").content.decode()


@pytest.mark.parametrize(
    "answer",
    ["", "x", "null", "[]", "{}", '{"id": 1}', "[" * 50_000, "x" * 70_000, "\0", '{"rawId": "!"}'],
)
def test_any_answer_gets_a_sentence(owner: User, answer: str) -> None:
    client = browser()
    client.post("/passkeys/options")
    assert client.post("/passkeys/signin", {"answer": answer}).status_code == 400
    client = browser(owner)
    client.post("/passkeys/new")
    response = client.post("/passkeys/do/add", {"name": "x", "answer": answer}, follow=True)
    assert response.status_code == 200 and not Passkey.objects.exists()


def test_a_changed_answer_is_refused(owner: User) -> None:
    client = browser(owner)
    for name in ("clientDataJSON", "attestationObject"):
        answer = json.loads(Device().make(client.post("/passkeys/new").json()))
        for cut in (0, 10, -1):
            answer["response"][name] = answer["response"][name][:cut]
            given = {"name": "x", "answer": json.dumps(answer)}
            assert client.post("/passkeys/do/add", given, follow=True).status_code == 200
    assert not Passkey.objects.exists()


def test_operators_remove_what_was_lost(owner: User) -> None:
    boss = make_user("boss", is_operator=True)
    device = added(owner)
    browser(owner).post("/passkeys/do/asked", {"is_asked": "1"})
    client = Client()
    client.force_login(boss)
    assert "Remove passkeys" in client.get("/operator/people").content.decode()
    answer = client.post("/operator/do/reset", {"user": "owner", "what": "passkeys"}, follow=True)
    assert "has no passkeys any more" in answer.content.decode()
    assert "Remove passkeys" not in client.get("/operator/people").content.decode()
    assert sign_in(browser(), device).status_code == 400
    assert enter(browser(), owner)["Location"] == "/guide"
    answer = client.post("/operator/do/reset", {"user": "owner", "what": "passkeys"}, follow=True)
    assert "There are no passkeys." in answer.content.decode()
    with pytest.raises(CommandError):
        operations.reset(owner, "boss", what="passkeys")
    assert not SecondFactor.objects.exists()
