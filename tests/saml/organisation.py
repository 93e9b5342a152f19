"""An organisation's provider of identities: it reads what it is asked and signs what it answers,
with a key that is made when the tests run. A test changes what it says, and what becomes of it."""

import base64
import importlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit
from uuid import uuid4

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID
from lxml import etree
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.utils import OneLogin_Saml2_Utils as Signing

xmlsec: Any = importlib.import_module("xmlsec")  # its types name only a part of it

HOST = "loom.example.org"  # of this installation
ENTITY = "https://id.example.org/saml"
ASSERTION, PROTOCOL = Names.NS_SAML, Names.NS_SAMLP
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
Change = Callable[[etree._Element], object]


def instant(seconds: float) -> str:
    """So many seconds from now."""
    return (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Key:
    """A key and its own certificate, as PEM."""

    secret: str
    certificate: str

    @classmethod
    def new(cls) -> "Key":
        """A new one."""
        private_key = rsa.generate_private_key(65537, 2048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "id.example.org")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(private_key.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=30))
            .sign(private_key, hashes.SHA256())
        )
        secret = private_key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        return cls(secret.decode(), pem.decode())

    @property
    def body(self) -> str:
        """The certificate without its first and last line."""
        return "".join(self.certificate.strip().splitlines()[1:-1])


@dataclass
class Claims:
    """What an answer says. `None` leaves something out."""

    subject: str = "u-1"
    format: str = PERSISTENT
    audience: str | None = "https://loom.example.org/saml/metadata"
    restricted: str = ""  # further elements behind it
    recipient: str | None = "https://loom.example.org/saml/back"
    destination: str = "https://loom.example.org/saml/back"
    issuer: str = ENTITY
    begins: float = -60
    ends: float | None = 300
    confirmed_for: float | None = 300
    answers: bool = True  # the request, in what is signed
    session: str = ""  # the index of the session there
    id: str = field(default_factory=lambda: f"_a{uuid4().hex}")
    attributes: dict[str, list[str]] = field(default_factory=dict)


def _given(name: str, value: str | None) -> str:
    return "" if value is None else f' {name}="{value}"'


