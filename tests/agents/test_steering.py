"""Memory, author's note and lore: what a tree adds to the request of a subject, to the byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.context.sections import PathPart
from agents.context.subject_request import (
    JOINT,
    PathPiece,
    PromptTooLong,
    Steering,
    SubjectPath,
    SubjectRequest,
    arrange,
    noted,
    noted_parts,
    paragraph_starts,
)
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import User
from loom.text.lore import LoreEntry, chosen_lore, divided, entry_of, keys_of, occurs
from loom.trees.commands.trees import change_tree
from loom.trees.models import Tree

TEXT = st.text(alphabet=st.sampled_from("ab .\n\r\té語\u2028"), max_size=60)
HOUSE = ("The house stood empty.\n", "She had not been there.\n\n", "The gate was new.")


def entry(uid: str, *keys: str, text: str = "Lore.", order: int = 100) -> LoreEntry:
    return LoreEntry(uid, uid, keys, text, order)


def buffer(*texts: str, **more: object) -> SubjectRequest:
    path = tuple(PathPiece(key, text, is_human=True) for key, text in enumerate(texts))
    return arrange(SubjectPath("buffer", "completion", path, **more))  # type: ignore[arg-type]


# -- in a buffer


def test_memory_lore_and_note_of_a_buffer_are_where_they_belong() -> None:
    steering = Steering(
        "A cold novel.", "[Slow.]", 2, (entry("gate", "gate", text="The gate is iron."),)
    )
    assert buffer(*HOUSE, steering=steering).prompt == (
        "A cold novel.\n\nThe gate is iron.\n\n"
        "The house stood empty.\n[Slow.]\nShe had not been there.\n\nThe gate was new."
    )


@given(st.lists(TEXT, max_size=5), st.integers(1, 9))
def test_empty_ones_leave_every_byte_as_it_is(texts: list[str], depth: int) -> None:
    bare = buffer(*texts)
    assert bare.prompt == "".join(texts)
    assert buffer(*texts, steering=Steering(" \n", "\n ", depth)).prompt == bare.prompt


@given(TEXT, st.text(alphabet="[]xyz", min_size=1, max_size=8), st.integers(1, 5))
def test_a_note_is_in_the_text_once_and_nothing_else_changes(
    text: str, note: str, depth: int
) -> None:
    with_note = noted(text, note, depth)
    assert with_note.count(note) == 1
    before, _, after = with_note.partition(note)
    joint = "\n" if before.endswith("\n") and not before.endswith("\n\n") else JOINT
    assert after.startswith(joint) and before + after.removeprefix(joint) == text
    behind = len(paragraph_starts(text)) - len(paragraph_starts(before))
    assert behind == min(depth, len(paragraph_starts(text)))


def test_the_end_of_a_buffer_is_never_the_note() -> None:
    sent = buffer("One line, and on it g", steering=Steering(note="[Slow.]", depth=1))
    assert sent.prompt == "[Slow.]\n\nOne line, and on it g"


# -- in a dialogue


def dialogue(**more: object) -> SubjectRequest:
    path = tuple(
        PathPiece(key, text, is_human=key % 2 == 0)
        for key, text in enumerate(["Who?", "Marie.\n\nA clockmaker.", "Where?"])
    )
    return arrange(SubjectPath("dialogue", "chat", path, **more))  # type: ignore[arg-type]


def test_of_a_dialogue_memory_ends_the_system_text_and_the_note_is_a_users() -> None:
    steering = Steering("They live in Bern.", "[Be brief.]", 2, (entry("marie", "Marie"),))
    messages = dialogue(persona="You write.", steering=steering).messages
    assert messages == (
        {"role": "system", "content": "You write.\n\nThey live in Bern.\n\nLore."},
        {"role": "user", "content": "Who?\n\n[Be brief.]"},
        {"role": "assistant", "content": "Marie.\n\nA clockmaker."},
        {"role": "user", "content": "Where?"},
    )
    assert dialogue(steering=Steering("", " ", 2)) == dialogue()


def test_a_note_deeper_than_the_path_comes_first() -> None:
    parts = noted_parts([PathPart("assistant", "One."), PathPart("gap", "[…]")], "[N]", 9)
    assert [part.text for part in parts] == ["[N]", "One.", "[…]"]


# -- what fits, and what people are shown of it


def test_they_are_never_cut_and_the_path_is() -> None:
    steering = Steering("Memory. " * 50, "[Note.]", 1)
    sent = buffer("word " * 4_000, truncation="rollingWindow", limit=500, steering=steering)
    assert sent.prompt is not None and len(sent.prompt) // 4 <= 500
    assert "Memory. " * 50 in sent.prompt and "[Note.]" in sent.prompt
    with pytest.raises(PromptTooLong):
        buffer("word", limit=50, steering=steering)


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT, TEXT, st.sampled_from(["dialogue", "buffer"]))
def test_the_sections_hold_what_is_sent(
    texts: list[str], memory: str, note: str, mode: str
) -> None:
    path = tuple(PathPiece(key, text, is_human=True) for key, text in enumerate(texts) if text)
    steering = Steering(memory, note, 1, (entry("a", "a", text="All of a."),))
    sent = arrange(SubjectPath(mode, "completion", path, steering=steering))  # type: ignore[arg-type]
    assert sent.prompt is not None
    for portion in sent.portions:
        assert portion.tokens == -(-len(portion.text) // 4)
        if portion.name not in ("PATH",):
            assert portion.text in sent.prompt
    is_there = occurs("a", ("" if mode == "buffer" else JOINT).join(text for text in texts if text))
    assert ("LORE" in [portion.name for portion in sent.portions]) is is_there


def test_a_section_says_why_lore_is_there_or_is_not() -> None:
    lore = (entry("gate", "gate"), entry("inn", "house", text="The inn. " * 900))
    portions = buffer(*HOUSE, steering=Steering(lore=lore, scan=200, budget=100)).portions
    by_detail = {
        portion.detail: (portion.text, portion.note)
        for portion in portions
        if portion.name == "LORE"
    }
    assert by_detail["gate"] == ("Lore.", "because “gate” occurs near the end")
    assert by_detail["inn"][0] == "" and "left out: 2,025 tokens" in by_detail["inn"][1]


def test_only_the_last_characters_are_searched() -> None:
    lore = (entry("house", "house"),)
    assert "Lore." in str(buffer(*HOUSE, steering=Steering(lore=lore, scan=100)).prompt)
    assert "Lore." not in str(buffer(*HOUSE, steering=Steering(lore=lore, scan=30)).prompt)


# -- lore: keys, order, budget


@pytest.mark.parametrize(
    ("field", "keys"),
    [
        ("Thomas", ("Thomas",)),
        ('Thomas, "the old house, empty"', ("Thomas", "the old house, empty")),
        ("[a, b ,, a]", ("a", "b")),
        ("'x y', z", ("x y", "z")),
        ("", ()),
        (" , ,", ()),
        ('"open', ("open",)),
    ],
)
def test_keys_are_names_with_commas(field: str, keys: tuple[str, ...]) -> None:
    assert keys_of(field) == keys


def test_front_matter_is_divided_from_the_text() -> None:
    document = "---\ntitle: Thomas\nkeys:\n  - Thomas\n  - Tom\norder: 5\n---\nHer brother.\n"
    assert divided(document)[1] == "Her brother.\n"
    assert entry_of("d1", "Thomas", document) == LoreEntry(
        "d1", "Thomas", ("Thomas", "Tom"), "Her brother.", 5
    )
    for none in ("Her brother.", "---\nkeys: a\nno end", "---\nkeys: a\n---\n \n", "---\n---\nx"):
        assert entry_of("d1", "", none) is None


@given(st.text(max_size=200))
def test_whatever_a_document_holds_it_is_an_entry_or_none(text: str) -> None:
    entry = entry_of("d1", "t", f"---\n{text}\n---\nBody.")
    assert entry is None or (entry.keys and entry.text.strip())
    assert divided(text)[1] in text or divided(text) == ({}, text)


@pytest.mark.parametrize(
    ("key", "text", "is_there"),
    [
        ("cat", "A CAT sat.", True),
        ("cat", "concatenate", False),
        ("cat", "cats", False),
        ("cat", "the cat's tail", True),
        ("old house", "the old\n  house", True),
        ("Émile", "e\u0301mile".upper(), True),
        ("猫", "黒猫がいる", True),
        ("토마스", "토마스는", True),
        ("C++", "in C++.", True),
        ("cat", "", False),
    ],
)
def test_a_key_is_a_word_of_its_own(key: str, text: str, is_there: bool) -> None:
    assert occurs(key, text) is is_there


ENTRIES = st.lists(
    st.builds(
        entry,
        st.sampled_from("uvwxyz"),
        st.sampled_from(["cat", "dog", "owl"]),
        text=st.sampled_from(["x", "x" * 40, "x" * 400]),
        order=st.integers(0, 3),
    ),
    max_size=6,
    unique_by=lambda lore: lore.uid,
)


@given(ENTRIES, st.sampled_from(["", "a cat", "a cat and a dog"]), st.integers(0, 120))
def test_lore_keeps_its_order_and_its_budget(
    entries: list[LoreEntry], end: str, budget: int
) -> None:
    chosen = chosen_lore(entries, end, budget, len)
    assert sum(len(lore.text) for lore in chosen.taken) <= budget
    assert [lore.order for lore in chosen.taken] == sorted(lore.order for lore in chosen.taken)
    with_key = [entry for entry in entries if any(occurs(key, end) for key in entry.keys)]
    assert len(chosen.entered) + len(chosen.left) == len(with_key)
    assert chosen_lore(reversed(entries), end, budget, len).taken == chosen.taken


# -- stored, changed, undone


@pytest.mark.django_db
def test_undo_takes_back_what_was_changed_about_a_tree(actor: Actor, tree: Tree) -> None:
    def now() -> tuple[str, int]:
        tree.refresh_from_db()
        return tree.memory, tree.note_depth

    def say(line: str) -> str:
        return str(execute_line(actor, tree, Request(line)).body["reply"])

    change_tree(actor, tree, {"memory": "First."})
    change_tree(actor, tree, {"memory": "Second.", "note_depth": 7, "title": "Other"})
    say('respond root "Hello."')
    assert "undid → respond" in say("undo")
    assert say("undo") == ("✓ undid changed the memory and the place of the author's note")
    assert now() == ("First.", 3)
    assert say("redo").endswith("the author's note") and now() == ("Second.", 7)
    say("undo")
    change_tree(actor, tree, {"memory": "Third."})
    with pytest.raises(CommandError) as refused:
        say("redo")
    assert refused.value.code == "REJECTED" and now() == ("Third.", 3)
    assert tree.title == "Other"


@pytest.mark.django_db
def test_what_somebody_else_changed_since_is_not_taken_back(
    actor: Actor, writer: User, tree: Tree
) -> None:
    change_tree(actor, tree, {"author_note": "Mine."})
    change_tree(get_actor(writer, tree.grove), tree, {"author_note": "Theirs."})
    with pytest.raises(CommandError) as refused:
        execute_line(actor, tree, Request("undo"))
    assert refused.value.code == "CONFLICT"
    tree.refresh_from_db()
    assert tree.author_note == "Theirs."


@pytest.mark.django_db
@pytest.mark.parametrize("changes", [{"note_depth": 0}, {"lore_scan": 0}, {"lore_budget": -1}])
def test_numbers_out_of_range_are_refused(
    actor: Actor, tree: Tree, changes: dict[str, int]
) -> None:
    with pytest.raises(CommandError) as refused:
        change_tree(actor, tree, changes)
    assert refused.value.code == "INVALID_SYNTAX"
