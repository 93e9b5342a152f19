"""Bookmarks, tags, links and annotations."""

import re
from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.errors import CommandError
from loom.links.models import Link
from loom.links.queries import link_bodies, links_in
from loom.links.sides import links_of
from loom.notes.models import Mark
from loom.people.models import User
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def test_a_bookmark_has_a_label_and_a_new_one_takes_its_place(say: Say, write: Write) -> None:
    a = write("a")
    assert say(f'bookmark {a} "key point"').reply == f'✓ bookmarked [{a}] as "key point"'
    say(f'bookmark {a} "turning point"')
    assert [m.label for m in Mark.objects.filter(removed_at=None)] == ["turning point"]
    assert say(f"unbookmark {a}").reply == f"✓ unbookmarked [{a}]"
    with pytest.raises(CommandError):
        say(f"unbookmark {a}")


def test_bookmarks_are_each_persons_own(say: Say, write: Write, writer: User) -> None:
    a = write("a")
    say(f"bookmark {a}")
    say(f"bookmark {a}", by=writer)
    assert Mark.objects.filter(removed_at=None).count() == 2


def test_tags_are_unique_whatever_their_case(say: Say, write: Write) -> None:
    a, b = write("a"), write("b")
    assert say(f'tag {a} #Tone #"two words"').reply == f'✓ tagged [{a}] #Tone #"two words"'
    assert say(f"tag {b} #tone").reply == f"✓ tagged [{b}] #Tone"
    with pytest.raises(CommandError):
        say(f"tag {a} #TONE")
    assert say(f"untag {a} #tone").reply == f"✓ untagged [{a}] #Tone"


def test_tags_in_other_scripts_are_unique_as_well(say: Say, write: Write) -> None:
    a, b = write("a"), write("b")
    say(f"tag {a} #Öl #Река")
    assert say(f"tag {b} #öl #река").reply == f"✓ tagged [{b}] #Öl #Река"


def test_a_line_holds_others_up_with_no_more_than_a_hundred_tags(say: Say, write: Write) -> None:
    a = write("a")
    names = [f"#t{n}" for n in range(101)]
    with pytest.raises(CommandError) as refused:
        say(f"tag {a} {' '.join(names)}")
    assert refused.value.code == "LIMIT_EXCEEDED"
    assert say(f"tag {a} {' '.join(names[1:])}").reply.startswith(f"✓ tagged [{a}] #t1 #t2")


def test_a_link_is_stored_once_and_read_from_both_ends(say: Say, write: Write) -> None:
    a, b = write("a"), write("b")
    assert say(f"link {a} to {b}").reply == f"✓ linked [{a}] ↔ [{b}]"
    typed = say(f'link {a} to {b} as:supports note:"so" confidence:0.5')
    assert typed.reply == f"✓ linked [{a}] ──[supports]──→ [{b}]"
    assert Link.objects.count() == 2
    assert "supported_by 1" in say(f"list {b}").reply
    with pytest.raises(CommandError) as refused:
        say(f"unlink {a} to {b}")
    assert refused.value.code == "INVALID_SYNTAX"
    say(f"unlink {a} to {b} as:supports")
    with pytest.raises(CommandError):
        say(f"link {b} to {a}")  # symmetric: linked so already


@pytest.mark.parametrize("kind", ["supports", "related"])
def test_a_link_that_somebody_made_again_is_not_restored_beside_it(
    say: Say, write: Write, writer: User, kind: str
) -> None:
    a, b = write("a"), write("b")
    say(f"link {a} to {b} as:{kind}")
    say(f"unlink {a} to {b} as:{kind}")
    ends = (b, a) if kind == "related" else (a, b)  # a symmetric one is there from either end
    say(f"link {ends[0]} to {ends[1]} as:{kind}", by=writer)
    with pytest.raises(CommandError) as refused:
        say("undo")
    assert refused.value.code == "CONFLICT"
    assert Link.objects.filter(removed_at=None).count() == 1
    say(f"unlink {a} to {b} as:{kind}", by=writer)
    say("undo")
    assert Link.objects.get(removed_at=None).by.user != writer


