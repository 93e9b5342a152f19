"""How strong evidence is, what each level needs, and the order of what is missing."""

import pytest

from loom.claims.rules.levels import (
    ALLOWED,
    LEVELS,
    STATES,
    Basis,
    Level,
    Weights,
    authority_for,
    highest,
    missing,
    normalised,
    obligations,
    strength_of,
)


@pytest.mark.parametrize(
    ("basis", "strength", "by"),
    [
        (Basis(has_passed=True), "strong", "by check"),
        (Basis(is_confirmed=True), "strong", "confirmed by a person"),
        (Basis(is_verified=True), "moderate", "verified"),
        (Basis(is_section=True), "moderate", "a part of a document"),
        (Basis(is_proof=True), "moderate", "a commitment"),
        (Basis(), "weak", "not verified"),
        (Basis(is_own=True, is_verified=True, is_confirmed=True), "weak", "own words"),
        (Basis(is_undercut=True, has_passed=True), "weak", "undercut"),
        (Basis(gate="found", has_passed=True), "strong", "by check"),
        (Basis(gate="joined", has_passed=True), "weak", "quote joined"),
        (Basis(gate="not there", is_section=True), "weak", "quote not there"),
        (Basis(gate="elsewhere", is_section=True), "weak", "quote elsewhere"),
    ],
)
def test_strength_is_computed(basis: Basis, strength: str, by: str) -> None:
    assert strength_of(basis) == (strength, by)


@pytest.mark.parametrize(
    ("weights", "level"),
    [
        (Weights(), None),
        (Weights(weak=9), "tentative"),
        (Weights(moderate=3), "tentative"),
        (Weights(strong=1, moderate=2), "moderate"),
        (Weights(strong=1, moderate=1, weak=9), "tentative"),
        (Weights(strong=2, moderate=3), "strong"),
        (Weights(strong=2, moderate=3, open=1, unanswered=1), "moderate"),
        (Weights(strong=5, moderate=5), "definitive"),
        (Weights(strong=5, moderate=5, unanswered=1), "strong"),
    ],
)
def test_the_levels_of_the_model(weights: Weights, level: Level | None) -> None:
    assert highest(weights) == level


def test_what_is_missing_is_named_in_order() -> None:
    def first(weights: Weights, authority: int = 0) -> str | None:
        gap = missing(obligations(weights, "strong", scope="grove", authority=authority))
        return gap.code if gap else None

    assert first(Weights(unanswered=1, open=1)) == "INSUFFICIENT_QUANTITY"
    assert first(Weights(moderate=5, open=1)) == "INSUFFICIENT_QUALITY"
    assert first(Weights(strong=2, moderate=3, open=1)) == "UNADDRESSED_COUNTEREVIDENCE"
    assert first(Weights(strong=2, moderate=3)) == "NEEDS_ESCALATION"
    assert first(Weights(strong=2, moderate=3), authority=2) is None


def test_a_wider_scope_needs_more_authority() -> None:
    wanted = [
        [authority_for(scope, level) for scope in ("node", "tree", "grove")] for level in LEVELS
    ]
    assert wanted == [[0, 1, 2], [0, 1, 2], [0, 1, 2], [1, 2, 3]]


def test_statements_are_compared_without_case_blanks_and_full_stop() -> None:
    assert normalised("  The  Lamp is LIT. ") == normalised("the lamp is lit")
    assert normalised("ﬁne") == "fine"
    assert normalised("the lamp is lit") != normalised("the lamp is not lit")


def test_each_state_has_its_acts() -> None:
    assert set(ALLOWED) == set(STATES)
    assert not ALLOWED["withdrawn"] and not ALLOWED["refuted"]
    assert "withdraw" not in ALLOWED["committed"] and "commit" not in ALLOWED["hypothesis"]
