"""What is served of the built files, and the colours in the style sheet."""

import math
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.test import RequestFactory
from whitenoise.middleware import WhiteNoiseMiddleware

from loom.platform.handler import Handler
from loom.site import display
from tests.house.sources import ROOT
from tests.patience import PATIENCE_S

IGNORED = "StreamingHttpResponse must consume synchronous iterators"  # as config.asgi does
FINDER: Any = finders.get_finder


@pytest.fixture
def built(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A folder of built files, and nothing else that is static."""
    settings.STATICFILES_DIRS = [("dist", tmp_path)]
    FINDER.cache_clear()
    (tmp_path / "app.js").write_text("first")
    yield tmp_path
    FINDER.cache_clear()


def _served(static: Any, name: str, **headers: str) -> Any:
    request = RequestFactory().get(f"/static/dist/{name}", headers=headers)
    return static(request)


@pytest.fixture
def static(built: Path) -> Any:
    return WhiteNoiseMiddleware(lambda request: HttpResponse(status=404))


def _whole(answer: Any) -> tuple[str, str]:
    return b"".join(answer).decode(), answer["Content-Length"]


def test_a_longer_file_is_served_whole_after_a_build(static: Any, built: Path) -> None:
    assert _whole(_served(static, "app.js")) == ("first", "5")
    (built / "app.js").write_text("second, and longer")
    assert _whole(_served(static, "app.js")) == ("second, and longer", "18")


def test_a_browser_that_has_the_old_file_is_sent_the_new_one(static: Any, built: Path) -> None:
    etag = _served(static, "app.js")["ETag"]
    assert _served(static, "app.js", if_none_match=etag).status_code == 304
    (built / "app.js").write_text("second, and longer")
    assert _served(static, "app.js", if_none_match=etag).status_code == 200


def test_files_come_and_go(static: Any, built: Path) -> None:
    assert _served(static, "new.js").status_code == 404
    (built / "new.js").write_text("new")
    assert _whole(_served(static, "new.js")) == ("new", "3")
    (built / "new.js").unlink()
    assert _served(static, "new.js").status_code == 404
    assert _served(static, "../../settings.py").status_code == 404


def test_a_packed_file_is_served_to_who_takes_it(static: Any, built: Path) -> None:
    (built / "app.js.gz").write_bytes(b"packed")
    (built / "app.js").write_text("second, and longer")
    packed = _served(static, "app.js", accept_encoding="gzip")
    assert (_whole(packed), packed["Content-Encoding"]) == (("packed", "6"), "gzip")
    assert _whole(_served(static, "app.js"))[0] == "second, and longer"


def test_a_part_or_the_head_of_a_file_can_be_requested(static: Any, built: Path) -> None:
    part = _served(static, "app.js", range="bytes=1-2")
    assert (part.status_code, _whole(part)) == (206, ("ir", "2"))
    head = static(RequestFactory().head("/static/dist/app.js"))
    assert _whole(head) == ("", "5")


async def test_a_file_is_served_through_the_whole_application(built: Path) -> None:
    (built / "app.js").write_text("x" * 300_000)
    scope = {"type": "http", "method": "GET", "path": "/static/dist/app.js", "headers": []}
    with warnings.catch_warnings(record=True) as warned:
        warnings.filterwarnings("always")
        warnings.filterwarnings("ignore", message=IGNORED)
        wire = ApplicationCommunicator(Handler(), scope)
        await wire.send_input({"type": "http.request", "body": b""})
        start = await wire.receive_output(PATIENCE_S)
        body, more = b"", True
        while more:
            piece = await wire.receive_output(PATIENCE_S)
            body, more = body + piece.get("body", b""), piece.get("more_body", False)
        await wire.wait(PATIENCE_S)
    assert (start["status"], body) == (200, b"x" * 300_000)
    assert not [str(warning.message) for warning in warned if "Streaming" in str(warning.message)]


def _colours() -> list[tuple[str, str]]:
    """The colours of authors in the style sheet: each in the light and in the dark theme."""
    sheet = (ROOT / "static/src/css/tokens.css").read_text()
    return re.findall(r"--thread-\d+: light-dark\((#\w{6}), (#\w{6})\);", sheet)


def _linear(colour: str) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _seen(colour: str) -> tuple[float, ...]:
    """A colour in OKLab, where distances are as people see them."""
    rows = ((0.4122, 0.5363, 0.0514), (0.2119, 0.6807, 0.1074), (0.0883, 0.2817, 0.6300))
    rgb = _linear(colour)
    lms = [sum(a * b for a, b in zip(row, rgb, strict=True)) ** (1 / 3) for row in rows]
    lab = ((0.2105, 0.7936, -0.0041), (1.978, -2.4286, 0.4506), (0.0259, 0.7828, -0.8087))
    return tuple(sum(a * b for a, b in zip(row, lms, strict=True)) for row in lab)


def _light(colour: str) -> float:
    return sum(a * b for a, b in zip((0.2126, 0.7152, 0.0722), _linear(colour), strict=True))


def test_twenty_authors_have_colours_that_can_be_told_apart_and_read() -> None:
    colours = _colours()
    assert len(colours) == display.COLOURS == 20
    assert len({name for name, _ in colours}) == 20
    for theme, grounds in enumerate((("#fbf9f5", "#f4f1ea"), ("#17181b", "#24262b"))):
        own = [pair[theme] for pair in colours]
        for colour in own:
            for ground in grounds:
                high, low = sorted((_light(colour), _light(ground)), reverse=True)
                assert (high + 0.05) / (low + 0.05) >= 4.5, colour
        for at, colour in enumerate(own):
            for other in own[:at]:
                assert math.dist(_seen(colour), _seen(other)) >= 0.06, (colour, other)
