"""Documents by lines: written, looked at, found, linked, marked, and undone."""

from datetime import timedelta

import pytest
from django.utils import timezone

from loom.access import Actor, acting_as, get_actor
from loom.documents import actions as documents
from loom.documents import log as document_log
from loom.documents import rules as documents_rules
from loom.documents.access import documents_for
from loom.documents.models import Document, DocumentText, Revision
from loom.documents.queries import document_of, newest, text_of
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.language.refs import Ref
from loom.language.slices import parse_ref
from loom.links.models import Link
from loom.notes.models import Mark
from loom.people.models import Participant, User
from loom.trees import erasing
from loom.trees.commands import trees
from loom.trees.models import Tree
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db

NOTES = "# Motive\n\nShe wanted the tower.\n\n## Doubt\n\nDid she?\n\n# Means\n\nA key."


def _made(say: Say, text: str = NOTES) -> Document:
    say(f'write doc:"notes" new\n{text}\n←')
    return Document.objects.get(title="notes")


def _text(document: Document) -> str:
    document.refresh_from_db()
    return newest(document).content.text


def test_a_line_makes_a_document_that_is_linked_to_its_tree(say: Say, tree: Tree) -> None:
    reply = say(f'write doc:"notes" new\n{NOTES}\n←')
    assert reply.reply == '✓ created doc:"notes" (now 14 words, revision 1)'
    document = Document.objects.get()
    assert reply.body["refs"] == [f"doc:{document.uid}"]
    assert reply.body["stream"] == f"grove:{tree.grove.uid}"
    kinds = Event.objects.filter(stream__name=f"grove:{tree.grove.uid}").values_list("kind")
    assert [kind for (kind,) in kinds] == ["document.added", "link.added"]
    assert Link.objects.get().source_id == -document.pk


def test_a_title_is_taken_whatever_its_case(say: Say) -> None:
    _made(say)
    with pytest.raises(CommandError, match="already a document called 'NOTES'") as refused:
        say('write doc:"NOTES" new "again"')
    assert refused.value.code == "CONFLICT"


def test_append_needs_no_look_and_is_a_paragraph(say: Say) -> None:
    document = _made(say)
    reply = say('write doc:"notes" append "Nobody saw it."')
    assert reply.reply == '✓ appended to doc:"notes" (now 17 words, revision 2)'
    assert _text(document) == f"{NOTES}\n\nNobody saw it."


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ('write doc:"notes" at:start "First."', f"First.\n{NOTES}"),
        ('write doc:"notes" at:end "Last."', f"{NOTES}\n\nLast."),
        ('write doc:"notes" at:line:9 "Between."', NOTES.replace("# Means", "Between.\n# Means")),
        (
            'write doc:"notes" at:§motive "More."',
            NOTES.replace("Did she?", "Did she?\n\nMore."),
        ),
        (
            'write doc:"notes" replace:§doubt "No doubt."',
            NOTES.replace("Did she?", "No doubt."),
        ),
        (
            'write doc:"notes" replace:"tower" with:"house → 👩‍🚀"',
            NOTES.replace("tower", "house → 👩‍🚀"),
        ),
        ('write doc:"notes" replace:"e" with:"E" all', NOTES.replace("e", "E")),
        ('write doc:"notes" replace:"tower" with:"house" all', NOTES.replace("tower", "house")),
        (
            'write doc:"notes" move:§means before:§motive',
            "# Means\n\nA key.\n\n# Motive\n\nShe wanted the tower.\n\n## Doubt\n\nDid she?",
        ),
        (
            'write doc:"notes" move:§doubt after:§means',
            "# Motive\n\nShe wanted the tower.\n\n# Means\n\nA key.\n\n## Doubt\n\nDid she?",
        ),
        (
            'write doc:"notes" remove:§doubt',
            "# Motive\n\nShe wanted the tower.\n\n# Means\n\nA key.",
        ),
        ('write doc:"notes" remove:§motive', "# Means\n\nA key."),
        ('write doc:"notes" remove:§means', NOTES.removesuffix("\n\n# Means\n\nA key.")),
    ],
)
def test_each_form_writes_in_its_place(say: Say, line: str, after: str) -> None:
    document = _made(say)
    say('view doc:"notes" full')
    say(line)
    assert _text(document) == after
    assert newest(document).number == 2
    say("undo")
    assert _text(document) == NOTES
    say("redo")
    assert _text(document) == after


