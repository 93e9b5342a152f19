"""A provider of identities that answers as a test wants: what it claims, how it signs, and what it
says of itself."""

import json
import time
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import RSAKey

from tests.loopback import LoopbackServer, Response

NAMES = ("first", "second")  # of the keys


@cache
def key(name: str) -> RSAKey:
    """The key of this name, made once it is needed."""
    return RSAKey.generate_key(2048, {"kid": name})


class HostileProvider(LoopbackServer):
    """Signs in `sub: 1` unless `claims`, `token`, `description` or `keys` say otherwise. A claim
    that is None is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.claims: dict[str, Any] = {}
        self.token: dict[str, Any] = {}
        self.description: Any = {}
        self.keys: Any = ["first"]
        self.signs_with, self.names_key = "first", True
        self._nonces: dict[str, str] = {}

    def respond(self, path: str, body: bytes) -> Response:
        """As the part of a provider that has this path."""
        url = urlsplit(path)
        sent = {name: values[0] for name, values in parse_qs(url.query or body.decode()).items()}
        if url.path == "/auth":
            code = str(len(self._nonces))
            self._nonces[code] = sent["nonce"]
            back = urlencode({"code": code, "state": sent["state"]})
            return 302, {"location": f"{sent['redirect_uri']}?{back}"}, b""
        if url.path == "/token":
            answer: Any = self._token(sent["code"])
        else:
            answer = self._public_keys() if url.path == "/keys" else self._described()
        return 200, {"content-type": "application/json"}, json.dumps(answer).encode()

    def _described(self) -> Any:
        if not isinstance(self.description, dict):
            return self.description
        return {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/auth",
            "token_endpoint": f"{self.origin}/token",
            "jwks_uri": f"{self.origin}/keys",
            "id_token_signing_alg_values_supported": ["RS256"],
            **self.description,
        }

    def _public_keys(self) -> Any:
        if not isinstance(self.keys, list) or not all(name in NAMES for name in self.keys):
            return self.keys
        public = [key(name).as_dict(private=False) for name in self.keys]
        if not self.names_key:
            public = [{name: part[name] for name in part if name != "kid"} for part in public]
        return {"keys": public}

    def _token(self, code: str) -> dict[str, Any]:
        now = int(time.time())
        claims = {
            "iss": self.origin,
            "aud": "heddle",
            "sub": "1",
            "preferred_username": "marie",
            "iat": now,
            "exp": now + 300,
            "nonce": self._nonces[code],
            **self.claims,
        }
        header = {"alg": "RS256"} | ({"kid": self.signs_with} if self.names_key else {})
        kept = {name: value for name, value in claims.items() if value is not None}
        signed = jws.serialize_compact(header, json.dumps(kept).encode(), key(self.signs_with))
        return {"access_token": "a", "token_type": "Bearer", "id_token": signed, **self.token}
