"""Windows on documents: sections, ranges and parts, what is behind, and writing through them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from loom.access import Actor
from loom.documents.models import Document
from loom.engine.models import Step
from loom.people.models import User
from loom.permissions import READ_DOCUMENTS
from loom.trees.commands import node_writer
from loom.trees.erasing import erase_rows
from loom.trees.models import Tree
from tests.commands.test_window_forms import View, other  # noqa: F401 (a fixture)
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
NOTES = "# Notes\n\nFirst.\n\n## Motive\n\nShe was tired.\nVery.\n\n## Place\n\nA harbour."


@pytest.fixture
def view(actor: Actor, tree: Tree, owner: User, api: Callable[..., APIClient]) -> View:
    """The owner's view of a tree with a document."""
    owner_view = View(actor, tree, api(owner))
    owner_view.say(f'write doc:"notes" new\n{NOTES}\n←')
    return owner_view


def text() -> str:
    """The newest text of the document."""
    document = Document.objects.get(title="notes")
    return str(document.revisions.get(number=document.revision).content.text)


def test_a_section_is_opened_by_its_name(view: View) -> None:
    reply = view.say('open doc:"notes" §motive keep')
    (number,) = view.windows()
    assert reply == f'✓ opened #{number} doc:"notes" §motive lines 5–8 · keep'
    window = view.windows()[number]
    assert (window["kind"], window["lines"], window["revision"]) == ("document", [5, 8], 1)
    assert window["text"] == "## Motive\n\nShe was tired.\nVery."
    assert view.say('open doc:"notes" §motive') == reply
    assert view.refusal('open doc:"notes" §nowhere').code == "NOT_FOUND"
    assert "lines 11–12 (clipped" in view.say('open doc:"notes" lines:11-40')
    assert view.say(f"resize #{number} lines:3-5").startswith(f"✓ #{number} lines 3–5")


def test_a_line_about_a_window_is_about_its_document(view: View) -> None:
    view.say('open doc:"notes"')
    (number,) = view.windows()
    assert view.say(f"tag #{number} #old") == '✓ tagged doc:"notes" #old'
    assert view.say(f'bookmark #{number} "here"') == '✓ bookmarked doc:"notes" as "here"'
    assert 'added to doc:"notes"' in view.say(f'annotate #{number} "n" of:"tired"')
    assert "on doc" in view.say(f'suggest #{number} "weary" of:"tired"')
    assert view.say(f"list #{number} annotations").startswith('doc:"notes" → 1 annotation')
    root = view.tree.nodes.earliest("id").local_id
    assert view.say(f"link #{number} to root") == f'✓ linked doc:"notes" ↔ [{root}]'
    assert view.say(f"unlink root to #{number}").startswith("✓ unlinked")
    assert view.say(f"view #{number}").startswith('doc:"notes" lines')


def test_a_line_about_a_part_names_the_part_that_a_window_shows(view: View) -> None:
    view.say('open doc:"notes" §motive')
    (number,) = view.windows()
    why = view.refusal(f'annotate #{number} "n"')
    assert (why.code, why.hint) == ("REJECTED", 'name it: doc:"notes" lines:5-8')
    assert view.say(f"tag #{number} #old") == '✓ tagged doc:"notes" #old'


def test_a_window_on_a_text_that_ends_with_a_line_break_counts_what_it_shows(view: View) -> None:
    view.say('write doc:"ended" new "one\\ntwo\\n"')
    assert "line 2 (clipped: there are 2 lines)" in view.say('open doc:"ended" lines:2-9')
    view.say('open doc:"ended"')
    again = view.say('open doc:"ended" lines:2-9')
    assert again.endswith('doc:"ended" lines 1–3 (clipped: there are 3 lines)')


def test_a_window_on_a_document_is_viewed(view: View) -> None:
    view.say('open doc:"notes" §motive')
    (number,) = view.windows()
    assert view.say(f"view #{number}").split("\n") == [
        *('doc:"notes" §motive lines 5–8', "## Motive", "", "She was tired.", "Very.")
    ]
    assert view.say(f"view #{number} lines:3") == "First."


def test_a_window_on_a_document_is_behind_until_it_is_refreshed(
    view: View,
    other: View,  # noqa: F811
) -> None:
    view.say('open doc:"notes" §motive')
    view.say('open doc:"notes" §place live')
    number, live = view.windows()
    other.say('write doc:"notes" append "The end."')
    other.say('view doc:"notes" full')
    other.say('write doc:"notes" replace:"First." with:"One.\\nTwo."')
    window = view.windows()[number]
    assert (window["stale"], window["current"], window["lines"]) == (True, "revision 3", [5, 8])
    assert view.windows()[live]["lines"] == [11, 13]
    assert view.refusal(f'write #{number} "x"').code == "CONFLICT"
    assert "stale, now revision 3" in view.say("memory windows")
    view.say(f"refresh #{number}")
    window = view.windows()[number]
    assert (window["stale"], window["lines"], window["revision"]) == (False, [6, 9], 3)
    assert window["text"] == "## Motive\n\nShe was tired.\nVery."


