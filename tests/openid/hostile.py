"""A provider of identities that answers as a test wants: what it claims, how it signs, and what it
says of itself."""

import json
import threading
import time
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jws
from joserfc.jwk import RSAKey

NAMES = ("first", "second")  # of the keys


@cache
def key(name: str) -> RSAKey:
    """The key of this name, made once it is needed."""
    return RSAKey.generate_key(2048, {"kid": name})


class HostileProvider:
    """Signs in `sub: 1` unless `claims`, `token`, `description` or `keys` say otherwise. A claim
    that is None is left out."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.token: dict[str, Any] = {}
        self.description: Any = {}
        self.keys: Any = ["first"]
        self.signs_with, self.names_key = "first", True
        self._nonces: dict[str, str] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                asked = {name: values[0] for name, values in parse_qs(url.query).items()}
                if url.path == "/auth":
                    code = str(len(outer._nonces))
                    outer._nonces[code] = asked["nonce"]
                    back = urlencode({"code": code, "state": asked["state"]})
                    self.send_response(302)
                    self.send_header("location", f"{asked['redirect_uri']}?{back}")
                    self.end_headers()
                elif url.path == "/keys":
                    self._answer(outer._public_keys())
                else:
                    self._answer(outer._described())

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                asked = parse_qs(self.rfile.read(length).decode())
                self._answer(outer._token(asked["code"][0]))

            def _answer(self, body: Any) -> None:
                written = json.dumps(body).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(written)))
                self.end_headers()
                self.wfile.write(written)

            def log_message(self, *words: object) -> None:
                """Says nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    def _described(self) -> Any:
        if not isinstance(self.description, dict):
            return self.description
        return {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/auth",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
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
            "iss": self.url,
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

    def __enter__(self) -> "HostileProvider":
        serve = partial(self._http.serve_forever, poll_interval=0.02)  # seconds, to end soon
        threading.Thread(target=serve, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
