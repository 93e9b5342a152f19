"""Signing in by SAML, at a provider that signs with a key of the tests: who comes in, and every
answer that lets nobody in."""

import copy
import time
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from lxml import etree

from config.env import Saml, WrongSetting, _saml
from loom.identities.models import Identity
from loom.people.models import Grove, Membership, User
from loom.saml import provider as ours
from tests.saml.organisation import ASSERTION, HOST, PROTOCOL, Claims, Key, Provider, encoded

pytestmark = pytest.mark.django_db
MARIE = {
    "urn:oid:0.9.2342.19200300.100.1.1": ["marie"],
    "displayName": ["Marie Curie"],
    "mail": ["marie@example.org"],
}
DS = "http://www.w3.org/2000/09/xmldsig#"


def browser(user: User | None = None, **more: Any) -> Client:
    """A browser of somebody."""
    client = Client(HTTP_HOST=HOST, **more)
    if user is not None:
        client.force_login(user)
    return client


def start(client: Client, organisation: Provider, path: str = "/saml/start") -> str:
    """Goes to the organisation; the id of the request."""
    sent = client.get(path)
    assert sent.status_code == 302, sent.content.decode()
    return str(organisation.asked(sent["Location"]).get("ID"))


def post(client: Client, answer: str) -> Any:
    """What the browser gets after the organisation's page has sent its form, without cookies, as
    browsers do from another site."""
    sent = browser(enforce_csrf_checks=True).post("/saml/back", {"SAMLResponse": answer})
    if sent.status_code != 303:
        return sent
    assert sent["Location"].startswith("/saml/finish?answer=")
    return client.get(sent["Location"])


def sign_in(
    client: Client, organisation: Provider, claims: Claims | None = None, path: str = "/saml/start"
) -> Any:
    """What the browser gets who goes there, says who it is, and comes back."""
    return post(client, organisation.answer(start(client, organisation, path), claims))


def whose(client: Client) -> str:
    """Who has signed in with this browser; "" for nobody."""
    pk = client.session.get("_auth_user_id")
    return User.objects.get(pk=pk).username if pk else ""


def marie(**more: Any) -> Claims:
    """What the organisation says of Marie."""
    return Claims(attributes={**MARIE, **more})


def test_somebody_new_gets_an_account_once(saml: Any, organisation: Provider) -> None:
    client = browser()
    shown = client.get("/signin?next=/guide").content.decode()
    assert "Sign in with Sorbonne" in shown and "/saml/start?next=/guide" in shown
    came = sign_in(client, organisation, marie(), "/saml/start?next=/guide")
    assert (came.status_code, came["Location"]) == (302, "/guide"), came.content.decode()
    user = User.objects.get(username="marie")
    assert (whose(client), user.display_name) == ("marie", "Marie Curie")
    assert not user.has_usable_password()
    other = browser()
    sign_in(other, organisation, Claims(attributes={**MARIE, "uid": ["mme"]}))
    assert whose(other) == "marie" and user.browsers.count() == 2
    row = Identity.objects.get()
    assert (row.issuer, row.subject, row.shown_as) == (
        "https://id.example.org/saml",
        "u-1",
        "marie@example.org",
    )


def test_what_is_asked_names_this_installation_by_its_configured_address(
    saml: Any, organisation: Provider
) -> None:
    sent = Client(HTTP_HOST="localhost:8000").get("/saml/start")
    asked = organisation.asked(sent["Location"])
    assert asked.get("AssertionConsumerServiceURL") == f"https://{HOST}/saml/back"
    assert asked.findtext(f"{{{ASSERTION}}}Issuer") == f"https://{HOST}/saml/metadata"
    shown = browser().get("/saml/metadata")
    assert shown["Content-Type"] == "application/samlmetadata+xml"
    told = etree.fromstring(shown.content)
    assert told.get("entityID") == f"https://{HOST}/saml/metadata"
    assert f'Location="https://{HOST}/saml/back"'.encode() in shown.content
    assert b'WantAssertionsSigned="true"' in shown.content


