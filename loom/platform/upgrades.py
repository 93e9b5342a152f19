"""A request that asks for another protocol is served in HTTP/1.1, with its body, as RFC 9110 §7.8
has it: only the handshake of a WebSocket changes the protocol.

uvicorn 0.54 reads requests with httptools 0.9, which takes everything after the head of a request
with `Upgrade` for words of the new protocol, whatever that is: curl and the JVM's own client, which
ask for `h2c` with each first request, lost their bodies. And uvicorn hands a `POST` that asks for a
WebSocket to the library of WebSockets, which never answers it. Here such a request is read a second
time without its `Upgrade`. It can go once uvicorn does that by itself, as its h11 protocol does.
"""

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# What belongs to the upgrade alone; `Connection` names it too.
_OF_UPGRADE = (b"upgrade", b"http2-settings")


class HttpProtocol(HttpToolsProtocol):
    """uvicorn's own, which ignores protocols that it does not speak."""

    def data_received(self, data: bytes) -> None:
        """Reads what came; after the head of a request that is no handshake, from that head on."""
        self._unset_keepalive_if_required()
        while data:  # one connection may send many such requests at once
            data = self._read(data)

    def _read(self, data: bytes) -> bytes:
        """Reads what came; returns what has to be read again; empty for nothing."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            elif self._is_ignored():
                return self._without_its_upgrade(data[upgrade.args[0] :])
            else:  # CONNECT, which the application refuses
                self._unsupported_upgrade_warning()
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self.send_400_response("Invalid HTTP request received.")
        return b""

    def on_headers_complete(self) -> None:
        """Runs the request, unless its head is read a second time."""
        self.scope["method"] = self.parser.get_method().decode("ascii")
        if not self._is_ignored():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Ends the body, unless it is still to come."""
        if not self._is_ignored():
            super().on_message_complete()

    def _should_upgrade(self) -> bool:
        """Whether this is the handshake of a WebSocket: a GET without a body."""
        headers = dict(self.headers)
        has_body = b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"
        is_handshake = self.scope["method"] == "GET" and not has_body
        return is_handshake and super()._should_upgrade()

    def _is_ignored(self) -> bool:
        """Whether the request asks for a protocol that it does not get."""
        asks = self.parser.should_upgrade() and any(name == b"upgrade" for name, _ in self.headers)
        return bool(asks) and not self._should_upgrade()

    def _without_its_upgrade(self, rest: bytes) -> bytes:
        """The head that was read, without its upgrade, and the rest, for a new parser."""
        head = [
            *(self.parser.get_method(), b" ", self.url, b" HTTP/"),
            *(self.parser.get_http_version().encode("ascii"), b"\r\n"),
        ]
        for name, value in self.headers:
            if name not in _OF_UPGRADE:
                head += [name, b": ", _without_upgrade(name, value), b"\r\n"]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        return b"".join([*head, b"\r\n"]) + rest


def _without_upgrade(name: bytes, value: bytes) -> bytes:
    """The value of a header on one line; of `Connection` only what still holds."""
    if name != b"connection":
        return b" ".join(value.splitlines())
    words = [word.strip() for word in value.split(b",")]
    return b", ".join(word for word in words if word.lower() not in _OF_UPGRADE)