def test_what_is_written_through_windows_has_true_line_numbers(view: View) -> None:
    view.say('open doc:"notes" §motive')
    view.say('open doc:"notes" §place')
    motive, place = view.windows()
    reply = view.say(f"write #{motive}\n## Motive\n\nShe was awake.\n\nAll night.\nEvery night.\n←")
    assert reply == f'✓ wrote doc:"notes" lines 5–10, revision 2; #{motive} now 5–10'
    assert view.windows()[place]["lines"] == [12, 14]
    reply = view.say(f"write #{place}\n## Place\n←")
    assert reply == f'✓ wrote doc:"notes" line 12, revision 3; #{place} now 12'
    assert text().split("\n")[4:] == [
        *("## Motive", "", "She was awake.", "", "All night.", "Every night.", "", "## Place")
    ]
    assert view.windows()[motive]["text"].endswith("Every night.")
    assert not any(window["stale"] for window in view.windows().values())
    assert view.refusal(f'edit #{motive} "x"').code == "REJECTED"
    view.say("undo")
    assert text().endswith("A harbour.")


def test_a_long_document_is_opened_in_named_slices(view: View) -> None:
    lines = "\n".join(f"row {n}" for n in range(1, 10_001))
    view.say(f'write doc:"long" new\n{lines}\n←')
    refused = view.refusal('open doc:"long"')
    assert (refused.code, "10,000 lines" in refused.message) == ("LIMIT_EXCEEDED", True)
    assert "part:1 to part:100" in refused.hint
    view.say('open doc:"long" part:3')
    ((number, window),) = view.windows().items()
    assert (window["lines"], window["text"][:7]) == ([201, 300], "row 201")
    sections = "\n".join(f"## S{n}\n" + "text\n" * 20 for n in range(1, 12))
    view.say(f'write doc:"parts" new\n{sections}\n←')
    assert "§s1 (1–" in view.refusal('open doc:"parts"').hint
    assert view.say('open doc:"notes"').endswith("lines 1–12")
    view.say(f"close #{number}")
    view.say('open doc:"long" head:200')
    head = max(view.windows())
    assert view.refusal(f'write #{head} "x"').code == "REJECTED"


def test_a_head_and_a_tail_that_meet_stay_read_only(view: View) -> None:
    lines = "\n".join(f"row {n}" for n in range(1, 301))
    view.say(f'write doc:"medium" new\n{lines}\n←')
    view.say('open doc:"medium" head:200')
    assert "it shows both now" in view.say('open doc:"medium" tail:200')
    ((both, window),) = view.windows().items()
    assert window["lines"] == [1, 300]
    assert view.refusal(f'write #{both} "x"').code == "REJECTED"


def test_a_revision_leads_to_the_line_that_made_it_and_the_window_it_was_seen_in(
    view: View,
) -> None:
    view.say('open doc:"notes" §motive')
    (window,) = view.windows()
    view.say(f"write #{window}\n## Motive\n\nShe was awake.\n←")
    grove = f"/api/groves/{view.tree.grove.uid}/events?limit=1000"
    events = view.client.get(grove).json()["events"]
    event = next(event for event in events if event["kind"] == "document.changed")
    assert event["payload"]["document"]["revision"] == 2
    own = node_writer.workspace_of(view.actor.participant, view.tree)
    steps = view.client.get(f"/api/steps?workspace={own.uid}").json()["results"]
    step = next(step for step in steps if f"step:{step['seq']}" == event["origin"])
    assert step["canonical"].startswith(f"→ write #{window}\n")
    assert step["actor"] == view.actor.participant.uid == event["actor"]


def test_a_document_or_a_part_of_it_is_stashed(view: View) -> None:
    assert view.say('stash "all" content-of:doc:"notes"').startswith('✓ stashed "all"')
    view.say('stash "why" content-of:doc:"notes" §motive')
    view.say('stash "short" summary-of:doc:"notes"')
    assert view.refusal('stash "why" content-of:doc:"notes"').code == "CONFLICT"
    assert view.refusal('stash "x" content-of:doc:"notes" §nowhere').code == "NOT_FOUND"
    view.say('write doc:"notes" replace:"tired" with:"awake"')
    for label in ("all", "why", "short"):
        view.say(f'recall "{label}"')
    texts = [window["text"] for window in view.windows().values()]
    assert texts[:2] == [NOTES, "## Motive\n\nShe was tired.\nVery."]
    assert texts[2].startswith('doc:"notes" ')
    view.say('drop stash:"why"')
    assert len(view.windows()) == 2


