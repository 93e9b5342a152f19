"""Documents are not dead ends: their links and annotations are followed and listed, as far as the
one who asks may see them."""

from collections.abc import Callable

import pytest

from loom.access import acting_as, get_actor
from loom.documents.models import Document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.language.refs import quote
from loom.permissions import READ_DOCUMENTS
from loom.workspace.models import Window
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


@pytest.fixture
def texts(say: Say, write: Write) -> tuple[str, str]:
    """Two nodes: the first is supported by a document, which uses the second and a document."""
    a, b = write("a"), write("b")
    say('write doc:"d" new "Words of the document."')
    say('write doc:"e" new "More words."')
    say(f'link doc:"d" to {a} as:supports')
    say(f'link doc:"d" to {b} as:uses')
    say('link doc:"d" to doc:"e" as:uses')
    return a, b


def _shown() -> dict[int, int | None]:
    return dict(Window.objects.filter(is_visible=True).values_list("number", "item_id"))


def test_links_are_followed_from_a_document_and_from_its_window(
    say: Say, texts: tuple[str, str]
) -> None:
    _, b = texts
    assert '✓ ▼ [uses] of doc:"d" → 2 items as #' in say('expand uses of doc:"d"').reply
    say("close all")
    say('open doc:"d"')
    (number,) = _shown()
    assert '✓ ▼ [supports] of doc:"d" → 1 item as #' in say(f"expand supports of #{number}").reply
    assert Window.objects.get(via="supports").parent_number == number
    assert "hidden #" in say('collapse supports of doc:"d"').reply
    inline = say('expand uses of doc:"d" inline').reply
    assert "→ 2 items" in inline and f"[{b}]" in inline and "More words." in inline
    assert "doc:" in say("trail").reply


def test_focus_goes_on_from_documents(say: Say, texts: tuple[str, str]) -> None:
    a, _ = texts
    say(f"expand supported_by of {a}")  # the document alone
    assert '[uses] of doc:"d" → 2 items as #' in say("expand uses of focus").reply
    say("close all")
    say('expand uses of doc:"d"')  # a node and a document
    mixed = say("expand used_by of focus").reply
    assert 'doc:"e"' in mixed and "→ 1 item as #" in mixed  # both lead back to one
    say("close all")
    say(f"expand supported_by of {a}")
    with pytest.raises(CommandError, match="Documents have no continuations"):
        say("expand continuations of focus")


def test_annotations_of_a_document_are_listed_and_opened(say: Say, texts: tuple[str, str]) -> None:
    say('annotate doc:"d" "Whose?" of:"Words" as:question')
    say('annotate doc:"d" "Good."')
    listed = say('list doc:"d" annotations')
    first, second = listed.body["refs"]
    head, *lines = listed.reply.split("\n")
    assert head == 'doc:"d" → 2 annotations:'
    assert f"[{first}]" in lines[0] and 'on "Words"' in lines[0]
    assert f"[{second}]" in lines[1]
    assert "→ 2 items as #" in say('expand annotations of doc:"d"').reply
    assert say('list doc:"e" annotations').reply == 'doc:"e" → 0 annotations'
    with pytest.raises(CommandError) as refusal:
        say('list doc:"d" siblings')
    assert refusal.value.hint.startswith("there are links, annotations, mentions")


def test_a_part_of_a_document_is_refused(say: Say, texts: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match="is a part; links are of whole items"):
        say('expand uses of doc:"d" lines:1')


def test_the_list_of_a_part_of_a_document_is_refused(say: Say, texts: tuple[str, str]) -> None:
    for kind in ("annotations", "uses", ""):
        with pytest.raises(CommandError) as refusal:
            say(f'list doc:"d" lines:1 {kind}')
        assert refusal.value.code == "INVALID_SYNTAX"
        assert refusal.value.hint == f'→ list doc:"d" {kind}'.rstrip()
    for part in ("§nowhere", "lines:70-80"):
        with pytest.raises(CommandError) as refusal:
            say(f'list doc:"d" {part} annotations')
        assert refusal.value.code == "NOT_FOUND"


def test_a_portal_in_a_document_is_opened(say: Say, texts: tuple[str, str]) -> None:
    a, _ = texts
    say(f'write doc:"d" append "see @[uses -> {a}]"')
    assert '[uses] of doc:"d" → 1 item as #' in say(f'expand uses of doc:"d" to:"{a}"').reply


def test_what_may_not_be_read_is_not_followed(two_groves: TwoGroves) -> None:
    left, right, both = two_groves.left, two_groves.right, two_groves.both
    right.run(both, 'write doc:"plans" new "The kestrel."')
    left.run(both, 'write doc:"d" new "The tower."')
    left.run(both, f'link doc:"d" to {two_groves.far} as:supports')
    right.run(both, 'annotate doc:"plans" "Kestrel?"')
    uid = Document.objects.get(title="plans").uid
    for line in (f"expand supports of doc:{uid}", f"list doc:{uid} annotations"):
        with pytest.raises(CommandError) as refusal:
            left.run(both, line)
        assert refusal.value.code == "NOT_FOUND"
    assert "→ 0 items" in left.run(two_groves.only_left, 'expand supports of doc:"d"')
    assert "→ 0 items" in left.run(two_groves.only_left, 'expand supports of doc:"d" inline')


