"""A build while the server runs: what is served is what is there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.http import HttpResponse
from django.test import RequestFactory

from config.handler import Fresh

FINDER: Any = finders.get_finder


@pytest.fixture
def built(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A folder of built files, and nothing else that is static."""
    settings.STATICFILES_DIRS = [("dist", tmp_path)]
    FINDER.cache_clear()
    (tmp_path / "app.js").write_text("first")
    yield tmp_path
    FINDER.cache_clear()


def _served(static: Fresh, name: str, **headers: str) -> Any:
    request = RequestFactory().get(f"/static/dist/{name}", headers=headers)
    return static(request)


@pytest.fixture
def static(built: Path) -> Fresh:
    return Fresh(lambda request: HttpResponse(status=404))


def _whole(answer: Any) -> tuple[str, str]:
    return b"".join(answer.streaming_content).decode(), answer["Content-Length"]


def test_a_longer_file_is_served_whole_after_a_build(static: Fresh, built: Path) -> None:
    assert _whole(_served(static, "app.js")) == ("first", "5")
    (built / "app.js").write_text("second, and longer")
    assert _whole(_served(static, "app.js")) == ("second, and longer", "18")


def test_a_browser_that_has_the_old_file_is_sent_the_new_one(static: Fresh, built: Path) -> None:
    etag = _served(static, "app.js")["ETag"]
    assert _served(static, "app.js", if_none_match=etag).status_code == 304
    (built / "app.js").write_text("second, and longer")
    assert _served(static, "app.js", if_none_match=etag).status_code == 200


def test_files_come_and_go(static: Fresh, built: Path) -> None:
    assert _served(static, "new.js").status_code == 404
    (built / "new.js").write_text("new")
    assert _whole(_served(static, "new.js")) == ("new", "3")
    (built / "new.js").unlink()
    assert _served(static, "new.js").status_code == 404
    assert _served(static, "../../settings.py").status_code == 404


def test_a_packed_file_is_served_to_who_takes_it(static: Fresh, built: Path) -> None:
    (built / "app.js.gz").write_bytes(b"packed")
    (built / "app.js").write_text("second, and longer")
    packed = _served(static, "app.js", accept_encoding="gzip")
    assert (_whole(packed), packed["Content-Encoding"]) == (("packed", "6"), "gzip")
    assert _whole(_served(static, "app.js"))[0] == "second, and longer"
