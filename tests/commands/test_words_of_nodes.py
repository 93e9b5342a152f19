"""Comments and suggestions on words of a text in a tree: they belong to its place, say which words
of which wording they are about, and are found there in later wordings."""

from collections.abc import Callable

import pytest

from loom.access import Actor
from loom.errors import CommandError
from loom.notes.words import place_now, place_of, places_of
from loom.people.models import User
from loom.trees.models import Node, NodeSource, Tree
from loom.trees.queries import lookup, places
from loom.trees.queries.around import merges_of, sources_of
from tests.commands.conftest import Say
from tests.machines.replay import replayed, stored
from tests.two_groves import TwoGroves

Write = Callable[..., str]
TEXT = "The house waits. The garden waits too."


def refused(say: Say, line: str, **more: object) -> CommandError:
    with pytest.raises(CommandError) as error:
        say(line, **more)
    return error.value


def noted(say: Say, line: str, **more: object) -> str:
    return str(say(line, **more).body["refs"][0])


def words(tree: Tree, note: str, text: str | None = None) -> str | None:
    """The words that a note is about, in the wording it was made on or in another text."""
    slot = Node.objects.get(tree=tree, local_id=note).slot_id
    version, place = places_of([slot])[slot]
    before = Node.objects.get(pk=version).text
    now = place_now(before, before if text is None else text, place)
    return None if now is None else (before if text is None else text)[slice(*now)]


def test_a_comment_is_about_its_words_in_every_wording(say: Say, write: Write, tree: Tree) -> None:
    node = write(TEXT)
    note = noted(say, f'annotate {node} "Which one?" of:"waits" nth:2 as:question')
    assert words(tree, note) == "waits"
    assert words(tree, note, "Long ago. The house waits. The garden waits too.") == "waits"
    assert words(tree, note, "The house waits. The garden slept too.") == "slept"
    assert words(tree, note, "The house waits. The garden too.") is None
    source = NodeSource.objects.get(node__local_id=note)
    place = TEXT.rindex("waits")
    assert (source.role, source.version_seen) == ("primary", f"{place}-{place + 5}")
    assert replayed(tree) == stored(tree)
    say("undo")
    assert Node.objects.get(tree=tree, local_id=note).pruned
    assert replayed(tree) == stored(tree)


def test_words_that_are_there_twice_are_not_guessed(say: Say, write: Write) -> None:
    node = write(TEXT)
    twice = refused(say, f'annotate {node} "Which?" of:"waits"')
    assert (twice.code, twice.message) == ("CONFLICT", f"These words are in [{node}] 2 times.")
    assert "nth:2" in twice.hint
    assert refused(say, f'annotate {node} "Which?" of:"waits" nth:3').code == "NOT_FOUND"
    assert refused(say, f'annotate {node} "Which?" of:"castle"').code == "NOT_FOUND"
    assert refused(say, f'suggest {node} "sleeps" of:"waits"').code == "CONFLICT"
    long = "x" * 2001
    assert refused(say, f'annotate {node} "Which?" of:"{long}"').code == "LIMIT_EXCEEDED"


def test_only_words_of_a_text_can_be_named(say: Say, write: Write) -> None:
    node = write(TEXT)
    note = noted(say, f'annotate {node} "Which one?"')
    assert refused(say, f'annotate {note} "This" of:"one"').code == "REJECTED"
    assert refused(say, 'annotate root "This" of:"one"').code == "REJECTED"


def test_a_note_on_words_is_no_text_that_was_made_from_another(
    say: Say, write: Write, tree: Tree, actor: Actor
) -> None:
    node = write(TEXT)
    note = noted(say, f'annotate {node} "Why a house?" of:"house"')
    assert not merges_of(actor, lookup.rows().get(tree=tree, local_id=node))
    assert not sources_of(actor, lookup.rows().get(tree=tree, local_id=note))


def test_a_suggestion_changes_its_words_alone(
    say: Say, write: Write, tree: Tree, reader: User
) -> None:
    node = write(TEXT)
    first = noted(say, f'suggest {node} "sleeps" of:"waits" nth:2', by=reader)
    second = noted(say, f'suggest {node} "castle" of:"house"', by=reader)
    assert (
        Node.objects.get(tree=tree, local_id=first).text
        == TEXT[::-1].replace("waits"[::-1], "sleeps"[::-1], 1)[::-1]
    )
    say(f"accept {first}")
    say(f"accept {second}")
    newest = places.newest_version(lookup.rows().get(tree=tree, local_id=node))
    assert newest.text == "The castle waits. The garden sleeps too."
    same = refused(say, f'suggest {newest.local_id} "castle" of:"castle"')
    assert same.code == "REJECTED"
    both = refused(say, f'suggest {node}:1-1 "x" of:"house"')
    assert both.code == "INVALID_SYNTAX"


def test_words_that_occur_very_often_are_found_quickly() -> None:
    text = "a" * 1_000_000
    assert place_of(text, "a" * 2000, 10_000, shown="it") == (9_999, 11_999)
    with pytest.raises(CommandError) as error:
        place_of(text, "aa", 0, shown="it")
    assert error.value.code == "CONFLICT"


def test_who_lists_notes_reads_which_words_they_are_about(say: Say, write: Write) -> None:
    node = write(TEXT)
    say(f'annotate {node} "Which one?" of:"waits" nth:2')
    say(f'annotate {node} "All of it."')
    for line in (f"view {node} with-annotations", f"list {node} annotations"):
        reply = str(say(line).body["reply"])
        assert '· note · "Which one?" · on "waits"' in reply
        assert reply.count(" · on ") == 1


def test_words_of_a_text_tell_nothing_to_who_may_not_read_it(two_groves: TwoGroves) -> None:
    def code(user: User, line: str) -> str:
        with pytest.raises(CommandError) as error:
            two_groves.left.run(user, line)
        return error.value.code

    for verb in ("annotate", "suggest"):
        for word in ("kestrel", "falcon"):
            line = f'{verb} {two_groves.far} "What?" of:"{word}"'
            assert code(two_groves.only_left, line) == "NOT_FOUND"
            assert code(two_groves.both, line) == "CROSS_TREE"
    here = two_groves.right.text.local_id
    assert "annotation" in two_groves.right.run(
        two_groves.only_right, f'annotate {here} "Whose?" of:"tower"'
    )


def test_a_reader_comments_on_words_where_that_is_allowed(
    say: Say, write: Write, tree: Tree, reader: User
) -> None:
    node = write(TEXT)
    for word in ("house", "castle"):
        line = f'annotate {node} "What?" of:"{word}"'
        assert refused(say, line, by=reader).code == "PERMISSION_DENIED"
    say("allow readers comment")
    note = noted(say, f'annotate {node} "What?" of:"house"', by=reader)
    assert words(tree, note) == "house"
    say(f"resolve {note}", by=reader)