@pytest.mark.parametrize(
    "line",
    [
        'write doc:"notes" replace:"tower" with:"tower"',
        'write doc:"notes" replace:§doubt "Did she?"',
        'write doc:"notes" append ""',
        'write doc:"notes" move:§means after:§motive',
        'write doc:"notes" replace:"she" with:"she" all',
    ],
)
def test_the_same_text_again_is_no_revision(say: Say, line: str) -> None:
    document = _made(say)
    say('view doc:"notes" full')
    with pytest.raises(CommandError, match="Nothing changed") as refused:
        say(line)
    assert refused.value.code == "REJECTED"
    assert newest(document).number == 1


def test_a_section_is_moved_only_to_a_place_outside_of_it(say: Say) -> None:
    document = _made(say)
    with pytest.raises(CommandError, match="§doubt is §motive or a part of it") as refused:
        say('write doc:"notes" move:§motive after:§doubt')
    assert refused.value.code == "INVALID_SYNTAX"
    with pytest.raises(CommandError, match="no section §nowhere"):
        say('write doc:"notes" move:§motive after:§nowhere')
    for line in ("move:§means", "move:§means after:§motive before:§motive"):
        with pytest.raises(CommandError, match="needs after: or before:"):
            say(f'write doc:"notes" {line}')
    with pytest.raises(CommandError, match="name sections"):
        say('write doc:"notes" move:§motive after:end')
    with pytest.raises(CommandError, match="0 times"):
        say('write doc:"notes" replace:"zebra" with:"horse" all')
    assert newest(document).number == 1


def test_what_is_removed_was_looked_at_and_what_is_moved_is_merged(say: Say, writer: User) -> None:
    document = _made(say)
    with pytest.raises(CommandError, match="have not looked"):
        say('write doc:"notes" remove:§doubt', by=writer)
    say('write doc:"notes" replace:"Did she?" with:"She did."', by=writer)
    with pytest.raises(CommandError, match="has changed since revision 1"):
        say('write doc:"notes" remove:§doubt')
    say('write doc:"notes" move:§doubt after:§means', by=writer)
    assert _text(document).endswith("A key.\n\n## Doubt\n\nShe did.")
    say('write doc:"notes" replace:"A key" with:"A rope" revision:3')
    assert "She did." in _text(document) and "A rope" in _text(document)


def test_whoever_overwrites_has_looked_first(say: Say, writer: User) -> None:
    document = _made(say)
    with pytest.raises(CommandError, match="have not looked") as refused:
        say('write doc:"notes" replace:§doubt "None."', by=writer)
    assert refused.value.code == "CONFLICT"
    say('view doc:"notes"', by=writer)
    say('write doc:"notes" replace:§doubt "None."', by=writer)
    assert "None." in _text(document)


def test_own_writes_count_as_seen(say: Say, writer: User) -> None:
    document = _made(say)
    for line in (
        'write doc:"notes" replace:§means "A ladder."',
        'write doc:"notes" replace:§means "A long ladder."',
        'write doc:"notes" append "The end."',
        'write doc:"notes" replace:"The end" with:"An end"',
        'write doc:"notes" replace:§means "A rope."',
    ):
        say(line)
    assert "A rope." in _text(document)
    say('write doc:"notes" append "Mine."', by=writer)  # blind: it has not seen the rest
    with pytest.raises(CommandError, match="have not looked"):
        say('write doc:"notes" replace:§means "A key."', by=writer)


