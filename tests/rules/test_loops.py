"""Loops: what is one, what is none, and that none goes on for ever."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.turns.loops import HISTORY, LoopVerdict, Past, RoundProse, grams, is_alike, look, semantic


def walk(steps: list[Past]) -> list[LoopVerdict]:
    """What comes of each step after those before it."""
    return [look(steps[:at], step) for at, step in enumerate(steps)]


def views(*names: str, position: str = "r2d4") -> list[Past]:
    """A view of each named item, all from one position, in a world at rest."""
    return [
        Past(seq, f"→ view {name}", position, ((name, "1"),)) for seq, name in enumerate(names, 1)
    ]


def test_the_same_view_is_warned_of_then_refused_then_halts() -> None:
    verdicts = walk(views("a7x2", "a7x2", "a7x2", "a7x2"))
    assert [verdict.decision for verdict in verdicts] == ["run", "warn", "refuse", "halt"]
    assert {verdict.status for verdict in verdicts[1:]} == {"exact"}
    assert "step 1" in verdicts[1].warning
    assert verdicts[2].refusal.code == "LOOP"
    assert "step 1" in verdicts[2].refusal.message
    assert "halted" in verdicts[3].refusal.hint


def test_the_refusal_points_to_the_earlier_result() -> None:
    steps = [Past(seq, "→ view a7x2", "a7x2", result="#14") for seq in (3, 4, 5)]
    assert "#14" in walk(steps)[2].refusal.hint
    assert walk(steps)[2].earlier == 3


def test_after_a_change_of_the_item_it_may_be_looked_at_again() -> None:
    steps = views("a7x2", "a7x2")
    later = Past(3, "→ view a7x2", "r2d4", (("a7x2", "2"),))
    assert look(steps, later).decision == "run"


def test_another_position_is_another_state() -> None:
    steps = [Past(1, "→ list here", "a7x2", (("a7x2", "1"),))]
    assert look(steps, Past(2, "→ list here", "b3k9", (("b3k9", "1"),))).decision == "run"


def test_a_command_that_changes_the_tree_ends_a_loop() -> None:
    steps = views("a7x2", "a7x2", "a7x2")
    steps.append(Past(4, '→ annotate b3k9 "so"', "r2d4", (("b3k9", "1"),), changed=True))
    assert look(steps, views("a7x2")[0]).decision == "run"


def test_four_different_children_in_a_row_are_no_loop() -> None:
    assert {verdict.decision for verdict in walk(views("a1b2", "c3d4", "e5f6", "g7h8"))} == {"run"}


def test_a_block_three_times_is_found_wherever_it_is_said() -> None:
    steps = [
        Past(seq, f"→ view {name}", f"p{seq}", ((name, "1"),))
        for seq, name in enumerate("abcabcabcab", 1)
    ]
    verdicts = walk(steps)
    assert {verdict.decision for verdict in verdicts[:8]} == {"run"}
    assert [(verdict.decision, verdict.status) for verdict in verdicts[8:]] == [
        ("warn", "structural"),
        ("refuse", "structural"),
        ("halt", "structural"),
    ]
    assert (verdicts[9].earlier, verdicts[9].position) == (1, "p1")


@given(size=st.integers(1, 6), before=st.integers(0, 5))
def test_blocks_of_one_to_six_steps_are_found_the_third_time(size: int, before: int) -> None:
    names = [f"x{at}" for at in range(before)] + [f"n{at}" for at in range(size)] * 3
    steps = [Past(at, name, f"p{at}", ((name, "1"),)) for at, name in enumerate(names)]
    verdicts = walk(steps)
    assert verdicts[-1] == LoopVerdict("warn", "structural", before, f"p{before}")
    assert {verdict.decision for verdict in verdicts[:-1]} == {"run"}


@given(size=st.integers(7, 20), times=st.integers(2, 4))
def test_longer_blocks_from_ever_new_positions_are_no_loop(size: int, times: int) -> None:
    names = [f"n{at}" for at in range(size)] * times
    steps = [Past(at, name, f"p{at}", ((name, "1"),)) for at, name in enumerate(names)]
    assert {step.decision for step in walk(steps)} == {"run"}


@given(names=st.lists(st.sampled_from("abc"), max_size=40))
def test_a_changing_world_is_not_a_loop(names: list[str]) -> None:
    steps = [Past(at, name, "here", ((name, str(at)),)) for at, name in enumerate(names)]
    assert {step.decision for step in walk(steps)} <= {"run"}


@given(names=st.lists(st.sampled_from("abc"), max_size=40))
def test_an_agent_that_changes_the_tree_each_time_is_in_no_loop(names: list[str]) -> None:
    steps = [Past(at, name, "here", changed=True) for at, name in enumerate(names)]
    assert {step.decision for step in walk(steps)} <= {"run"}


@given(names=st.lists(st.sampled_from("abcdef"), min_size=24, max_size=60))
def test_in_a_world_at_rest_nobody_goes_on_for_ever(names: list[str]) -> None:
    """Six lines are each run once, warned of, and refused before the nineteenth step halts."""
    assert "halt" in {verdict.decision for verdict in walk(views(*names))[:19]}


@given(names=st.lists(st.sampled_from("abcdefgh"), max_size=60))
def test_a_line_runs_at_most_twice_in_a_world_at_rest(names: list[str]) -> None:
    ran = [
        name
        for name, verdict in zip(names, walk(views(*names)), strict=True)
        if verdict.decision in ("run", "warn")
    ]
    assert all(count <= 2 for count in Counter(ran).values())


def test_only_the_last_hundred_steps_count() -> None:
    steps = views("a7x2", *(f"n{at}" for at in range(HISTORY - 1)))
    again = views("a7x2")[0]
    assert look(steps, again).decision == "warn"
    assert look([*steps, *views("b3k9")], again).decision == "run"


SAME = "The quarrel is only the nearest shape for something older, and nobody says the word. "


def test_near_the_same_prose_three_rounds_halts() -> None:
    rounds = [RoundProse(SAME * 3), RoundProse(SAME * 3 + "Yes."), RoundProse(SAME * 3 + "No.")]
    assert semantic(rounds[:1]).decision == "run"
    assert semantic(rounds[:2]) == LoopVerdict("warn", "semantic", 1)
    assert semantic(rounds) == LoopVerdict("halt", "semantic", 1)
    assert "round 1" in semantic(rounds).refusal.message


def test_a_change_of_the_tree_lets_prose_repeat() -> None:
    assert semantic([RoundProse(SAME), RoundProse(SAME, changed=True)]).decision == "run"
    assert semantic([RoundProse(SAME, changed=True), RoundProse(SAME)]).decision == "run"
    assert (
        semantic(
            [RoundProse(SAME), RoundProse("Other words.", changed=True), RoundProse(SAME)]
        ).decision
        == "run"
    )


def test_rounds_without_prose_are_no_loop() -> None:
    assert semantic([]).decision == "run"
    assert (
        semantic([RoundProse(""), RoundProse(""), RoundProse("ok"), RoundProse("ok")]).decision
        == "run"
    )


def test_the_cosine_must_be_above_the_threshold() -> None:
    """19² + 6² + 1 + 1 + 1 = 20², so the first cosine is 19/20 exactly; the next is above."""
    assert not is_alike(Counter(a=1), Counter(a=19, b=6, c=1, d=1, e=1))
    assert is_alike(Counter(a=1), Counter(a=19, b=6, c=1, d=1))
    assert not is_alike(Counter(a=1), Counter(z=1))


@pytest.mark.parametrize("text", ["", "ab", "\n \t", "😀😀"])
def test_short_texts_have_no_trigrams(text: str) -> None:
    assert not grams(text)


@given(text=st.text(min_size=3, max_size=200))
def test_a_text_is_like_itself(text: str) -> None:
    assert is_alike(grams(text), grams(text)) == bool(grams(text))


def test_a_round_that_means_the_same_is_alike_by_its_cosine_alone() -> None:
    rounds = [RoundProse("Before I write, let me look."), RoundProse("A lamp is lit in the hall.")]
    assert semantic(rounds, [0.951, 1.0]) == LoopVerdict("warn", "semantic", 1)
    assert semantic(rounds, [0.95, 1.0]).decision == "run"  # strictly above
    assert semantic([rounds[0], *rounds], [0.96, 0.97, 1.0]).decision == "halt"
    changed = [RoundProse("Before I write, let me look.", changed=True), rounds[1]]
    assert semantic(changed, [0.99, 1.0]).decision == "run"
    assert semantic([RoundProse("a"), RoundProse("b")], [1.0, 1.0]).decision == "run"  # too short