@pytest.mark.parametrize("new", ["nobody", "groups"])
def test_who_is_not_let_in_is_told_why(saml: Any, organisation: Provider, new: str) -> None:
    saml(new=new)
    client = browser()
    refused = sign_in(client, organisation, marie())
    assert refused.status_code == 400
    assert "Ask an owner of your grove to invite you." in refused.content.decode()
    assert whose(client) == "" and not User.objects.filter(username="marie").exists()


def test_groups_make_members_change_roles_and_end_what_they_made(
    saml: Any, organisation: Provider, grove: Grove, owner: User
) -> None:
    saml(
        new="groups",
        groups_attribute="memberOf",
        groups=(("lab", grove.uid, "reader"), ("chiefs", grove.uid, "writer")),
    )

    def role_with(*groups: str) -> str | None:
        sign_in(browser(), organisation, marie(memberOf=list(groups)))
        member = Membership.objects.filter(grove=grove, user__username="marie").first()
        return member.role if member else None

    assert role_with("lab") == "reader"
    assert role_with("lab", "chiefs", "others") == "writer"
    assert role_with("lab") == "reader"
    assert role_with("others") is None
    assert role_with("lab") == "reader"


def test_an_account_is_linked_by_its_owner_and_only_by_a_form(
    saml: Any, organisation: Provider, owner: User
) -> None:
    saml(new="nobody")
    client = browser(owner)
    sign_in(client, organisation, marie())
    assert not Identity.objects.exists()
    page = client.post("/saml/link").content.decode()
    assert "/saml/start?next=/settings/access" in page
    came = sign_in(client, organisation, marie())
    assert came["Location"] == "/settings/access"
    assert "marie@example.org" in client.get("/settings/access").content.decode()
    other = browser()
    sign_in(other, organisation, marie())
    assert whose(other) == "owner"
    client.post("/saml/unlink")
    assert not Identity.objects.exists()
    assert sign_in(browser(), organisation, marie()).status_code == 400


def test_the_last_way_in_is_kept(saml: Any, organisation: Provider) -> None:
    client = browser()
    sign_in(client, organisation, marie())
    answer = client.post("/saml/unlink", follow=True)
    assert "Without it you could not sign in any more." in answer.content.decode()
    assert Identity.objects.exists()


def test_an_account_of_somebody_else_is_not_linked(
    saml: Any, organisation: Provider, owner: User, writer: User
) -> None:
    Identity.objects.create(user=writer, issuer="https://id.example.org/saml", subject="u-1")
    client = browser(owner)
    client.post("/saml/link")
    sign_in(client, organisation, marie())
    assert Identity.objects.get().user == writer
    assert "is linked to writer" in client.get("/settings/access").content.decode()


def test_a_user_whose_account_is_closed_stays_out(
    saml: Any, organisation: Provider, writer: User
) -> None:
    Identity.objects.create(user=writer, issuer="https://id.example.org/saml", subject="u-1")
    User.objects.filter(pk=writer.pk).update(is_active=False)
    client = browser()
    assert sign_in(client, organisation).status_code == 400 and whose(client) == ""


@pytest.mark.parametrize(
    "wrong",
    [
        {"audience": "https://other.example.org/saml/metadata"},
        {"audience": None},
        {
            "restricted": "<saml:AudienceRestriction><saml:Audience>urn:other</saml:Audience>"
            "</saml:AudienceRestriction>"
        },
        {"recipient": "https://other.example.org/saml/back"},
        {"recipient": f"https://other.example.org/?https://{HOST}/saml/back"},
        {"recipient": None},
        {"destination": "https://other.example.org/saml/back"},
        {"destination": f"https://{HOST}/saml/back.example.org"},
        {"issuer": "https://other.example.org/saml"},
        {"begins": 900, "ends": 1200},
        {"ends": -900},
        {"confirmed_for": -30},
        {"confirmed_for": None},
        {"answers": False},
        {"format": "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"},
        {"subject": ""},
        {"subject": "x" * 256},
        {"id": ""},
    ],
)
def test_an_answer_that_is_not_for_here_and_now_lets_nobody_in(
    saml: Any, organisation: Provider, wrong: dict[str, Any]
) -> None:
    client = browser()
    refused = sign_in(client, organisation, Claims(**wrong))
    assert refused.status_code in (400, 401), refused.content.decode()
    assert "did not confirm who you are" in refused.content.decode()
    assert whose(client) == "" and not Identity.objects.exists()