def test_links_that_are_there_twice_are_removed_and_restored_together(
    say: Say, write: Write
) -> None:
    a, b = write("a"), write("b")
    say(f"link {a} to {b} as:supports")
    twice = Link.objects.get()
    twice.pk, twice.uid = None, "twice"  # as earlier versions stored it
    twice.save(force_insert=True)
    say(f"link {a} to {b}")
    with pytest.raises(CommandError) as refused:
        say(f"unlink {a} to {b}")
    assert refused.value.hint == "as:supports or as:related"
    say(f"unlink {a} to {b} as:supports")
    assert [link.type for link in Link.objects.filter(removed_at=None)] == ["related"]
    for line, count in (("undo", 3), ("redo", 1), ("undo", 3)):
        say(line)
        assert Link.objects.filter(removed_at=None).count() == count


def test_evidence_is_never_removed_only_answered(
    say: Say, write: Write, tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    a, b = write("a"), write("b")
    say(f"link {a} to {b} as:supports")
    linked = say(f"link {a} to {b} as:evidence").body["step"]
    for line in (f"unlink {a} to {b} as:evidence", f"undo step:{linked}"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "REJECTED"
    assert "as:supports" in say("undo").reply  # what was done before it
    with pytest.raises(CommandError) as refused:
        say(f"unlink {a} to {b}")  # it is the only one now
    assert refused.value.hint == f"→ link REF to [{b}] as:refutes answers it"
    assert api(owner).delete(f"/api/links?tree={tree.uid}").status_code == 405
    say(f"link {b} to {a} as:refutes")
    kept = Link.objects.filter(removed_at=None).values_list("type", flat=True)
    assert sorted(kept) == ["evidence", "refutes"]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("link {a} to {a}", "REJECTED"),
        ("link {a} to {b} as:loves", "INVALID_SYNTAX"),
        ("link {a} to {b} confidence:2", "LIMIT_EXCEEDED"),
        ("unlink {a} to {b}", "NOT_FOUND"),
    ],
)
def test_bad_links_are_refused(say: Say, write: Write, line: str, code: str) -> None:
    a, b = write("a"), write("b")
    with pytest.raises(CommandError) as refused:
        say(line.format(a=a, b=b))
    assert refused.value.code == code


def test_an_annotation_hangs_below_and_replies_reopen_it(say: Say, write: Write) -> None:
    a = write("a")
    note = say(f'annotate {a} "unclear" as:question').body["refs"][0]
    row = Node.objects.get(local_id=note)
    assert (row.kind, row.form, row.parent_slot_id) == (
        "annotation",
        "question",
        Node.objects.get(local_id=a).pk,
    )
    assert say(f'resolve {note} "clear now"').reply == f"✓ resolved [{note}]"
    with pytest.raises(CommandError):
        say(f"resolve {note}")
    say(f'annotate {note} "is it?"')
    assert Node.objects.get(local_id=note).resolved_at is None


def test_an_objection_is_resolved_with_a_reason(say: Say, write: Write) -> None:
    note = say(f'annotate {write("a")} "false" as:objection').body["refs"][0]
    for line in (f"resolve {note}", f'resolve {note} "  "'):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "REJECTED"
        assert f"→ resolve {note} " in refused.value.hint
    assert say(f'resolve {note} "checked"').reply == f"✓ resolved [{note}]"


def test_only_annotations_are_resolved(say: Say, write: Write) -> None:
    with pytest.raises(CommandError) as refused:
        say(f"resolve {write('a')}")
    assert refused.value.code == "REJECTED"


