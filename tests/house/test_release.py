"""One version everywhere, and a changelog that says what is new in it."""

import json
import re
import tomllib

from django.conf import settings

from config.release import VERSION
from tests.house.sources import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text()
KINDS = ["Added", "Changed", "Fixed"]


def test_the_version_is_that_of_the_release_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    package = json.loads((ROOT / "package.json").read_text())
    lock = json.loads((ROOT / "package-lock.json").read_text())
    repeated = {project["version"], package["version"], lock["version"]}
    assert repeated | {settings.SPECTACULAR_SETTINGS["VERSION"]} == {VERSION}


def test_the_newest_release_of_the_changelog_is_this_one_and_has_notes() -> None:
    releases = re.findall(r"^## (\S+)", CHANGELOG, re.MULTILINE)
    assert next(release for release in releases if release != "Unreleased") == VERSION
    assert (ROOT / "docs" / "releases" / f"{VERSION}.md").is_file()


def test_each_point_of_the_changelog_is_one_line_of_a_known_kind() -> None:
    assert set(re.findall(r"^### (.+)$", CHANGELOG, re.MULTILINE)) <= set(KINDS)
    points = re.findall(r"^\* .*(?:\n  .*)*", CHANGELOG, re.MULTILINE)
    assert [point for point in points if "\n" in point or len(point) > 110] == []