def test_what_another_browser_has_asked_is_of_no_use(saml: Any, organisation: Provider) -> None:
    client, other = browser(), browser()
    request = start(client, organisation)
    answer = organisation.answer(request)
    start(other, organisation)
    refused = post(other, answer)
    assert refused.status_code == 400 and whose(other) == ""
    assert "this browser has not asked" in refused.content.decode()
    # Nor is what nobody has asked for.
    unasked = browser()
    assert post(unasked, organisation.answer("_x")).status_code == 400
    assert whose(unasked) == ""
    none = organisation.response(None, organisation.assertion("_x", Claims(answers=False)))
    assert post(browser(), encoded(none)).status_code == 401


def test_an_answer_works_once(saml: Any, organisation: Provider) -> None:
    client = browser()
    answer = organisation.answer(start(client, organisation))
    sent = browser().post("/saml/back", {"SAMLResponse": answer})
    assert client.get(sent["Location"]).status_code == 302 and whose(client)
    again = browser().post("/saml/back", {"SAMLResponse": answer})
    assert again.status_code == 401 and "was used before" in again.content.decode()
    for other in (client, browser()):
        assert other.get(sent["Location"]).status_code in (302, 400)
    # Not even where the broker has forgotten it: the request was answered.
    cache.clear()
    client.logout()
    assert post(client, answer).status_code == 400 and whose(client) == ""


