"""Two texts compared: word by word where that can be read, else side by side."""

import random
from collections.abc import Callable

import pytest

from loom.access import Actor, acting_as
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant
from loom.reading.commands.view import MOST_WORDS, word_difference
from loom.trees.models import Tree
from tests.commands.conftest import Say

Write = Callable[..., str]


@pytest.mark.django_db
def test_compare_shows_what_differs_with_author_and_place(say: Say, write: Write) -> None:
    a = write("She opened the old door.")
    b = say(f'edit {a} replace:"old" with:"heavy"').body["refs"][0]
    answer = say(f"compare {a} {b}")
    first, second, words = answer.reply.split("\n")
    assert first.startswith(f"[{a}] Owner (human) · now · depth:1 · below [")
    assert second.startswith(f"[{b}] Owner (human)")
    assert words == "She opened the [-old -]{+heavy +}door."
    assert answer.body["refs"] == [a, b]
    assert say(f"diff {a} {b}").body["canonical"] == f"→ compare {a} {b}"


@pytest.mark.django_db
def test_compare_shows_both_texts_where_it_is_asked_to(say: Say, write: Write) -> None:
    a, b = write("One."), write("Two.")
    reply = say(f"compare {a} {b} as:side").reply
    assert '"One."' in reply and '"Two."' in reply and "[-" not in reply


@pytest.mark.django_db
def test_compare_says_where_texts_are_too_different(say: Say, write: Write) -> None:
    a = say("respond root\n" + " ".join(f"a{n}" for n in range(300)) + "\n←").body["refs"][0]
    words = [f"b{n}" if n % 9 else f"a{n}" for n in range(300)]
    b = say("respond root\n" + " ".join(words) + "\n←").body["refs"][0]
    assert "too different to compare" in say(f"compare {a} {b}").reply


@pytest.mark.django_db
def test_compare_withholds_what_models_are_not_sent(
    say: Say, write: Write, actor: Actor, tree: Tree, muse: Participant
) -> None:
    a, b = write("Secret."), write("Open.")
    say(f"exclude {a}")
    muse.permissions = ["loom_aware"]
    answer = execute_line(acting_as(actor, muse), tree, Request(f"compare {a} {b}"))
    assert "Secret" not in answer.reply and "Open." in answer.reply
    assert "excluded or pruned" in answer.reply
    with pytest.raises(CommandError) as caught:
        say(f"compare {a} q9q9")
    assert caught.value.code == "NOT_FOUND"


def test_a_word_difference_keeps_what_is_around() -> None:
    assert word_difference("a b", "a b") == "(the same text)"
    assert word_difference("a b c", "a c") == "a [-b -]c"
    assert word_difference("", "new") == "{+new+}"
    long = "word " * 200
    assert word_difference(f"{long}one", f"{long}two") == f" … {'word ' * 24}[-one-]{{+two+}}"


def test_what_costs_too_much_is_not_compared_word_by_word() -> None:
    random.seed(7)
    few = [" ".join(random.choice("abcdef") for _ in range(9_000)) for _ in range(2)]
    assert word_difference(*few) is None
    long = [" ".join(f"{mark}{n}" for n in range(MOST_WORDS + 1)) for mark in "ab"]
    assert word_difference(*long) is None
    same = "one two three " * 300_000  # 4 MiB with one word changed
    assert word_difference(f"{same}x", f"{same}y") is not None
