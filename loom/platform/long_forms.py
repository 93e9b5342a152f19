"""Long forms, read in a fixed number of steps.

Python's own parser (`urllib.parse.parse_qsl`) takes a step for each escaped character, of which a
text of 2.5 MB may have as many, and lets no other thread run meanwhile. Uses
`_load_post_and_files`, `_post`, `_files` and `_body` of Django 5.2, which has no public way to
parse a form otherwise. It can go when Python's parser unescapes a value at once.
"""

from typing import Any

from django.conf import settings
from django.core.exceptions import BadRequest, TooManyFieldsSent
from django.core.handlers.asgi import ASGIRequest
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

LONG_FORM = 64 * 1024


def unescaped(quoted: bytes) -> str:
    """A name or value of a form as text, in a fixed number of steps. Raises BadRequest for a `%`
    that begins no escape: browsers send none."""
    plain = quoted.replace(b"+", b" ").replace(b"\\", b"\\\\").replace(b"%", b"\\x")
    try:
        return plain.decode("unicode_escape").encode("latin-1").decode("utf-8", "replace")
    except UnicodeDecodeError:
        raise BadRequest("a % that begins no escape") from None


class FormRequest(ASGIRequest):
    """A request whose form may be long."""

    def _load_post_and_files(self) -> None:
        is_form = self.content_type == "application/x-www-form-urlencoded"
        length = str(self.META.get("CONTENT_LENGTH") or "0")
        is_long = length.isdecimal() and int(length) > LONG_FORM
        is_read = getattr(self, "_read_started", False) and not hasattr(self, "_body")
        if self.method != "POST" or not (is_form and is_long) or is_read:
            super()._load_post_and_files()
            return
        most = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS or 1_000
        pairs = self.body.split(b"&", most)
        if len(pairs) > most:
            raise TooManyFieldsSent("the form has too many fields")
        form = QueryDict(mutable=True, encoding="utf-8")
        for pair in filter(None, pairs):
            name, _, value = pair.partition(b"=")
            form.appendlist(unescaped(name), unescaped(value))
        form._mutable = False
        self._post = form
        self._files: MultiValueDict[str, Any] = MultiValueDict()
