"""A small server on loopback that answers as a test wants."""

import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

Response = tuple[int, dict[str, str], bytes]  # the status, the headers, the body


class LoopbackServer:
    """Serves while it is entered, each request in a thread of its own; `respond` says how."""

    def __init__(self) -> None:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, headers, answer = server.respond(self.path, body)
                self.send_response(status)
                for name, value in {**headers, "content-length": str(len(answer))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET

            def log_message(self, *words: object) -> None:
                """Says nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._http.server_port}"

    def respond(self, path: str, body: bytes) -> Response:
        """The answer to a request for this path and query, with this body."""
        raise NotImplementedError

    def __enter__(self) -> Self:
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