def test_a_request_and_an_answer_do_not_last(
    saml: Any, organisation: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser()
    request = start(client, organisation)
    session = client.session
    session["saml_request"] = {**session["saml_request"], "until": time.time() - 1}
    session.save()
    assert post(client, organisation.answer(request)).status_code == 400
    assert "is over" in client.get("/saml/finish?answer=x").content.decode()


# What somebody on its way may do to an answer.


def _assertion(document: etree._Element) -> etree._Element:
    assertion = document.find(f"{{{ASSERTION}}}Assertion")
    assert assertion is not None
    return assertion


def _signature(of: etree._Element) -> etree._Element:
    signature = of.find(f"{{{DS}}}Signature")
    assert signature is not None
    return signature


def _forged(document: etree._Element, **more: str) -> etree._Element:
    """A copy of the assertion that names somebody else, without a signature."""
    forged = copy.deepcopy(_assertion(document))
    forged.remove(_signature(forged))
    name = forged.find(f".//{{{ASSERTION}}}NameID")
    assert name is not None
    name.text = "evil"
    forged.set("ID", more.get("id", "_evil"))
    return forged


def unsigned(document: etree._Element) -> None:
    """Without the signature."""
    _assertion(document).remove(_signature(_assertion(document)))


def changed(document: etree._Element) -> None:
    """With another name."""
    name = document.find(f".//{{{ASSERTION}}}NameID")
    assert name is not None
    name.text = "evil"


def before(document: etree._Element) -> None:
    """A forged assertion before the signed one."""
    _assertion(document).addprevious(_forged(document))


def after(document: etree._Element) -> None:
    """A forged assertion after the signed one."""
    _assertion(document).addnext(_forged(document))


def same_id(document: etree._Element) -> None:
    """A forged assertion of the same id before the signed one."""
    signed = _assertion(document)
    signed.addprevious(_forged(document, id=str(signed.get("ID"))))


def around(document: etree._Element) -> None:
    """A forged assertion around the signed one."""
    signed, forged = _assertion(document), _forged(document)
    document.replace(signed, forged)
    forged.append(signed)


def with_its_signature(document: etree._Element) -> None:
    """A forged assertion with the signature, and the signed one after it."""
    signed, forged = _assertion(document), _forged(document)
    signature = _signature(signed)
    signed.remove(signature)
    forged.insert(1, signature)
    signed.addprevious(forged)


def inside_the_signature(document: etree._Element) -> None:
    """A forged assertion with the signature, in which the signed one lies."""
    signed, forged = _assertion(document), _forged(document)
    document.replace(signed, forged)
    signature = _signature(signed)
    signed.remove(signature)
    forged.insert(1, signature)
    etree.SubElement(signature, f"{{{DS}}}Object").append(signed)


def own_id_inside_the_signature(document: etree._Element) -> None:
    """Likewise, with the id of the signed one."""
    signed, forged = _assertion(document), _forged(document, id=str(_assertion(document).get("ID")))
    document.replace(signed, forged)
    signature = _signature(signed)
    signed.remove(signature)
    forged.insert(1, signature)
    etree.SubElement(signature, f"{{{DS}}}Object").append(signed)


def in_extensions(document: etree._Element) -> None:
    """The signed one among the extensions of the message."""
    signed, forged = _assertion(document), _forged(document)
    document.replace(signed, forged)
    box = etree.Element(f"{{{PROTOCOL}}}Extensions")
    box.append(signed)
    document.insert(1, box)


def signature_of_the_message(document: etree._Element) -> None:
    """The signature of the assertion as that of the message."""
    signed = _assertion(document)
    signature = _signature(signed)
    signed.remove(signature)
    document.insert(1, signature)
    changed(document)


ATTACKS = [
    *(unsigned, changed, before, after, same_id, around, with_its_signature),
    *(inside_the_signature, own_id_inside_the_signature, in_extensions, signature_of_the_message),
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_wrapped_or_changed_answer_lets_nobody_in(
    saml: Any, organisation: Provider, attack: Any
) -> None:
    client = browser()
    answer = organisation.answer(start(client, organisation), change=attack)
    refused = post(client, answer)
    assert refused.status_code == 401, refused.content.decode()
    assert whose(client) == "" and not Identity.objects.exists()


def test_a_message_around_a_signed_message_lets_nobody_in(
    saml: Any, organisation: Provider
) -> None:
    client = browser()
    request = start(client, organisation)
    whole = organisation.signed(
        organisation.response(request, organisation.assertion(request, Claims()))
    )

    def wrapped(document: etree._Element) -> None:
        real = copy.deepcopy(document)
        document.set("ID", "_evil")
        signature = _signature(document)
        etree.SubElement(signature, f"{{{DS}}}Object").append(real)
        changed(document)

    assert post(client, encoded(whole, wrapped)).status_code == 401
    assert whose(client) == ""
    # As the organisation has sent it, it is right.
    assert post(client, encoded(whole)).status_code == 302
    assert whose(client) == "person"


def test_a_signed_message_is_not_enough(saml: Any, organisation: Provider) -> None:
    client = browser()
    request = start(client, organisation)
    plain = organisation.assertion(request, Claims(id=""))
    message = organisation.signed(
        organisation.response(request, plain.replace('ID=""', 'ID="_plain"'))
    )
    assert post(client, encoded(message)).status_code == 401
    assert whose(client) == ""


def test_another_key_signs_for_nobody(saml: Any, organisation: Provider) -> None:
    client = browser()
    request = start(client, organisation)
    forged = organisation.assertion(request, Claims(), key=Key.new())  # its certificate is in it
    assert post(client, encoded(organisation.response(request, forged))).status_code == 401
    assert whose(client) == ""


def test_an_old_way_of_signing_is_refused(saml: Any, organisation: Provider) -> None:
    client = browser()
    request = start(client, organisation)
    plain = organisation.assertion(request, Claims(id="")).replace('ID=""', 'ID="_old"')
    signed = organisation.signed(
        plain, sign_algorithm=f"{DS}rsa-sha1", digest_algorithm=f"{DS}sha1"
    )
    assert post(client, encoded(organisation.response(request, signed))).status_code == 401
    assert whose(client) == ""


def test_a_comment_cuts_no_name_off(saml: Any, organisation: Provider) -> None:
    """Comments are not signed: `u-1<!-- -->.evil` must not be read as `u-1`."""
    client = browser()
    request = start(client, organisation)
    answer = organisation.response(request, organisation.assertion(request, Claims("u-1.evil")))
    cut = answer.replace("u-1.evil", "u-1<!-- -->.evil")
    came = post(client, encoded(cut))
    assert came.status_code in (302, 401)
    assert not Identity.objects.filter(subject="u-1").exists()
    assert set(Identity.objects.values_list("subject", flat=True)) <= {"u-1.evil"}


@pytest.mark.parametrize(
    "answer",
    [
        *("", "x", "!" * 100, "PGE+", "PGEvPg==", "A" * 600_000),
        encoded('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'),
        encoded('<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>'),
    ],
)
def test_any_answer_gets_a_sentence(saml: Any, answer: str) -> None:
    refused = browser().post("/saml/back", {"SAMLResponse": answer})
    assert refused.status_code == 401
    assert "Sorbonne did not confirm who you are" in refused.content.decode()


def test_an_organisation_that_says_no_is_quoted(saml: Any, organisation: Provider) -> None:
    client = browser()
    request = start(client, organisation)
    denied = organisation.response(
        request, "", status="urn:oasis:names:tc:SAML:2.0:status:RequestDenied"
    )
    refused = post(client, encoded(denied))
    assert refused.status_code == 401 and "RequestDenied" in refused.content.decode()


def test_a_broker_that_is_down_is_said_in_a_sentence(
    saml: Any, organisation: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser()
    answer = organisation.answer(start(client, organisation))

    def down(*_: object) -> bool:
        raise ConnectionError("the broker")

    monkeypatch.setattr(cache, "add", down)
    assert browser().post("/saml/back", {"SAMLResponse": answer}).status_code == 503
    monkeypatch.setattr(cache, "get", down)
    assert "kept at the moment" in browser().get("/saml/finish?answer=x").content.decode()


def test_without_an_organisation_there_is_no_such_way(client: Client, owner: User) -> None:
    for path in ("start", "finish", "metadata"):
        assert client.get(f"/saml/{path}").status_code == 404
    assert client.post("/saml/back").status_code == 404
    assert "/saml/" not in client.get("/signin").content.decode()
    client.force_login(owner)
    assert "/saml/" not in client.get("/settings/access").content.decode()
    assert client.post("/saml/link").status_code == 404


def test_metadata_that_cannot_be_used_are_named(
    saml: Any, organisation: Provider, settings: Any
) -> None:
    for metadata in ("x", "<a/>", organisation.metadata.replace("HTTP-Redirect", "SOAP")):
        settings.SAML = Saml(metadata=metadata)
        ours._settings.cache_clear()
        answer = browser().get("/saml/start")
        assert answer.status_code == 503, metadata
        assert "metadata" in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("HEDDLE_SAML_METADATA", "/nowhere.xml", "can't be read"),
        ("HEDDLE_SAML_METADATA", __file__, "is no metadata"),
        ("HEDDLE_SAML_NEW", "all", "does not exist"),
        ("HEDDLE_SAML_GROUPS", "lab:reader", "HEDDLE_SAML_GROUPS contains"),
    ],
)
def test_a_wrong_variable_ends_the_start_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    organisation: Provider,
    name: str,
    value: str,
    sentence: str,
) -> None:
    file = tmp_path / "provider.xml"
    file.write_text(organisation.metadata)
    monkeypatch.setenv("HEDDLE_SAML_METADATA", str(file))
    monkeypatch.setenv("HEDDLE_SAML_GROUPS", "lab=a7x2:reader")
    monkeypatch.setenv("HEDDLE_SAML_GROUPS_ATTRIBUTE", "memberOf")
    given = _saml()
    assert (given.groups, given.groups_attribute, given.new) == (
        (("lab", "a7x2", "reader"),),
        "memberOf",
        "nobody",
    )
    monkeypatch.setenv(name, value)
    with pytest.raises(WrongSetting, match=sentence):
        _saml()


def test_without_its_packages_the_start_says_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("config.env.find_spec", lambda _: None)
    monkeypatch.setenv("HEDDLE_SAML_METADATA", "x.xml")
    with pytest.raises(WrongSetting, match=r"requirements-saml\.txt"):
        _saml()
