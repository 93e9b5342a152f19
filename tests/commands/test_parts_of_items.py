"""Parts of documents where only whole items are stored: refused, with the line that runs."""

from collections.abc import Callable

import pytest

from loom.errors import CommandError
from loom.links.models import Link
from loom.notes.models import Mark
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def _hint(say: Say, line: str) -> str:
    """The line that the refusal of another one gives."""
    with pytest.raises(CommandError) as refusal:
        say(line)
    assert refusal.value.code == "INVALID_SYNTAX"
    assert " is a part; " in refusal.value.message
    return refusal.value.hint.removeprefix("→ ")


@pytest.fixture
def a(say: Say, write: Write) -> str:
    """A node, in a tree with a document."""
    say('write doc:"d" new "# Motive\\n\\nTired.\\n\\n# Place\\n\\nA harbour."')
    return write("a")


def test_a_link_to_a_section_is_refused_and_the_line_given_keeps_it_in_the_note(
    say: Say, a: str
) -> None:
    line = _hint(say, f'link {a} to doc:"d" §motive as:supports confidence:0.5')
    assert line == f'link {a} to doc:"d" as:supports note:"§motive" confidence:0.5'
    assert not Link.objects.filter(type="supports").exists()
    say(line)
    line = _hint(say, f'link doc:"d" §"motive" to {a} note:"why"')
    assert line == f'link doc:"d" to {a} note:"why (§motive)"'
    say(line)
    line = _hint(say, f'unlink doc:"d" §place to {a}')
    assert line == f'unlink doc:"d" to {a}'
    say(f"{line} as:related")
    assert not Link.objects.filter(note="why (§motive)", removed_at=None).exists()


def test_marks_on_a_section_are_refused(say: Say, a: str) -> None:
    label = _hint(say, 'bookmark doc:"d" §motive "key"')
    tag = _hint(say, 'tag doc:"d" lines:1-2 #point')
    assert (label, tag) == ('bookmark doc:"d" "key (§motive)"', 'tag doc:"d" #point')
    assert _hint(say, 'bookmark doc:"d" §motive') == 'bookmark doc:"d" "§motive"'
    assert not Mark.objects.exclude(kind="read").exists()
    say(label)
    say(tag)
    for line in ('unbookmark doc:"d" §motive', 'untag doc:"d" §motive #point'):
        say(_hint(say, line))