def test_words_that_are_there_once_need_no_look(say: Say, writer: User) -> None:
    document = _made(say)
    say('write doc:"notes" replace:"tower" with:"house"', by=writer)
    say('write doc:"notes" replace:"house" with:"barn"')
    assert "wanted the barn" in _text(document)
    assert say("undo").reply.startswith("✓ undid")
    assert "wanted the house" in _text(document)


def test_a_refusal_shows_what_others_changed(say: Say, writer: User) -> None:
    document = _made(say)
    say('write doc:"notes" replace:"Did she?" with:"She did."', by=writer)
    with pytest.raises(CommandError) as refused:
        say('write doc:"notes" replace:§doubt "None."')
    assert refused.value.code == "CONFLICT"
    assert refused.value.message == (
        'doc:"notes" has changed since revision 1: '
        'revision 2 by Writer, line 7: - "Did she?" + "She did.".'
    )
    assert "revision:2" in refused.value.hint
    assert "She did." in _text(document)
    for number in range(3, 9):
        say(f'write doc:"notes" append "{number}"', by=writer)
    with pytest.raises(CommandError) as refused:
        say('write doc:"notes" replace:§doubt "None."')
    assert refused.value.message.count("revision") == 4
    assert refused.value.message.endswith("and 4 before.")
    say('write doc:"notes" replace:§doubt "None." revision:8')
    assert "None." in _text(document)


def test_a_write_is_merged_with_what_others_wrote_elsewhere(say: Say, writer: User) -> None:
    document = _made(say)
    say('write doc:"notes" at:start "By the writer." revision:1', by=writer)
    reply = say('write doc:"notes" replace:§doubt "None."').reply
    assert reply.endswith('merged with revision 2 by Writer, line 1: + "By the writer."')
    assert _text(document) == "By the writer.\n" + NOTES.replace("Did she?", "None.")
    say("undo")
    assert _text(document) == f"By the writer.\n{NOTES}"


def test_words_that_are_not_there_once_are_a_conflict(say: Say) -> None:
    _made(say, "a b a")
    say('view doc:"notes"')
    with pytest.raises(CommandError, match="2 times"):
        say('write doc:"notes" replace:"a" with:"c"')
    with pytest.raises(CommandError, match="0 times"):
        say('write doc:"notes" replace:"z" with:"c"')


def test_a_view_shows_the_head_the_sections_and_parts(say: Say) -> None:
    _made(say)
    shown = say('view doc:"notes"').reply.split("\n")
    assert shown[0] == 'doc:"notes" (14 words · updated now · revision 1)'
    assert "  §motive Motive (lines 1–7)" in shown and "    §doubt Doubt (lines 5–7)" in shown
    part = say('view doc:"notes" §doubt').reply
    assert part.endswith("· lines 5–7\n## Doubt\n\nDid she?")
    assert say('view doc:"notes" full').reply.endswith(NOTES)
    with pytest.raises(CommandError, match="no section §nothing"):
        say('view doc:"notes" §nothing')


def test_a_document_is_viewed_in_the_forms_of_a_node(say: Say, writer: User) -> None:
    _made(say)
    with pytest.raises(CommandError, match="was not changed since it was written") as refused:
        say('view doc:"notes" as:diff')
    assert (refused.value.code, refused.value.hint) == ("REJECTED", '→ view doc:"notes" full')
    assert say('view doc:"notes" as:prose').reply.split("\n", 1)[1] == NOTES
    assert say('view doc:"notes" as:nodes').reply == say('view doc:"notes"').reply
    for old, new in (("Did she?", "Did they?"), ("Did they?", "Who did?")):
        say(f'write doc:"notes" replace:"{old}" with:"{new}"', by=writer)
    since_seen = say('view doc:"notes" as:diff').reply.split("\n")
    assert since_seen[1:3] == ["--- revision 1", "+++ revision 3"]
    assert {"-Did she?", "+Who did?"} <= set(since_seen)
    assert "-Did they?" in say('view doc:"notes" as:diff').reply.split("\n")
    with pytest.raises(CommandError) as refused:
        say('view doc:"notes" §doubt as:diff')
    assert refused.value.hint == '→ view doc:"notes" as:diff'


