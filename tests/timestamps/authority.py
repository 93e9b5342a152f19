"""An authority for time stamps: a root, a certificate for stamping, and the answers it signs."""

import hashlib
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from asn1crypto import algos, cms, core, tsp
from asn1crypto import x509 as asn1_x509
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.loopback import LoopbackServer, Response

POLICY = "1.3.6.1.4.1.99999.1"


class Authority:
    """Signs time stamps as RFC 3161 has it."""

    def __init__(self) -> None:
        self._root_key, self._key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        self.root = _certificate("A root", self._root_key, None, self._root_key)
        self._own = _certificate("An authority", self._key, self.root, self._root_key)
        self.asked: list[bytes] = []  # the digests that it was asked for

    def write_root(self, path: Path) -> str:
        """The certificate that others have to trust, in a file; its path."""
        path.write_bytes(self.root.public_bytes(Encoding.PEM))
        return str(path)

    def answer(
        self,
        query: bytes,
        *,
        digest: bytes | None = None,
        nonce: int | None = None,
        at: datetime | None = None,
    ) -> bytes:
        """A granted time stamp for what was asked; for another digest, nonce or time if given."""
        asked = tsp.TimeStampReq.load(query)
        imprint = asked["message_imprint"].native["hashed_message"]
        self.asked.append(imprint)
        moment = at or datetime.now(UTC).replace(microsecond=0)
        info = tsp.TSTInfo(
            {
                "version": "v1",
                "policy": POLICY,
                "message_imprint": {
                    "hash_algorithm": {"algorithm": "sha256"},
                    "hashed_message": digest or imprint,
                },
                "serial_number": len(self.asked),
                "gen_time": moment,
                "nonce": asked["nonce"].native if nonce is None else nonce,
            }
        )
        return _granted(self._signed(info.dump(), moment))

    def refusal(self) -> bytes:
        """The answer of an authority that does not want to."""
        status = {"status": "rejection", "status_string": ["Too many requests"]}
        return bytes(_Refusal({"status": status}).dump())

    def _signed(self, content: bytes, at: datetime) -> cms.ContentInfo:
        own = asn1_x509.Certificate.load(self._own.public_bytes(Encoding.DER))
        attributes = cms.CMSAttributes(
            [
                _attribute("content_type", "tst_info"),
                _attribute("signing_time", cms.Time({"utc_time": at})),
                _attribute("message_digest", hashlib.sha256(content).digest()),
                _attribute(
                    "signing_certificate_v2",
                    tsp.SigningCertificateV2(
                        {"certs": [{"cert_hash": hashlib.sha256(own.dump()).digest()}]}
                    ),
                ),
            ]
        )
        signature = self._key.sign(attributes.dump(), ec.ECDSA(SHA256()))
        sha256 = algos.DigestAlgorithm({"algorithm": "sha256"})
        signer = cms.SignerInfo(
            {
                "version": "v1",
                "sid": cms.SignerIdentifier(
                    {
                        "issuer_and_serial_number": {
                            "issuer": own.issuer,
                            "serial_number": own.serial_number,
                        }
                    }
                ),
                "digest_algorithm": sha256,
                "signed_attrs": attributes,
                "signature_algorithm": {"algorithm": "sha256_ecdsa"},
                "signature": signature,
            }
        )
        signed = cms.SignedData(
            {
                "version": "v3",
                "digest_algorithms": [sha256],
                "encap_content_info": {
                    "content_type": "tst_info",
                    "content": core.ParsableOctetString(content),
                },
                "certificates": [cms.CertificateChoices({"certificate": own})],
                "signer_infos": [signer],
            }
        )
        return cms.ContentInfo({"content_type": "signed_data", "content": signed})


class _Refusal(core.Sequence):  # type: ignore[misc]
    """A TimeStampResp without a token, which `tsp.TimeStampResp` cannot be."""

    _fields = [("status", tsp.PKIStatusInfo)]


def _granted(token: cms.ContentInfo) -> bytes:
    answer = tsp.TimeStampResp({"status": {"status": "granted"}, "time_stamp_token": token})
    return bytes(answer.dump())


def _attribute(kind: str, value: object) -> cms.CMSAttribute:
    return cms.CMSAttribute({"type": kind, "values": [value]})


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    root: x509.Certificate | None,
    root_key: ec.EllipticCurvePrivateKey,
) -> x509.Certificate:
    """A certificate that the root signed; the root itself without one."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(root.subject if root else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=400))
        .not_valid_after(now + timedelta(days=400))
        .add_extension(x509.BasicConstraints(ca=root is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if root is not None:
        stamping = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
        builder = builder.add_extension(stamping, critical=True)
    return builder.sign(root_key, SHA256())


Answer = tuple[int, bytes]  # the HTTP status and the body


class AuthorityServer(LoopbackServer):
    """An authority over real HTTP: gives a time stamp for what it is asked for, after what was
    scripted."""

    def __init__(self) -> None:
        super().__init__()
        self.url = f"{self.origin}/tsr"
        self.authority = Authority()
        self.requests = 0
        self._scripted: deque[Callable[[bytes], Answer]] = deque()

    @property
    def asked(self) -> list[str]:
        """The hashes for which it gave a stamp, in order."""
        return [digest.hex() for digest in self.authority.asked]

    def script(self, *answers: Callable[[bytes], Answer]) -> None:
        """Queues the answers to the next requests."""
        self._scripted.extend(answers)

    def respond(self, path: str, body: bytes) -> Response:
        """What is scripted, or the time stamp that is asked for."""
        self.requests += 1
        answer = self._scripted.popleft() if self._scripted else self._stamped
        status, given = answer(body)
        return status, {"content-type": "application/timestamp-reply"}, given

    def _stamped(self, query: bytes) -> Answer:
        return 200, self.authority.answer(query)