def test_whoever_may_not_read_documents_stashes_none(view: View) -> None:
    held = view.actor.permissions - {READ_DOCUMENTS}
    view.actor = replace(view.actor, tree=view.tree.pk, permissions=held, in_grove=held)
    for line in ('stash "x" content-of:doc:"notes"', 'stash "x" summary-of:doc:"notes"'):
        assert view.refusal(line).code in ("PERMISSION_DENIED", "NOT_FOUND")
    assert view.refusal('drop doc:"notes"').code in ("PERMISSION_DENIED", "NOT_FOUND")


def test_a_difference_shows_what_was_changed_in_a_document_since_it_was_seen(
    view: View,
    other: View,  # noqa: F811
) -> None:
    other.say('write doc:"notes" replace:"tired" with:"awake"')
    other.say('write doc:"notes" replace:"Very." with:"Not at all."')
    reply = view.say('open doc:"notes" as:diff')
    (number,) = view.windows()
    assert reply == f'✓ opened #{number} doc:"notes" as:diff'
    text = view.windows()[number]["text"].split("\n")
    assert text[:2] == ["--- revision 1", "+++ revision 3"]
    assert [line for line in text[2:] if line[0] in "+-"] == [
        *("-She was tired.", "-Very.", "+She was awake.", "+Not at all.")
    ]
    assert view.say('open doc:"notes" as:diff') == reply
    other.say('open doc:"notes" as:diff')
    (theirs,) = other.windows().values()
    assert theirs["text"].startswith("--- revision 2\n+++ revision 3")
    assert view.refusal(f'write #{number} "x"').code == "REJECTED"
    assert view.refusal('open doc:"notes" as:diff live').code == "INVALID_SYNTAX"
    view.say('write doc:"notes" replace:§motive "Rewritten."')  # the difference counts as a look
    view.say(f"refresh #{number}")
    assert "+Rewritten." in view.windows()[number]["text"]


def test_drop_closes_the_windows_on_a_document(view: View) -> None:
    view.say('open doc:"notes" §motive keep')
    view.say('open doc:"notes" §place keep')
    first, second = view.windows()
    assert view.say(f"hide #{first}").startswith("✓ hidden")
    assert view.say('drop doc:"notes"').startswith(f"✓ closed #{first} #{second}")
    assert not view.windows()
    assert view.refusal('drop doc:"notes"').code == "NOT_FOUND"


def test_what_a_document_is_linked_to_and_embeds_is_listed_and_opened_along(view: View) -> None:
    node = view.add('respond root "A lamp."')
    other_node = view.add('respond root "A key."')
    view.say(f'write doc:"notes" append\n![[{node}]]\n←')
    view.say(f'link doc:"notes" to {other_node} as:supports')
    assert f"[{node}]" in view.say('list doc:"notes" mentions')
    listed = view.say('list doc:"notes" supports')
    assert f"[{other_node}]" in listed and f"[{node}]" not in listed
    assert "3 links" in view.say('list doc:"notes"')
    assert "mentions" in view.refusal('list doc:"notes" siblings').hint
    view.say('open doc:"notes" with:mentions')
    assert [window["text"] for window in view.windows().values()][1:] == ["A lamp."]
    view.say('open doc:"notes" with:supports')
    assert [window["text"] for window in view.windows().values()][1:] == ["A lamp.", "A key."]


def test_nothing_of_another_grove_is_stashed_dropped_or_listed(two_groves: TwoGroves) -> None:
    left, right, both = two_groves.left, two_groves.right, two_groves.both
    right.run(two_groves.both, 'write doc:"secret" new "Theirs."')
    uid = Document.objects.get(title="secret").uid
    outside = View(left.actor(both), left.tree, two_groves.client(both))
    for name in ('doc:"secret"', f"doc:{uid}"):
        for line in (
            f'stash "x" content-of:{name}',
            f'stash "x" summary-of:{name}',
            f"drop {name}",
            f"list {name} mentions",
            f"open {name} with:related",
            f"open {name} as:diff",
            f"write {name} remove:§a",
            f"write {name} move:§a after:§b",
        ):
            assert outside.refusal(line).code == "NOT_FOUND", line