def test_a_section_keeps_its_id_when_it_is_moved_or_reworded(say: Say) -> None:
    document = _made(say)
    say('write doc:"notes" replace:"# Motive" with:"# Why she did it" revision:1')
    assert "Why she did it" in say('view doc:"notes" §motive').reply
    ids = [section.id for section in text_of(document).sections]
    document.refresh_from_db()
    assert (
        [section.id for section in text_of(document).sections]
        == ["motive", "doubt", "means"]
        == ids
    )


def test_a_text_is_stored_once_and_named_by_its_hash(say: Say) -> None:
    long = "The kestrel sleeps. " * 40
    document = _made(say, long)
    step = Step.objects.filter(outcome="ok").latest("id")
    assert long not in step.line and "sha256" in step.canonical
    for event in Event.objects.all():
        assert long not in str(event.payload)
    say('write doc:"notes" append "More."')
    say("undo")
    assert [revision.restored for revision in Revision.objects.all()] == [None, None, 1]
    assert DocumentText.objects.count() == 2
    assert _text(document) == long


def test_undo_is_a_new_revision_with_the_text_before_and_redo_brings_it_back(say: Say) -> None:
    document = _made(say, "One.")
    say('write doc:"notes" append "Two."')
    assert say("undo").reply.startswith("✓ undid → write")
    assert (_text(document), document.revision) == ("One.", 3)
    say("redo")
    assert (_text(document), document.revision) == ("One.\n\nTwo.", 4)


@pytest.mark.parametrize("lines", [["undo", "undo", "undo"], ["undo n:3"]])
def test_several_writes_are_undone_and_redone_one_after_the_other(
    say: Say, lines: list[str]
) -> None:
    document = _made(say, "One.")
    for word in ("Two.", "Three.", "Four."):
        say(f'write doc:"notes" append "{word}"')
    for line in lines:
        assert "✗" not in say(line).reply
    assert _text(document) == "One."
    assert say("redo n:3").reply.count("✓ redid") == 3
    assert _text(document) == "One.\n\nTwo.\n\nThree.\n\nFour."
    assert say("undo n:2").reply.count("✓ undid") == 2
    say("redo")
    assert _text(document) == "One.\n\nTwo.\n\nThree."


def test_an_undo_of_ones_own_counts_as_seen(say: Say) -> None:
    document = _made(say)
    say('write doc:"notes" replace:§doubt "None."')
    say('write doc:"notes" replace:§doubt "Some."')
    say("undo n:2")
    say('write doc:"notes" replace:§doubt "Much."')
    assert _text(document) == NOTES.replace("Did she?", "Much.")


def test_undo_leaves_what_somebody_wrote_between_own_writes(say: Say, writer: User) -> None:
    document = _made(say, "One.")
    say('write doc:"notes" append "Two."')
    say('write doc:"notes" append "Hers."', by=writer)
    say('write doc:"notes" append "Three."')
    assert say("undo n:2").reply.count("✓ undid") == 2
    assert _text(document) == "One.\n\nHers."
    assert say("redo n:2").reply.count("✓ redid") == 2
    assert _text(document) == "One.\n\nTwo.\n\nHers.\n\nThree."
    say("undo n:2")
    assert _text(document) == "One.\n\nHers."


def test_undo_of_what_somebody_has_written_on_is_a_conflict(say: Say, writer: User) -> None:
    _made(say, "One.")
    say('write doc:"notes" append "Two."')
    say('write doc:"notes" replace:"Two." with:"Twice."', by=writer)
    with pytest.raises(CommandError, match="since been changed by Writer"):
        say("undo")