def test_documents_need_the_permission(two_groves: TwoGroves) -> None:
    left, both = two_groves.left, two_groves.both
    left.run(both, 'write doc:"d" new "The tower."')
    agent = two_groves.agent(left, permissions=["loom_aware", "loom_write"])
    actor = acting_as(get_actor(both, left.grove), agent)
    assert READ_DOCUMENTS not in actor.permissions
    for line in ('expand uses of doc:"d"', 'list doc:"d" annotations'):
        with pytest.raises(CommandError) as refusal:
            execute_line(actor, left.tree, Request(line))
        assert refusal.value.code == "PERMISSION_DENIED"


def test_what_is_opened_is_cut_as_the_line_says(say: Say, write: Write) -> None:
    a = write("a")
    lines = "\n".join(f"line {number}" for number in range(1, 701))
    long = say(f"respond root\n{lines}\n←").body["refs"][0]
    body = "\n".join(f"row {number}" for number in range(1, 701))
    say(f'write doc:"Big" new\n{body}\n←')
    say(f"link {a} to {long} as:tests")
    say(f'link {a} to doc:"Big" as:tests')
    whole = say(f"expand tests of {a}").reply
    assert "→ 1 item as #" in whole
    assert '\n  not opened whole, as over 200 lines: doc:"Big" (700 lines)' in whole
    assert ': → open doc:"Big" head:200' in whole
    assert f" 700; → expand tests of {a} head:200 opens the first ones" in whole
    assert "✓ opened" in say('open doc:"Big" head:200').reply
    say("close all")
    assert "→ 2 items as #" in say(f"expand tests of {a} head:200").reply
    shown = Window.objects.filter(is_visible=True)
    assert set(shown.values_list("first", "last", "place")) == {(1, 200, "head:200")}
    say("close all")
    say(f"switch to {a}")
    say("expand tests tail:3")  # of where the reader stands
    assert set(shown.values_list("first", "last")) == {(698, 700)}
    say("close all")
    say(f"expand tests of {a} head:900")  # more than there are
    assert set(shown.values_list("last", "place")) == {(700, "")}
    for line in ("head:1 tail:1", "head:1 inline", "lines:1-3"):
        with pytest.raises(CommandError) as refusal:
            say(f"expand tests of {a} {line}")
        assert refusal.value.code == "INVALID_SYNTAX"


def test_a_portal_to_a_long_document_says_how_a_part_of_it_is_opened(say: Say) -> None:
    body = "\n".join(f"row {number}" for number in range(300))
    say(f'write doc:"Big" new\n{body}\n←')
    a = say('respond root\nsee @[uses -> doc:"Big"]\n←').body["refs"][0]
    reply = say(f"expand uses of {a} to:{quote('doc:' + quote('Big'))}").reply
    assert 'lines: doc:"Big" (300 lines): → open doc:"Big" head:200' in reply


SECTIONED = "# Motive\n\nWhy.\n\n## Doubt\n\nNo.\n\n# Place\n\nThe tower."


def test_a_document_contains_its_sections(say: Say, write: Write) -> None:
    node = write("The tower is old.")
    say(f'write doc:"s" new\n{SECTIONED}\n←')
    say(f'link doc:"s" to {node} as:contains')
    listed = say('list doc:"s" contains')
    head, stored, *sections = listed.reply.split("\n")
    assert head == 'doc:"s" → 3 links (contains):' and f"[{node}]" in stored
    assert [line.strip() for line in sections] == [
        "──[contains]──→ §motive Motive",
        "──[contains]──→ §place Place",
    ]
    assert listed.body["refs"][1].endswith(" §motive")
    assert '✓ ▼ [contains] of doc:"s" → 3 items as #' in say('expand contains of doc:"s"').reply
    places = Window.objects.filter(via="contains").order_by("number")
    assert [window.place for window in places][1:] == ["§motive", "§place"]
    say("close all")
    few = say('expand contains of doc:"s" max:2').reply
    assert "→ 2 items as #" in few and 'not opened: doc:"s" §place' in few


def test_an_augment_requires_what_its_front_matter_names(say: Say) -> None:
    say("augment store calm/base\nBe calm.\n←")
    say("augment store calm/prose\n---\nrequires: calm/base\n---\nWrite calmly.\n←")
    listed = say('list doc:"calm/prose" requires').reply.split("\n")
    assert listed == [
        'doc:"calm/prose" → 1 link (requires):',
        '  ──[requires]──→ doc:"calm/base"',
    ]
    assert "→ 1 item as #" in say('expand requires of doc:"calm/prose"').reply
    assert say('list doc:"calm/base" requires').reply == 'doc:"calm/base" → 0 links (requires)'