def _revisions(client: APIClient, title: str = "notes") -> list[dict[str, Any]]:
    """The revisions over the API, the newest first."""
    uid = Document.objects.get(title=title).uid
    rows: list[dict[str, Any]] = client.get(f"/api/documents/{uid}/revisions").json()["results"]
    return rows


def test_a_revision_names_its_step_and_the_window_it_was_written_through(
    view: View,
    other: View,  # noqa: F811
) -> None:
    view.say('open doc:"notes" §motive')
    (number,) = view.windows()
    view.say(f"write #{number}\n## Motive\n\nShe was awake.\n←")
    other.say('write doc:"notes" append "The end."')
    appended, through, first = _revisions(view.client)
    step = through["step"]
    assert (step["window"], step["first"], step["last"]) == (number, 5, 8)
    asked = {"workspace": step["workspace"], "after": step["seq"] - 1, "limit": 1}
    (line,) = view.client.get("/api/steps", asked).json()["results"]
    assert line["line"].startswith(f"write #{number}") and line["actor"] == through["by"]
    assert step["tree"] == view.tree.uid == first["step"]["tree"]
    assert (appended["step"]["window"], appended["by"]) == (None, other.actor.participant.uid)
    uid = Document.objects.get(title="notes").uid
    body = view.client.get(f"/api/documents/{uid}/revisions/2").json()
    assert body["step"] == step
    view.say("undo")
    assert _revisions(view.client)[0]["step"]["seq"] == step["seq"] + 1


def test_a_write_over_the_api_is_a_step_of_the_grove(view: View) -> None:
    uid = Document.objects.get(title="notes").uid
    sent = {"append": "The end."}
    view.client.post(f"/api/documents/{uid}/write", sent, format="json")
    newest, _ = _revisions(view.client)
    assert newest["step"]["workspace"] is newest["step"]["tree"] is newest["step"]["window"] is None
    row = Step.objects.get(uid=newest["step"]["id"])
    assert (row.canonical, row.seq) == ("write_document", newest["step"]["seq"])


def test_the_steps_of_many_revisions_are_read_with_as_many_queries_as_those_of_two(
    view: View,
) -> None:
    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            _revisions(view.client)
        return len(captured)

    view.say('write doc:"notes" append "1"')
    few = asked()
    for number in range(5):
        view.say(f'write doc:"notes" append "{number} more"')
    assert asked() == few


def test_the_step_of_a_revision_is_kept_from_who_may_not_see_its_tree(
    two_groves: TwoGroves,
) -> None:
    right, both = two_groves.right, two_groves.both
    right.run(both, 'write doc:"secret" new "Theirs."')
    client = two_groves.client(two_groves.only_right)
    assert _revisions(client, "secret")[0]["step"]["tree"] == right.tree.uid
    Tree.objects.filter(pk=right.tree.pk).update(writer_right="hidden")
    assert _revisions(client, "secret")[0]["step"] is None
    uid = Document.objects.get(title="secret").uid
    outside = two_groves.client(two_groves.only_left)
    assert outside.get(f"/api/documents/{uid}/revisions").status_code == 404
    Tree.objects.filter(pk=right.tree.pk).update(erasing_at=timezone.now())
    erase_rows(right.tree.uid)
    owner = two_groves.client(User.objects.get(username="rightowner"))
    assert _revisions(owner, "secret")[0]["step"] is None


def test_up_to_200_lines_are_one_window_and_more_are_opened_by_sections(view: View) -> None:
    def text(lines: int) -> str:
        body = [f"line {n}" for n in range(1, lines + 1)]
        body[0], body[99] = "# One", "# Two"
        return "\n".join(body)

    for lines in (199, 200):
        view.say(f'write doc:"of {lines}" new\n{text(lines)}\n←')
        view.say(f'open doc:"of {lines}"')
        window = view.windows()[max(view.windows())]
        assert window["lines"] == [1, lines]
    view.say(f'write doc:"of 201" new\n{text(201)}\n←')
    refused = view.refusal('open doc:"of 201"')
    assert (refused.code, "§one (1–" in refused.hint) == ("LIMIT_EXCEEDED", True)
    assert "§two (100–" in refused.hint
    view.say('open doc:"of 201" §two')
    assert view.windows()[max(view.windows())]["lines"] == [100, 201]


def test_ranges_that_overlap_are_one_window(view: View) -> None:
    lines = "\n".join(f"line {n}" for n in range(1, 41))
    view.say(f'write doc:"forty" new\n{lines}\n←')
    view.say('open doc:"forty" lines:10-20')
    view.say('open doc:"forty" lines:15-30')
    assert [window["lines"] for window in view.windows().values() if window["visible"]] == [
        [10, 30]
    ]
