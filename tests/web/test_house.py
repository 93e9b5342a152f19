"""Pages about the program, the settings of a grove, and what is kept for times offline."""

import json
import re

from config.release import VERSION
from loom.people.models import Grove, User
from loom.reading.pages import guide
from loom.trees.models import Tree
from tests.house.sources import ROOT
from tests.web.conftest import Visitor
from tests.web.test_settings import text

MAX_PICTURE = 300_000


def test_the_about_page_shows_version_and_licence(owner: User, visitor: Visitor) -> None:
    page = text(visitor(owner), "/about")
    assert f"Heddle {VERSION}" in page
    assert "Apache License 2.0" in page


def test_the_guide_has_its_pictures_in_both_themes(owner: User, visitor: Visitor) -> None:
    names = re.findall(r"pictures/([a-z]+)-light\.png", (ROOT / "docs" / "guide.md").read_text())
    assert len(names) >= 4
    page = text(visitor(owner), "/guide")
    for name in names:
        for theme in ("light", "dark"):
            assert f'src="/static/pictures/{name}-{theme}.png"' in page
            assert (ROOT / "docs" / "pictures" / f"{name}-{theme}.png").stat().st_size < MAX_PICTURE
    assert "<script" not in guide.rendered()


def test_the_offline_page_and_its_worker_need_no_sign_in(db: None, visitor: Visitor) -> None:
    client = visitor()
    assert "can't be reached" in text(client, "/offline")
    answer = client.get("/offline.js")
    assert answer["Content-Type"].startswith("text/javascript")
    assert answer["Cache-Control"] == "no-cache"


def test_the_manifest_names_icons_that_are_there() -> None:
    manifest = json.loads((ROOT / "static" / "img" / "manifest.webmanifest").read_text())
    assert {"192x192", "512x512"} <= {icon["sizes"] for icon in manifest["icons"]}
    for icon in manifest["icons"]:
        assert (ROOT / icon["src"].lstrip("/")).is_file()


def test_an_owner_names_the_grove_limits_its_days_and_colours_its_tags(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    here = f"/groves/{grove.uid}/settings"
    client.post(f"/trees/{tree.uid}/line", {"text": "One.", "action": "respond"})
    client.post(f"/trees/{tree.uid}/line", {"text": "→ tag here #draft", "action": "respond"})
    assert "#draft" in text(client, here)
    form = {"name": "Orchard", "limit": "2.5", "tag": "draft", "colour": "amber"}
    client.post(here, form)
    grove.refresh_from_db()
    assert (grove.name, grove.settings["daily_budget_usd"]) == ("Orchard", 2.5)
    assert 'class="pill tag" data-who="6"' in text(client, f"/trees/{tree.uid}")
    client.post(here, {**form, "colour": "ultraviolet"})
    assert "This colour is not available." in text(client, here)
    client.post(here, {**form, "limit": "", "colour": ""})
    grove.refresh_from_db()
    assert grove.settings == {
        "daily_budget_usd": 0,
        "result_threshold": 0,
        "summary_model": "",
        "tag_colours": {},
    }


def test_a_reader_sees_the_settings_and_cannot_change_them(
    owner: User, reader: User, outsider: User, grove: Grove, visitor: Visitor
) -> None:
    here = f"/groves/{grove.uid}/settings"
    assert "Only owners of the grove can change these settings." in text(visitor(reader), here)
    assert visitor(reader).post(here, {"name": "Mine"}).status_code == 403
    assert visitor(outsider).get(here).status_code == 404
