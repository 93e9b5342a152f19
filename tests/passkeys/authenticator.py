"""A device that makes passkeys and signs with them, as a browser would hand on what it answers."""

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256, Hash
from fido2.cose import ES256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

ORIGIN, SITE = "http://localhost:8000", "localhost"
FLAG = AuthenticatorData.FLAG


def sha256(given: bytes) -> bytes:
    """The digest."""
    digest = Hash(SHA256())
    digest.update(given)
    return digest.finalize()


@dataclass
class Device:
    """One passkey. A test changes what a device or page does wrong: where the page is, for which
    site it signs, whether a finger was asked for, and how often it says that it has signed."""

    origin: str = ORIGIN
    site: str = SITE
    verified: bool = True
    cross_origin: bool = False
    counts: bool = True
    count: int = 0
    handle: bytes = b""
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )

    def _flags(self) -> AuthenticatorData.FLAG:
        return FLAG.UP | (FLAG.UV if self.verified else FLAG(0))

    def _client_data(self, kind: str, challenge: str) -> bytes:
        return CollectedClientData.create(kind, challenge, self.origin, self.cross_origin)

    def _answer(self, client_data: bytes, **more: bytes) -> str:
        given = {"clientDataJSON": client_data, **more}
        raw_id = websafe_encode(self.id)
        response = {name: websafe_encode(value) for name, value in given.items()}
        return json.dumps(
            {"id": raw_id, "rawId": raw_id, "type": "public-key", "response": response}
        )

    def make(self, options: dict[str, Any], **more: Any) -> str:
        """What `navigator.credentials.create` gives for these options."""
        self.handle = websafe_decode(options["user"]["id"])
        public = ES256.from_cryptography_key(self.key.public_key())  # type: ignore[no-untyped-call]
        credential = AttestedCredentialData.create(bytes(16), self.id, public)
        data = AuthenticatorData.create(
            sha256(self.site.encode()), self._flags() | FLAG.AT, self.count, credential
        )
        kind = more.get("kind", "webauthn.create")
        client_data = self._client_data(kind, options["challenge"])
        return self._answer(
            client_data, attestationObject=AttestationObject.create("none", data, {})
        )

    def use(self, options: dict[str, Any], *, kind: str = "webauthn.get") -> str:
        """What `navigator.credentials.get` gives for these options."""
        self.count += self.counts
        data = AuthenticatorData.create(sha256(self.site.encode()), self._flags(), self.count)
        client_data = self._client_data(kind, options["challenge"])
        signature = self.key.sign(data + sha256(client_data), ec.ECDSA(SHA256()))
        return self._answer(
            client_data, authenticatorData=data, signature=signature, userHandle=self.handle
        )