@dataclass
class Provider:
    """The organisation."""

    key: Key = field(default_factory=Key.new)
    sso: str = "https://id.example.org/sso"
    slo: str = "https://id.example.org/slo"

    @property
    def metadata(self) -> str:
        """What an operator saves."""
        return f"""<md:EntityDescriptor xmlns:md="{Names.NS_MD}" xmlns:ds="{Names.NS_DS}"
 entityID="{ENTITY}"><md:IDPSSODescriptor protocolSupportEnumeration="{PROTOCOL}"
 WantAuthnRequestsSigned="false"><md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data>
<ds:X509Certificate>{self.key.body}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
</md:KeyDescriptor><md:SingleLogoutService Binding="{Names.BINDING_HTTP_REDIRECT}"
 Location="{self.slo}"/><md:SingleSignOnService Binding="{Names.BINDING_HTTP_POST}"
 Location="https://id.example.org/post"/><md:SingleSignOnService
 Binding="{Names.BINDING_HTTP_REDIRECT}" Location="{self.sso}"/>
</md:IDPSSODescriptor></md:EntityDescriptor>"""

    def asked(self, address: str, *, at: str = "", name: str = "SAMLRequest") -> etree._Element:
        """The request to which a browser was sent."""
        parts = urlsplit(address)
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == (at or self.sso)
        packed = base64.b64decode(parse_qs(parts.query)[name][0])
        return etree.fromstring(zlib.decompress(packed, -15))

    def sends(self, name: str, xml: str, *, relay: str = "", key: Key | None = None) -> str:
        """A message by HTTP-Redirect: the query of its address, signed."""
        packed = zlib.compress(xml.encode())[2:-4]
        parts = [(name, base64.b64encode(packed).decode())]
        parts += [("RelayState", relay)] if relay else []
        parts += [("SigAlg", Names.RSA_SHA256)]
        query = "&".join(f"{part}={quote(value, safe='')}" for part, value in parts)
        secret = serialization.load_pem_private_key((key or self.key).secret.encode(), None)
        assert isinstance(secret, rsa.RSAPrivateKey)
        signature = secret.sign(query.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{query}&Signature={quote(base64.b64encode(signature).decode(), safe='')}"

    def leaves(self, subject: str = "u-1", *indexes: str, **changed: str) -> str:
        """That somebody has signed out at the organisation."""
        given = {
            "issuer": ENTITY,
            "destination": "https://loom.example.org/saml/logout",
            "at": instant(0),
            "until": instant(300),
            "id": f"_l{uuid4().hex}",
            **changed,
        }
        sessions = "".join(f"<samlp:SessionIndex>{index}</samlp:SessionIndex>" for index in indexes)
        issuer = f"<saml:Issuer>{given['issuer']}</saml:Issuer>" if given["issuer"] else ""
        return (
            f'<samlp:LogoutRequest xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}"'
            f' ID="{given["id"]}" Version="2.0" IssueInstant="{given["at"]}"'
            f' NotOnOrAfter="{given["until"]}" Destination="{given["destination"]}">{issuer}'
            f"<saml:NameID>{subject}</saml:NameID>{sessions}</samlp:LogoutRequest>"
        )

    def has_left(self, request: str, *, status: str = Names.STATUS_SUCCESS, **changed: str) -> str:
        """That the organisation has signed somebody out, as it was asked."""
        given = {
            "issuer": ENTITY,
            "destination": "https://loom.example.org/saml/logout",
            "at": instant(0),
            **changed,
        }
        return (
            f'<samlp:LogoutResponse xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}"'
            f' ID="_x{uuid4().hex}" Version="2.0" IssueInstant="{given["at"]}"'
            f' Destination="{given["destination"]}" InResponseTo="{request}">'
            f"<saml:Issuer>{given['issuer']}</saml:Issuer><samlp:Status><samlp:StatusCode"
            f' Value="{status}"/></samlp:Status></samlp:LogoutResponse>'
        )

    def encrypted(self, assertion: str, key: Key, *, way: str = Names.RSA_OAEP_MGF1P) -> str:
        """The assertion, so that only who has the other half of the key reads it."""
        box = etree.fromstring(f'<saml:EncryptedAssertion xmlns:saml="{ASSERTION}"/>')
        inner = assertion.partition("?>")[2] if assertion.startswith("<?xml") else assertion
        box.append(etree.fromstring(inner))
        manager = xmlsec.KeysManager()
        manager.add_key(xmlsec.Key.from_memory(key.certificate, xmlsec.KeyFormat.CERT_PEM, None))
        data = xmlsec.template.encrypted_data_create(
            box, xmlsec.Transform.AES256, type=xmlsec.EncryptionType.ELEMENT, ns="xenc"
        )
        xmlsec.template.encrypted_data_ensure_cipher_value(data)
        info = xmlsec.template.encrypted_data_ensure_key_info(data, ns="dsig")
        is_old = way == Names.RSA_1_5
        transform = xmlsec.Transform.RSA_PKCS1 if is_old else xmlsec.Transform.RSA_OAEP
        sealed = xmlsec.template.add_encrypted_key(info, transform)
        xmlsec.template.encrypted_data_ensure_cipher_value(sealed)
        context = xmlsec.EncryptionContext(manager)
        context.key = xmlsec.Key.generate(xmlsec.KeyData.AES, 256, xmlsec.KeyDataType.SESSION)
        context.encrypt_xml(data, box[0])
        return str(etree.tostring(box, encoding="unicode"))

    def assertion(self, request: str, claims: Claims, *, key: Key | None = None) -> str:
        """What is signed, signed."""
        attributes = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(f"<saml:AttributeValue>{value}</saml:AttributeValue>" for value in values)
            + "</saml:Attribute>"
            for name, values in claims.attributes.items()
        )
        statement = f"<saml:AttributeStatement>{attributes}</saml:AttributeStatement>"
        data = (
            _given("InResponseTo", request if claims.answers else None)
            + _given("Recipient", claims.recipient)
            + _given("NotOnOrAfter", _end(claims.confirmed_for))
        )
        audience = (
            f"<saml:AudienceRestriction><saml:Audience>{claims.audience}</saml:Audience>"
            "</saml:AudienceRestriction>"
            f"{claims.restricted}"
        )
        plain = (
            f'<saml:Assertion xmlns:saml="{ASSERTION}" ID="{claims.id}" Version="2.0"'
            f' IssueInstant="{instant(0)}"><saml:Issuer>{claims.issuer}</saml:Issuer><saml:Subject>'
            f'<saml:NameID Format="{claims.format}">{claims.subject}</saml:NameID>'
            f'<saml:SubjectConfirmation Method="{Names.CM_BEARER}"><saml:SubjectConfirmationData'
            f"{data}/></saml:SubjectConfirmation></saml:Subject>"
            f'<saml:Conditions NotBefore="{instant(claims.begins)}"'
            f"{_given('NotOnOrAfter', _end(claims.ends))}>{audience if claims.audience else ''}"
            f'</saml:Conditions><saml:AuthnStatement AuthnInstant="{instant(0)}"'
            f"{_given('SessionIndex', claims.session or None)}>"
            "<saml:AuthnContext>"
            f"<saml:AuthnContextClassRef>{Names.AC_PASSWORD}</saml:AuthnContextClassRef>"
            "</saml:AuthnContext></saml:AuthnStatement>"
            f"{statement if attributes else ''}</saml:Assertion>"
        )
        return plain if claims.id == "" else self.signed(plain, key=key)

    def signed(self, xml: str, *, key: Key | None = None, **more: str) -> str:
        """The element, signed."""
        used = key or self.key
        sign: str | bytes = Signing.add_sign(xml, used.secret, used.certificate, **more)
        return sign.decode() if isinstance(sign, bytes) else sign

    def response(
        self,
        request: str | None,
        assertion: str,
        *,
        claims: Claims | None = None,
        status: str = Names.STATUS_SUCCESS,
    ) -> str:
        """The message that holds what is signed."""
        claims = claims or Claims()
        inner = assertion.partition("?>")[2] if assertion.startswith("<?xml") else assertion
        return (
            f'<samlp:Response xmlns:samlp="{PROTOCOL}" xmlns:saml="{ASSERTION}"'
            f' ID="_r{uuid4().hex}" Version="2.0" IssueInstant="{instant(0)}"'
            f' Destination="{claims.destination}"{_given("InResponseTo", request)}>'
            f"<saml:Issuer>{claims.issuer}</saml:Issuer><samlp:Status><samlp:StatusCode"
            f' Value="{status}"/></samlp:Status>{inner}</samlp:Response>'
        )

    def answer(
        self, request: str, claims: Claims | None = None, *, change: Change | None = None
    ) -> str:
        """The answer as a form has it, after a change that somebody on its way has made."""
        claims = claims or Claims()
        xml = self.response(request, self.assertion(request, claims), claims=claims)
        return encoded(xml, change)


def _end(seconds: float | None) -> str | None:
    return None if seconds is None else instant(seconds)


def encoded(xml: str, change: Change | None = None) -> str:
    """The message in Base64, changed."""
    if change is not None:
        document = etree.fromstring(xml)
        change(document)
        xml = etree.tostring(document).decode()
    return base64.b64encode(xml.encode()).decode()
