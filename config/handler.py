"""Django's handler for HTTP, to which a body that comes in pieces is a body like any other."""

import os
from collections.abc import Mapping
from typing import IO, Any

import django
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpResponseBase


class Handler(ASGIHandler):
    """Says how long a body is that came without a length (`Transfer-Encoding: chunked`):
    forms and parsers read nothing of one whose length nobody says."""

    def create_request(
        self, scope: Mapping[str, Any], body_file: IO[bytes]
    ) -> tuple[ASGIRequest, None] | tuple[None, HttpResponseBase]:
        """The request. All of the body lies in the file by now."""
        if not any(name == b"content-length" for name, _ in scope["headers"]):
            length = body_file.seek(0, os.SEEK_END)
            body_file.seek(0)
            if length:
                measured = (b"content-length", str(length).encode())
                scope = {**scope, "headers": [*scope["headers"], measured]}
        return super().create_request(scope, body_file)


def handler() -> Handler:
    """The handler of a Django that is set up."""
    django.setup(set_prefix=False)
    return Handler()
