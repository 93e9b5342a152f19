"""Signing out in both places by SAML, answers that are encrypted, and requests that are signed:
what works with a key of this installation, and every message that ends no session."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from lxml import etree
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.utils import OneLogin_Saml2_Utils as Signing

from config.env import WrongSetting, _saml
from loom.people.models import User, UserSession
from tests.saml.organisation import HOST, Claims, Key, Provider, encoded, instant
from tests.saml.test_saml import (
    browser,
    marie,
    post,
    sign_in,
    start,
    whose,
)

pytestmark = pytest.mark.django_db
SLO = "https://id.example.org/slo"


@pytest.fixture(scope="module", name="own")
def _own() -> Key:
    """The key of this installation."""
    return Key.new()


@pytest.fixture(name="with_key")
def _with_key(saml: Callable[..., None], own: Key) -> Callable[..., None]:
    """The organisation, and an installation with a key."""

    def changed(**more: Any) -> None:
        saml(key=own.secret, certificate=own.certificate, **more)

    changed()
    return changed


def signed_by(own: Key, address: str, name: str) -> None:
    """Raises unless the message in this address was signed with the key of the installation."""
    query = urlsplit(address).query
    given = parse_qs(query)
    assert given["SigAlg"] == [Names.RSA_SHA256]
    parts = {part.partition("=")[0]: part for part in query.split("&")}
    signed = "&".join(parts[key] for key in (name, "RelayState", "SigAlg") if key in parts)
    signature = Signing.b64decode(given["Signature"][0])
    assert Signing.validate_binary_sign(signed, signature, own.certificate, Names.RSA_SHA256)


def signed_in(organisation: Provider, session: str = "s-1") -> Client:
    """A browser of Marie, who has come from the organisation."""
    client = browser()
    claims = marie()
    claims.session = session
    sign_in(client, organisation, claims)
    assert whose(client) == "marie"
    return client


def is_signed_in(client: Client) -> bool:
    """Whether the browser gets a page that only people see."""
    return bool(client.get("/settings/access").status_code == 200)


def told(client: Client, query: str) -> Any:
    """What a browser gets that the organisation sends with a message."""
    return client.get(f"/saml/logout?{query}")


def test_requests_are_signed_and_metadata_have_the_certificate(
    with_key: Any,
    organisation: Provider,
    own: Key,
) -> None:
    signed_by(own, browser().get("/saml/start")["Location"], "SAMLRequest")
    shown = browser().get("/saml/metadata").content.decode()
    assert 'AuthnRequestsSigned="true"' in shown
    assert own.body in "".join(shown.split())
    assert f'Location="https://{HOST}/saml/logout"' in shown
    assert 'use="encryption"' not in shown
    with_key(encrypted=True)
    assert 'use="encryption"' in browser().get("/saml/metadata").content.decode()


def answer_with(client: Client, organisation: Provider, assertion: Callable[[str], str]) -> Any:
    """What the browser gets with this assertion in an answer to what it has asked."""
    request = start(client, organisation)
    return post(client, encoded(organisation.response(request, assertion(request))))


@pytest.mark.parametrize("demanded", [False, True])
def test_an_encrypted_assertion_is_read(
    with_key: Any,
    organisation: Provider,
    own: Key,
    demanded: bool,
) -> None:
    with_key(encrypted=demanded)
    client = browser()
    came = answer_with(
        client,
        organisation,
        lambda request: organisation.encrypted(organisation.assertion(request, marie()), own),
    )
    assert came.status_code == 302, came.content.decode()
    assert whose(client) == "marie"


def test_where_encryption_is_demanded_a_plain_answer_is_refused(
    with_key: Any,
    organisation: Provider,
) -> None:
    with_key(encrypted=True)
    client = browser()
    assert sign_in(client, organisation, marie()).status_code == 401
    assert whose(client) == ""


def test_what_is_encrypted_but_wrong_lets_nobody_in_and_never_says_why(
    with_key: Any,
    organisation: Provider,
    own: Key,
) -> None:
    def unsigned(request: str) -> str:
        plain = organisation.assertion(request, Claims(id="")).replace('ID=""', 'ID="_plain"')
        return organisation.encrypted(plain, own)

    def of_another_key(request: str) -> str:
        return organisation.encrypted(organisation.assertion(request, marie()), Key.new())

    def signed_by_another(request: str) -> str:
        forged = organisation.assertion(request, marie(), key=Key.new())
        return organisation.encrypted(forged, own)

    def broken(request: str) -> str:
        sealed = of_another_key(request)
        return re.sub(r"(CipherValue>)....", r"\1AAAA", sealed)

    sentences = set()
    for assertion in (unsigned, of_another_key, signed_by_another, broken):
        client = browser()
        came = answer_with(client, organisation, assertion)
        assert came.status_code == 401, assertion
        assert whose(client) == ""
        sentences.update(re.findall(r"did not confirm who you are: [^<]*", came.content.decode()))
    assert len(sentences) == 1


def test_another_audience_is_refused_when_encrypted_too(
    with_key: Any,
    organisation: Provider,
    own: Key,
) -> None:
    client = browser()
    claims = Claims(audience="https://other.example.org/saml/metadata")
    came = answer_with(
        client,
        organisation,
        lambda request: organisation.encrypted(organisation.assertion(request, claims), own),
    )
    assert came.status_code == 401 and whose(client) == ""


def test_an_encrypted_assertion_beside_a_forged_one_lets_nobody_in(
    with_key: Any,
    organisation: Provider,
    own: Key,
) -> None:
    for before in (True, False):
        client = browser()

        def both(request: str, *, before: bool = before) -> str:
            real = organisation.assertion(request, marie())
            sealed = organisation.encrypted(real, own)
            plain = organisation.assertion(request, Claims("owner", id=""))
            forged = plain.replace('ID=""', 'ID="_forged"')
            return forged + sealed if before else sealed + forged

        assert answer_with(client, organisation, both).status_code == 401
        assert whose(client) == ""


def test_the_old_way_of_encrypting_a_key_is_refused(
    with_key: Any,
    organisation: Provider,
    own: Key,
) -> None:
    client = browser()
    came = answer_with(
        client,
        organisation,
        lambda request: organisation.encrypted(
            organisation.assertion(request, marie()), own, way=Names.RSA_1_5
        ),
    )
    assert came.status_code == 401 and "RSA-OAEP" in came.content.decode()


def test_without_a_key_an_encrypted_answer_is_refused(
    saml: Any,
    organisation: Provider,
    own: Key,
) -> None:
    client = browser()
    came = answer_with(
        client,
        organisation,
        lambda request: organisation.encrypted(organisation.assertion(request, marie()), own),
    )
    assert came.status_code == 401 and whose(client) == ""


# Signing out here leads there.


def test_who_signs_out_here_can_sign_out_there(
    with_key: Any,
    organisation: Provider,
    own: Key,
) -> None:
    client = signed_in(organisation)
    sent = client.post("/signout")
    assert sent["Location"] == "/saml/leave" and not is_signed_in(client)
    page = client.get("/saml/leave").content.decode()
    assert "Sign out of Sorbonne too" in page
    match = re.search(r'href="(https://id\.example\.org/slo[^"]*)"', page)
    assert match is not None
    address = match[1].replace("&amp;", "&")
    signed_by(own, address, "SAMLRequest")
    asked = organisation.asked(address, at=SLO)
    assert asked.findtext(f"{{{Names.NS_SAML}}}NameID") == "u-1"
    assert asked.findtext(f"{{{Names.NS_SAMLP}}}SessionIndex") == "s-1"
    done = organisation.sends("SAMLResponse", organisation.has_left(str(asked.get("ID"))))
    came = client.get(f"/saml/logout?{done}", follow=True)
    assert "You are signed out here and at Sorbonne." in came.content.decode()
    assert told(client, done).status_code == 401  # this browser asks no longer


def test_an_answer_that_is_wrong_is_not_believed(with_key: Any, organisation: Provider) -> None:
    def asked_by(client: Client) -> str:
        client.post("/signout")
        page = client.get("/saml/leave").content.decode()
        match = re.search(r'href="(https://id\.example\.org/slo[^"]*)"', page)
        assert match is not None
        return str(organisation.asked(match[1].replace("&amp;", "&"), at=SLO).get("ID"))

    tries: list[Callable[[str], str]] = [
        lambda request: organisation.sends(
            "SAMLResponse", organisation.has_left(request), key=Key.new()
        ),
        lambda request: organisation.sends(
            "SAMLResponse", organisation.has_left(request)
        ).partition("&SigAlg")[0],
        lambda request: organisation.sends("SAMLResponse", organisation.has_left("_another")),
        lambda request: organisation.sends(
            "SAMLResponse", organisation.has_left(request, issuer="https://other.example.org")
        ),
        lambda request: organisation.sends(
            "SAMLResponse", organisation.has_left(request, destination="https://other.example.org")
        ),
        lambda request: organisation.sends(
            "SAMLResponse", organisation.has_left(request, status=Names.STATUS_RESPONDER)
        ),
    ]
    for answer in tries:
        client = signed_in(organisation)
        came = told(client, answer(asked_by(client)))
        assert came.status_code == 401
        assert "did not confirm that somebody was signed out" in came.content.decode()


def test_who_came_by_a_password_or_without_a_key_just_signs_out(
    saml: Any,
    organisation: Provider,
    owner: User,
    with_key: Any,
) -> None:
    assert browser(owner).post("/signout")["Location"] == "/signin"
    assert browser().get("/saml/leave")["Location"] == "/signin"
    saml()
    assert signed_in(organisation).post("/signout")["Location"] == "/signin"


# Signing out there ends the sessions here.


def test_the_organisation_ends_the_session_it_names(
    with_key: Any,
    organisation: Provider,
    own: Key,
    owner: User,
) -> None:
    first, second = signed_in(organisation, "s-1"), signed_in(organisation, "s-2")
    by_password = browser(User.objects.get(username="marie"))
    bystander = browser(owner)
    query = organisation.sends("SAMLRequest", organisation.leaves("u-1", "s-1"), relay="r & 1")
    # A browser that the organisation shows its page in sends no cookie of ours.
    sent = told(browser(), query)
    assert sent.status_code == 302
    signed_by(own, sent["Location"], "SAMLResponse")
    assert parse_qs(urlsplit(sent["Location"]).query)["RelayState"] == ["r & 1"]
    answer = organisation.asked(sent["Location"], at=SLO, name="SAMLResponse")
    assert answer.get("InResponseTo") and b"status:Success" in etree.tostring(answer)
    assert [is_signed_in(client) for client in (first, second)] == [False, True]
    # Without an index, all that came from there.
    told(browser(), organisation.sends("SAMLRequest", organisation.leaves("u-1")))
    assert not is_signed_in(second)
    assert is_signed_in(by_password) and is_signed_in(bystander)


def test_a_wrong_message_ends_no_session(with_key: Any, organisation: Provider) -> None:
    client = signed_in(organisation)

    def sends(xml: str, **more: Any) -> str:
        return organisation.sends("SAMLRequest", xml, **more)

    good = sends(organisation.leaves())
    plain = good.partition("&SigAlg")[0]
    other = sends(organisation.leaves("u-2"))
    wrong = [
        plain,
        good.replace("Signature=", "Signature=AAAA"),
        sends(organisation.leaves(), key=Key.new()),
        sends(organisation.leaves(issuer="https://other.example.org")),
        sends(organisation.leaves(issuer="")),
        sends(organisation.leaves(destination="https://other.example.org/saml/logout")),
        sends(organisation.leaves(at=instant(-3600))),
        sends(organisation.leaves(at=instant(3600))),
        sends(organisation.leaves(until=instant(-60))),
        # Signed for somebody else, and read for Marie.
        f"{other}&{plain}",
        f"{plain}&{other}",
        f"{other}&{plain.replace('SAMLRequest', '%53AMLRequest')}",
        "SAMLRequest=x&SigAlg=y&Signature=z",
        "SAMLRequest=&SigAlg=&Signature=",
        f"{good}&RelayState=a&RelayState=b",
        good.replace("rsa-sha256", "rsa-sha1"),
        "",
    ]
    for query in wrong:
        refused = told(client, query)
        assert refused.status_code == 401, query
        assert is_signed_in(client), query
    assert told(browser(), good).status_code == 302
    assert not is_signed_in(client)


def test_a_message_counts_once(with_key: Any, organisation: Provider) -> None:
    query = organisation.sends("SAMLRequest", organisation.leaves())
    assert told(browser(), query).status_code == 302  # nobody was signed in
    client = signed_in(organisation)
    assert told(browser(), query).status_code == 401
    assert is_signed_in(client) and UserSession.objects.count() == 1


def test_a_key_that_does_not_fit_ends_the_start_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    organisation: Provider,
    own: Key,
) -> None:
    def file(name: str, text: str) -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    key, certificate = file("own.key", own.secret), file("own.crt", own.certificate)
    monkeypatch.setenv("HEDDLE_SAML_METADATA", file("provider.xml", organisation.metadata))
    monkeypatch.setenv("HEDDLE_SAML_KEY", key)
    monkeypatch.setenv("HEDDLE_SAML_CERTIFICATE", certificate)
    monkeypatch.setenv("HEDDLE_SAML_ENCRYPTED", "1")
    given = _saml()
    assert (given.key, given.certificate, given.encrypted) == (own.secret, own.certificate, True)
    assert "PRIVATE" not in repr(given)
    wrong = {
        "are not an RSA key": file("other.crt", Key.new().certificate),
        "can't be read": str(tmp_path / "none.crt"),
        "or neither of them": "",
        "its certificate, as PEM": file("empty.crt", "x"),
    }
    for sentence, value in wrong.items():
        monkeypatch.setenv("HEDDLE_SAML_CERTIFICATE", value)
        with pytest.raises(WrongSetting, match=sentence):
            _saml()
    monkeypatch.delenv("HEDDLE_SAML_KEY")
    monkeypatch.delenv("HEDDLE_SAML_CERTIFICATE")
    with pytest.raises(WrongSetting, match="HEDDLE_SAML_ENCRYPTED needs"):
        _saml()
