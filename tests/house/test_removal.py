"""A feature can be left out: without its folder, its templates and its line in the settings,
everything else is imported, makes its tables, and shows a tree. A copy of the program takes long to
start, so claims and meaning are left out of the same one."""

import shutil
from pathlib import Path

import pytest

from tests.house.copies import copied, output_of, replace_line

REMOVED = [
    # The features with their templates, the addresses that are gone, the verbs that are refused.
    (
        {"documents": "document*.html"},
        {"/groves/G/documents", "/api/documents"},
        {"view", "explore"},
    ),
    (
        # The landscape is drawn from the vectors that meaning keeps.
        {
            "claims": "claim*",
            "meaning": "meaning",
            "landscape": "landscape",
            "agents.outside_tools": "outside_tools",
            "agents.timestamps": "timestamps",
            # Both protocols, and what they share.
            "saml": "saml",
            "openid": "openid",
            "identities": "identities",
        },
        {"/groves/G/checks", "/trees/T/claims", "/trees/T/nodes/N/tokens"},
        {"view", "explore", "claim"},
    ),
]


@pytest.mark.parametrize(("features", "addresses", "refused"), REMOVED)
def test_features_are_removed_with_their_folders_and_one_line_each(
    features: dict[str, str], addresses: set[str], refused: set[str], tmp_path: Path
) -> None:
    home = tmp_path / "without"
    home.mkdir()
    copied(home, *features.values())
    names = [feature if "." in feature else f"loom.{feature}" for feature in features]
    for name in names:
        shutil.rmtree(home / name.replace(".", "/"), ignore_errors=True)
        replace_line(home, f'    "{name}",\n', "")
    printed = output_of(home, "without_feature.py", *names).splitlines()
    seen = dict(line.rsplit(" ", 1) for line in printed if line.startswith("/"))
    assert {address for address, status in seen.items() if status == "404"} == addresses
    assert set(seen.values()) == {"200", "404"}
    lines = [line.split(" → ", 1) for line in printed if " → " in line]
    assert len(lines) == 14
    # There is no document of that name and no check in the grove: both are refused anyway.
    assert {line.split()[0] for line, reply in lines if "✗" in reply} == refused
    assert "✗" not in lines[0][1]  # view here