def test_a_dry_run_writes_nothing(say: Say) -> None:
    say('write doc:"notes" new "Text."', dry_run=True)
    assert not Document.objects.exists()
    document = _made(say, "One.")
    answer = say('write doc:"notes" append "Two."', dry_run=True)
    assert answer.reply == '✓ appended to doc:"notes" (now 2 words, revision 2)'
    assert _text(document) == "One." and Revision.objects.count() == 1


def test_documents_are_linked_marked_and_unlinked_in_the_stream_of_the_grove(
    say: Say, tree: Tree
) -> None:
    document = _made(say)
    node = say('respond root "The tower."').body["refs"][0]
    assert say(f'link {node} to doc:"notes" as:supports').reply == (
        f'✓ linked [{node}] ──[supports]──→ doc:"notes"'
    )
    assert 'doc:"notes"' in say(f"list {node} links").reply
    assert f"supported_by]──→ [{node}]" in say('list doc:"notes" links').reply
    say(f'link doc:"notes" to {node} as:quotes')
    say('tag doc:"notes" #tone')
    say('bookmark doc:"notes" "read"')
    ours = Event.objects.filter(stream__name=f"grove:{tree.grove.uid}").order_by("seq")
    assert [our.kind for our in ours][-3:] == ["link.added", "mark.added", "mark.added"]
    assert ours.last().payload["mark"]["item"] == f"doc:{document.uid}"  # type: ignore[union-attr]
    say("undo n:2")
    assert not Mark.objects.filter(removed_at=None).exists()
    say(f'unlink {node} to doc:"notes" as:supports')
    assert Link.objects.filter(removed_at=None).count() == 2


def test_a_link_from_a_document_stands_on_words_of_it(say: Say) -> None:
    _made(say)
    node = say('respond root "The tower."').body["refs"][0]
    say(f'link doc:"notes" to {node} as:supports on:"wanted the tower"')
    assert Link.objects.get(type="supports").words == "wanted the tower"
    with pytest.raises(CommandError, match='does not contain "no such words"') as refused:
        say(f'link doc:"notes" to {node} as:quotes on:"no such words"')
    assert refused.value.hint == '→ view doc:"notes" shows its words'


def test_find_looks_in_documents_too(say: Say) -> None:
    _made(say)
    assert '● doc:"notes" §doubt "' in say('find "did she"').reply
    assert "● lines:11" in say('find "key" in:doc:"notes"').reply
    assert '● doc:"notes"' in say('find "KEY" in:grove').reply
    assert say("list documents").reply.split("\n") == [
        "→ 1 document:",
        '  doc:"notes" (14 words · updated now)',
    ]


def _agent(actor: Actor, *permissions: str) -> Actor:
    marie = Participant.objects.create(
        grove=actor.grove, kind="model", name="Marie", permissions=["loom_aware", *permissions]
    )
    return acting_as(actor, marie)


def test_an_agent_reads_what_is_linked_to_the_tree_and_with_cross_tree_all(
    actor: Actor, tree: Tree, say: Say
) -> None:
    documents.make_document(actor, title="far", text="Far.")
    _made(say, "Near.")
    blind = _agent(actor)
    with pytest.raises(CommandError) as refused:
        execute_line(blind, tree, Request('view doc:"notes"'))
    assert refused.value.code == "PERMISSION_DENIED"
    assert "doc:" not in execute_line(blind, tree, Request('find "Near"')).reply
    reading = acting_as(actor, _with(blind, "doc_read"))
    assert "Near." in execute_line(reading, tree, Request('view doc:"notes"')).reply
    with pytest.raises(CommandError) as refused:
        execute_line(reading, tree, Request('view doc:"far"'))
    assert refused.value.code == "NOT_FOUND" and "far" not in refused.value.hint
    with pytest.raises(CommandError) as refused:
        execute_line(reading, tree, Request('write doc:"notes" append "x"'))
    assert refused.value.code == "PERMISSION_DENIED"
    free = acting_as(actor, _with(blind, "doc_read", "doc_write", "cross_tree"))
    assert "Far." in execute_line(free, tree, Request('view doc:"far"')).reply
    execute_line(free, tree, Request('write doc:"notes" append "By Marie."'))
    assert newest(Document.objects.get(title="notes")).by.name == "Marie"


