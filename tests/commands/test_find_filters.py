"""`find` with filters: tag, author, kind, time, leaf and bookmark."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from loom.errors import CommandError
from loom.people.models import User
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def refs(say: Say, line: str) -> list[str]:
    return list(say(line).body["refs"])


def test_find_takes_a_tag_a_bookmark_and_leaves(say: Say, write: Write) -> None:
    a = write("The tide turns.")
    b = write("The tide is out.", below=a)
    say(f"tag {a} #keep")
    say(f"bookmark {b}")
    assert refs(say, 'find tag:"#Keep"') == [a]
    assert refs(say, "find bookmarked") == [b]
    assert refs(say, "find leaf") == [b]
    assert refs(say, 'find "tide" leaf') == [b]
    assert refs(say, 'find "tide" tag:"keep"') == [a]
    assert refs(say, 'find tag:"none"') == []
    assert refs(say, f"find leaf in:{b}") == [b]
    assert refs(say, f'find tag:"keep" in:{b}') == []


def test_a_suggestion_of_a_text_and_one_in_words_are_suggestions(say: Say, write: Write) -> None:
    a = write("Whale one.")
    text = say(f'suggest {a} "Whale three."').body["refs"][0]
    words = say(f'annotate {a} "Say three." as:suggestion').body["refs"][0]
    say(f'annotate {a} "three?" as:question')
    assert set(refs(say, "find kind:suggestion")) == {text, words}
    assert set(refs(say, 'find "three" kind:suggestion')) == {text, words}
    assert refs(say, 'find "whale" kind:suggestion in:grove') == [text]


def test_find_takes_an_author_a_kind_and_a_time(say: Say, write: Write, writer: User) -> None:
    a = write("a")
    b = write("b", by=writer)
    note = say(f'annotate {a} "why?" as:question').body["refs"][0]
    name = writer.participants.get().name
    assert refs(say, f'find by:"{name}"') == [b]
    assert refs(say, "find kind:question") == [note]
    assert refs(say, "find kind:note") == []
    assert set(refs(say, "find kind:text")) == {a, b}
    assert set(refs(say, 'find kind:text since:"2000-01-01"')) == {a, b}
    assert refs(say, 'find kind:text before:"2000-01-01"') == []


def test_filters_that_cannot_be_read_say_what_to_write(say: Say, write: Write) -> None:
    write("a")
    for line, words in (
        ("find", "words or a filter"),
        ('find by:"Nobody"', "Nobody here is called"),
        ('find since:"yesterday"', "takes a date"),
    ):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert words in refused.value.message
        assert refused.value.hint


def test_a_tag_and_a_bookmark_are_found_on_a_later_wording(say: Say, write: Write) -> None:
    a = write("The tide turns.")
    say(f"tag {a} #keep")
    say(f"bookmark {a}")
    new = say(f'edit {a} "The tide has turned." as:version').body["refs"][0]
    assert refs(say, 'find tag:"keep"') == [new]
    assert refs(say, "find bookmarked") == [new]
    assert refs(say, "find bookmarked in:grove") == [new]
    assert refs(say, 'find "#keep"') == [new]
    assert refs(say, 'find tag:"keep" in:grove') == [new]


def test_what_is_left_out_is_counted(say: Say, write: Write) -> None:
    for name in "abc":
        write(name)
    assert say("find leaf max:2").reply.startswith("3 hits\n")
    assert "… 1 more; ask with max:" in say("find leaf max:2").reply


def test_filters_find_nothing_of_another_grove(two_groves: TwoGroves) -> None:
    left, right, person = two_groves.left, two_groves.right, two_groves.both
    right.run(person, f"tag {right.text.local_id} #tower")
    right.run(person, f"bookmark {right.text.local_id}")
    for line in ('find tag:"tower" in:grove', "find bookmarked in:grove", "find leaf in:grove"):
        assert "kestrel" in right.run(person, line)
        assert "kestrel" not in left.run(person, line)


def test_filters_ask_the_database_as_often_for_two_hits_as_for_twenty(
    say: Say, write: Write
) -> None:
    def asked() -> int:
        say("find leaf bookmarked max:50")
        with CaptureQueriesContext(connection) as queries:
            say("find leaf bookmarked max:50")
        return len(queries)

    def mark(count: int) -> None:
        for at in range(count):
            say(f"bookmark {write(str(at))}")

    mark(2)
    few = asked()
    mark(18)
    assert asked() == few
