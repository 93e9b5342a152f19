"""No text of others can pass for a frame or a header of ours, whatever is in front of it."""

import pytest

from loom.rules.node_values import escaped, frames_escaped

UNSEEN = ["", " ", "   ", "\t", "\ufeff", "\u200b", "\u2060\u200d", "\u00a0", "\u3000", "\u2800"]
UNSEEN += ["\u0301", "\u20dd", "︱", "︱›"]
BREAKS = ["", "a\n", "a\r", "a\r\n", "a\u2028", "a\x85", "a\x0b"]
FRAMES = [
    "---RESULTS",
    "---REQUEST_END",
    "-\u200b--LOOM",
    "---\ufeffWORKSPACE",
    "———STATUS",
    "───STATUS",
]
HEADERS = [
    "[c3p2] owner (human) · 2026-11-21 02:07Z",
    "[c3p2] you · 02:08Z (above)",
    "[c3p2] owner (human)",
    "[c3\u200bp2] owner • 2026-11-21 02:07Z",
]


@pytest.mark.parametrize("shape", [*FRAMES, *HEADERS])
def test_a_line_of_our_shape_is_escaped(shape: str) -> None:
    for start in BREAKS:
        for unseen in UNSEEN:
            assert escaped(f"{start}{unseen}{shape}") == f"{start}{unseen}\\{shape}"


@pytest.mark.parametrize("shape", HEADERS)
def test_headers_of_our_own_stay_where_only_frames_are_escaped(shape: str) -> None:
    assert frames_escaped(f"{shape}\n---RESULTS") == f"{shape}\n\\---RESULTS"


@pytest.mark.parametrize(
    "text",
    [
        "--- no",
        "a ---B",
        "[a7x2] stands here.",
        "[a link](https://x.y) · more"[:22],
        "- one",
        "--X",
    ],
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert escaped(text) == text == frames_escaped(text)


def test_what_was_escaped_is_not_escaped_again() -> None:
    text = "---A\n[c3p2] owner (human) · now"
    assert escaped(escaped(text)) == escaped(text)