def _with(agent: Actor, *permissions: str) -> Participant:
    agent.participant.permissions = ["loom_aware", *permissions]
    agent.participant.save()
    return agent.participant


def test_a_node_of_the_tree_makes_a_document_readable_until_it_is_unlinked(
    actor: Actor, tree: Tree, say: Say
) -> None:
    documents.make_document(actor, title="far", text="Far.")
    reading = _agent(actor, "doc_read")
    node = say('respond root "The tower."').body["refs"][0]
    say(f'link {node} to doc:"far"')
    assert [document.title for document in documents_for(reading, tree)] == ["far"]
    say(f'unlink {node} to doc:"far"')
    assert not documents_for(reading, tree).exists()


def test_nothing_of_another_grove_is_found_read_or_written(two_groves: TwoGroves) -> None:
    right = two_groves.right.actor(two_groves.only_right)
    secret = documents.make_document(right, title="secret", text="The kestrel.")
    left = two_groves.left
    for line in (
        'view doc:"secret"',
        f"view doc:{secret.uid}",
        'write doc:"secret" append "x"',
        f'link {left.text.local_id} to doc:"secret"',
        'tag doc:"secret" #x',
    ):
        with pytest.raises(CommandError) as refused:
            left.run(two_groves.both, line)
        assert refused.value.code == "NOT_FOUND"
        assert "kestrel" not in refused.value.reply
    assert "secret" not in left.run(two_groves.both, 'find "kestrel" in:grove')
    assert left.run(two_groves.both, "list documents") == "→ 0 documents"
    documents.make_document(left.actor(two_groves.both), title="secret", text="Ours.")
    assert "Ours." in left.run(two_groves.both, 'view doc:"secret" full')


def test_a_reader_may_look_but_not_write(say: Say, reader: User) -> None:
    _made(say)
    assert "She wanted" in say('view doc:"notes" full', by=reader).reply
    with pytest.raises(CommandError) as refused:
        say('write doc:"notes" append "x"', by=reader)
    assert refused.value.code == "PERMISSION_DENIED"


def test_a_text_of_more_than_four_mebibytes_is_refused(actor: Actor) -> None:
    with pytest.raises(CommandError, match="at most 4 MiB"):
        documents.make_document(actor, title="big", text="x" * (4 * 1024 * 1024 + 1))
    document = documents.make_document(actor, title="less", text="→" * 1_000_000)
    with pytest.raises(CommandError) as refused:
        documents.write_document(actor, document, append="→" * 500_000)
    assert refused.value.status == 413


def test_an_unknown_section_names_the_nearest_ones(say: Say) -> None:
    parts = "\n".join(f"# Part {word}\nText." for word in "abcdefghijklm")
    say(f'write doc:"long" new\n{parts}\n# The Horns\nThey blow.\n# Boats\nThey float.\n←')
    with pytest.raises(CommandError) as refused:
        say('view doc:"long" §"the horn"')
    assert refused.value.hint.startswith("there are §the-horns,")


def test_a_command_for_nodes_says_that_this_is_a_document(say: Say) -> None:
    _made(say)
    for line, instead in (
        ('edit doc:"notes" replace:"a" with:"b"', 'replace:"a" with:"b"'),
        ('edit doc:"notes" "More."', 'append "More."'),
        ('edit doc:"notes" §cast "More."', 'replace:§cast "More."'),
    ):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.message == 'doc:"notes" is a document; write changes documents.'
        assert refused.value.hint == f'→ write doc:"notes" {instead}'
    with pytest.raises(CommandError, match="is a document; this command takes a node"):
        say('prune doc:"notes"')


