"""What is learned from choices, measured on simulated people whose taste is known."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from loom.choices.taste import ChoiceMade, learned, measured, traits_of
from loom.embedding.vectors import Floats, unit

Liked = Callable[[Floats, Floats], Floats]  # how much texts are liked, by their traits and vectors
DIRECTION = np.array([0.6, -0.5, 0.4, 0.3, -0.3, 0.2], np.float32)


def person(
    seed: int, liked: Liked, *, count: int = 200, size: int = 4, models: tuple[str, ...] = ()
) -> list[ChoiceMade]:
    """Choices of somebody who takes the best of some texts, with some luck. With `models`, each
    text is by one of them, and the first of them is liked more."""
    dice = np.random.default_rng(seed)
    choices = []
    for _ in range(count):
        vectors = dice.normal(size=(size, 48)).astype(np.float32)
        vectors[:, :6] *= 4  # texts of one tree differ along few axes
        vectors = unit(vectors)
        traits = dice.normal(size=(size, 4)).astype(np.float32)
        by = tuple(map(str, dice.choice(models, size=size))) if models else ()
        scores = liked(traits, vectors) + dice.gumbel(size=size)
        scores += np.array([4.0 * (model == models[0]) for model in by] or 0.0)
        choices.append(ChoiceMade(traits, vectors, int(np.argmax(scores)), authors=by))
    return choices


def likes_a_theme(_traits: Floats, vectors: Floats) -> Floats:
    scores: Floats = 8 * vectors[:, :6] @ DIRECTION
    return scores


def likes_short_dialogue(traits: Floats, _vectors: Floats) -> Floats:
    scores: Floats = -1.5 * traits[:, 0] + 1.2 * traits[:, 1]
    return scores


def likes_nothing(traits: Floats, _vectors: Floats) -> Floats:
    return np.zeros(len(traits), np.float32)


def likes_the_first(traits: Floats, _vectors: Floats) -> Floats:
    return (-1.5 * np.arange(len(traits))).astype(np.float32)


def likes_long(traits: Floats, _vectors: Floats) -> Floats:
    scores: Floats = 2 * traits[:, 0]
    return scores


@pytest.mark.parametrize("liked", [likes_a_theme, likes_short_dialogue])
def test_a_known_taste_is_found_in_200_choices(liked: Liked) -> None:
    claims = []
    for seed in range(6):
        figures = measured(person(seed, liked))
        assert figures is not None and figures.n == 70 and figures.auc > 0.6
        claims.append(figures.is_better)
    assert sum(claims) >= 5


def test_a_liked_model_is_found_in_200_choices() -> None:
    claims = []
    for seed in range(4):
        choices = person(seed, likes_nothing, models=("wise", "quick", "plain"))
        figures, taste = measured(choices), learned(choices)
        assert figures is not None and taste is not None and figures.auc > 0.6
        claims.append(figures.is_better)
        weights = dict(taste.leanings())
        assert weights["author:wise"] > max(weights["author:quick"], weights["author:plain"]) + 0.5
        by_wise, by_quick = taste.scores(
            np.zeros((2, 4), np.float32), np.zeros((2, 48), np.float32), ("wise", "quick")
        )
        assert by_wise > by_quick + 0.5
    assert sum(claims) >= 3


def test_who_wrote_counts_only_where_the_texts_are_by_several() -> None:
    taste = learned(person(5, likes_short_dialogue, models=("alone",)))
    assert taste is not None and taste.authors == ()


@pytest.mark.parametrize("liked", [likes_nothing, likes_the_first, likes_long])
def test_nothing_is_claimed_where_there_is_no_taste(liked: Liked) -> None:
    """Neither for random choices, nor where length or the place explains them."""
    for seed in range(8):
        choices = person(seed, liked)
        for names in ((), ("wise", "quick")):  # who wrote them explains nothing either
            dice = np.random.default_rng(seed)
            by = [tuple(map(str, dice.choice(names, size=4))) if names else () for _ in choices]
            some = [replace(choice, authors=who) for choice, who in zip(choices, by, strict=True)]
            figures = measured(some)
            assert figures is not None and not figures.is_better, seed


def test_what_is_shown_first_is_not_taken_for_what_is_liked() -> None:
    taste = learned(person(1, likes_the_first))
    assert taste is not None
    assert all(abs(weight) < 0.5 for _, weight in taste.leanings())


def test_the_leanings_say_what_counts() -> None:
    taste = learned(person(2, likes_short_dialogue))
    assert taste is not None
    leanings = dict(taste.leanings())
    assert leanings["length"] < -0.5 and leanings["dialogue"] > 0.5
    assert {name for name, _ in taste.leanings()[:2]} == {"length", "dialogue"}


def test_only_choices_that_were_not_ordered_by_it_measure_it() -> None:
    choices = person(3, likes_short_dialogue)
    ranked = [
        ChoiceMade(choice.traits, choice.vectors, choice.taken, is_fair=False) for choice in choices
    ]
    assert measured(ranked) is None
    figures = measured([*choices[:150], *ranked[150:180], *choices[180:]])
    assert figures is not None and figures.n == 40


def test_too_few_choices_teach_nothing() -> None:
    assert learned(person(4, likes_a_theme, count=10)) is None
    assert measured(person(4, likes_a_theme, count=25)) is None
    assert measured([]) is None


def test_traits_are_read_in_linear_time_and_say_what_they_should() -> None:
    plain, spoken = (
        traits_of("He went home and slept. " * 5),
        traits_of("“Go,” she said. “Now!” " * 5),
    )
    assert spoken[1] > plain[1] and plain[3] > spoken[3]
    assert traits_of("# A\n- b\n- c")[2] > traits_of("A b c")[2]
    assert len(traits_of("—" * 500_000)) == 4 and len(traits_of("")) == 4