def test_the_links_of_a_tree_are_listed_like_those_of_a_node(say: Say, write: Write) -> None:
    a = write("a")
    tree = say("view root").body["stream"]
    title = say(f"view {tree}").reply.partition(" (")[0]
    say(f"link {a} to {tree} as:supports")
    assert say(f"list {tree}").reply == f"{title} links: supported_by 1"
    listed = say(f"list {tree} links")
    assert listed.reply == f'{title} → 1 link:\n  ──[supported_by]──→ [{a}] "a"'
    assert listed.body["refs"] == [a]
    assert say(f"list {tree} supports").reply == f"{title} → no [supports] links"
    with pytest.raises(CommandError) as refused:
        say(f"list {tree} continuations")
    assert refused.value.code == "INVALID_SYNTAX"


def test_a_link_to_a_document_keeps_the_revision_it_was_made_at(
    say: Say, write: Write, actor: Actor, tree: Tree
) -> None:
    a = write("a")
    say('write doc:"Plan" new "first"')
    say(f'link {a} to doc:"Plan" as:supports')
    link = Link.objects.get(type="supports")
    assert (link.source_version, link.target_version) == ("", "1")
    node = Node.objects.get(tree=tree, local_id=a)
    (seen,) = links_of(actor, node)
    assert seen.revisions == (1, 1) and not seen.has_changed
    say('write doc:"Plan" append "second"')
    (seen,) = links_of(actor, node)
    assert seen.revisions == (1, 2) and seen.has_changed
    say(f'unlink {a} to doc:"Plan"')
    say(f'link doc:"Plan" to {a} as:supports')
    (link,) = links_in(actor, tree, node)
    (body,) = link_bodies([link], tree)
    assert (body["source_version"], body["target_version"]) == ("2", "")


def test_a_graph_returns_what_links_of_a_type_lead_to(
    say: Say, write: Callable[..., str], tree: Tree, owner: User, api: Callable[..., APIClient]
) -> None:
    ids = [write("one"), write("two"), write("three"), write("four")]
    say(f"link {ids[1]} to {ids[0]} as:supports confidence:0.9")
    say(f"link {ids[2]} to {ids[1]} as:supports confidence:0.3")
    say(f"link {ids[3]} to {ids[0]} as:contrasts")
    url = f"/api/trees/{tree.uid}/nodes/{ids[0]}/graph"
    body = api(owner).get(f"{url}?types=supported_by").json()
    assert [(entry["item"], entry["depth"]) for entry in body["nodes"]] == [
        *zip(ids[:3], range(3), strict=True)
    ]
    assert [(entry["source"], entry["confidence"], entry["level"]) for entry in body["links"]] == [
        (ids[1], 0.9, "high"),
        (ids[2], 0.3, "low"),
    ]
    every = api(owner).get(url).json()
    assert {entry["item"] for entry in every["nodes"]} == set(ids)
    assert len(api(owner).get(f"{url}?types=supported_by&depth=1").json()["nodes"]) == 2
    assert api(owner).get(f"{url}?types=nonsense").status_code == 400
    assert api(owner).get(f"{url}?depth=11").status_code == 429
    assert say(f"graph {ids[0]} types:requires").reply == f"[{ids[0]}] requires: 0 items, 0 links"


def test_what_a_graph_names_can_be_viewed(say: Say, write: Write, tree: Tree) -> None:
    node = write("one")
    say('write doc:"Plan" new "What to do."')
    say(f'link {node} to doc:"Plan" as related')
    shown = say(f"graph {node}").body["reply"]
    named = re.search(r" (doc:[a-z0-9]+) ", shown)
    assert named is not None, shown
    for written in (named[1], f"[{named[1]}]"):
        assert "What to do." in say(f"view {written}").body["reply"]


def test_a_graph_leads_only_where_the_reader_may_look(two_groves: TwoGroves) -> None:
    left, near = two_groves.left, two_groves.left.text.local_id
    left.run(two_groves.both, f"link {near} to {two_groves.far} as:supports")
    url = f"/api/trees/{left.tree.uid}/nodes/{near}/graph"
    for user, many in ((two_groves.both, 2), (two_groves.only_left, 1)):
        body = two_groves.client(user).get(url).json()
        assert (len(body["nodes"]), len(body["links"])) == (many, many - 1)
    assert two_groves.client(two_groves.only_right).get(url).status_code == 404