def test_a_part_that_is_not_there_names_what_there_is(say: Say) -> None:
    _made(say)
    node = say('respond root "One line."').body["refs"][0]
    say('write doc:"one" new "One line."')
    for line, hint in (
        ('open doc:"notes" lines:600-700', '→ view doc:"notes" full'),
        ('view doc:"notes" lines:600-700', '→ view doc:"notes" full'),
        ('open doc:"one" lines:600-700', 'it has 1 line; → view doc:"one" full'),
        ('view doc:"one" lines:600-700', 'it has 1 line; → view doc:"one" full'),
        (f"open {node} lines:600-700", f"it has 1 line; → view {node} full"),
        (f"view {node} lines:600-700", f"it has 1 line; → view {node} full"),
    ):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "NOT_FOUND" and refused.value.hint.endswith(hint)
        assert refused.value.hint.startswith("it has ") and "600" not in refused.value.hint


def test_an_empty_document_is_not_opened(say: Say) -> None:
    _made(say, "x")
    say('write doc:"notes" replace:"x" with:""')
    with pytest.raises(CommandError, match="is empty") as refused:
        say('open doc:"notes" lines:5-9')
    assert refused.value.hint == '→ write doc:"notes" append "…"'


def test_a_word_without_a_digit_is_no_id(say: Say) -> None:
    for line in ("view everything", "prune windows", "list the"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "NOT_FOUND" and "is not an id" in refused.value.message
        assert "an id looks like a7x2" in refused.value.hint


def test_a_refusal_names_nothing_of_another_grove(two_groves: TwoGroves) -> None:
    right, left = two_groves.right, two_groves.left
    right.run(two_groves.only_right, 'write doc:"plan" new "The kestrel."')
    right.run(two_groves.only_right, 'write doc:"plan" append "It sleeps."')
    left.run(two_groves.both, 'write doc:"plan" new\n# A\nOurs.\n←')
    left.run(two_groves.both, 'write doc:"plan" replace:"Ours" with:"Yours"')
    with pytest.raises(CommandError) as refused:
        left.run(two_groves.both, 'write doc:"plan" replace:§a "x" revision:1')
    assert refused.value.code == "CONFLICT" and "Yours" in refused.value.message
    assert "kestrel" not in refused.value.message and "sleeps" not in refused.value.message


def test_a_tree_is_erased_with_its_links_and_the_document_stays(
    say: Say, actor: Actor, tree: Tree
) -> None:
    document = _made(say)
    node = say('respond root "The tower."').body["refs"][0]
    for line in ('view doc:"notes"', f'link {node} to doc:"notes"', 'tag doc:"notes" #tone'):
        say(line)
    trees.change_tree(actor, tree, {"archived": True})
    trees.erase(actor, tree, tree.title)
    erasing.erase_rows(tree.uid)
    assert not Tree.objects.filter(pk=tree.pk).exists()
    assert _text(document) == NOTES


def test_what_a_process_left_unsettled_is_settled_by_the_sweeper(say: Say, writer: User) -> None:
    document = _made(say, "One.")
    shared = document_log.opened(document)
    wrote = writer.participants.get().uid
    document_log.append_typed(
        document, shared.edit(documents_rules.appended("One.", "Two.")), [wrote]
    )
    assert document_log.settle_resting(timezone.now() - timedelta(seconds=10)) == 0
    assert document_log.settle_resting(timezone.now()) == 1
    assert _text(document) == "One.\n\nTwo."
    assert (newest(document).by.uid, newest(document).authors) == (wrote, [wrote])


def test_the_functions_for_what_models_are_sent(say: Say, actor: Actor, tree: Tree) -> None:
    _made(say)
    ref = parse_ref('doc:"Notes" §doubt')
    shown = text_of(document_of(actor, tree, ref), ref.slice)
    assert (shown.text, shown.first, shown.last) == ("## Doubt\n\nDid she?", 5, 7)
    assert shown.revision.number == 1
    assert get_actor(actor.user, tree.grove) and Ref("document", name="x").name == "x"
