"""The panel of a node's links: by type with counts, with the words around each, and unlinking."""

import json
import re

from loom.access import get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, User
from loom.trees.commands.trees import new_tree
from loom.trees.models import Tree
from tests.two_groves import TITLE, Side, TwoGroves
from tests.web.conftest import Visitor
from tests.web.test_path_parts import page, say


def test_links_are_grouped_by_type_with_the_words_around_them(
    owner: User, reader: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    first = say(actor, tree, 'respond root "The kestrel sleeps in the tower."')
    second = say(actor, tree, 'respond root "Two."')
    say(actor, tree, f'link {first} to {second} as:supports on:"kestrel sleeps" confidence:0.8')
    say(actor, tree, f"link {second} to {first} as:refutes")
    drawn = page(visitor, owner, f"/trees/{tree.uid}/links/{second}")
    assert 'aria-label="supported by"' in drawn and 'aria-label="refutes"' in drawn
    assert "The kestrel sleeps in the tower." in drawn and "0.8" in drawn
    # The page above it has an h1: no level is left out.
    assert drawn.count("<h2>") == 2 and "<h3" not in drawn
    # From the other side: the words of the far text, and one's own on which the link stands.
    from_first = page(visitor, owner, f"/trees/{tree.uid}/links/{first}")
    assert "on “kestrel sleeps”" in from_first and "confidence 0.8" in from_first
    assert "The kestrel sleeps" not in from_first and from_first.count("Two.") == 2
    calls = re.findall(r'data-call="([^"]*)"', drawn)
    sent = [json.loads(call.replace("&quot;", '"')) for call in calls]
    wanted = {"source": first, "target": second, "type": "supports"}
    assert wanted in [call["args"] for call in sent]
    assert "Unlink" not in page(visitor, reader, f"/trees/{tree.uid}/links/{second}")
    execute_line(actor, tree, Request(f"prune {first}"))
    assert '<span class="flag">pruned</span>' in page(
        visitor, owner, f"/trees/{tree.uid}/links/{second}"
    )


def test_what_can_be_linked_is_found_by_words_as_far_as_one_may_read_it(
    two_groves: TwoGroves,
) -> None:
    """Texts of the tree first, then documents, texts of other trees and trees by their titles."""
    world = two_groves
    left, uid = world.left, world.left.tree.uid
    other = new_tree(left.actor(world.both), title="More of the kestrel")
    say(left.actor(world.both), other, 'respond root "The kestrel woke."')
    near = say(left.actor(world.both), left.tree, 'respond root "A kestrel sleeps."')
    say(left.actor(world.both), left.tree, 'write doc:"Kestrels" new "Where they nest."')
    hidden = new_tree(
        left.actor(User.objects.get(username="leftowner")), title="The kestrel's debts"
    )
    Side(left.grove, hidden, left.text).run(
        User.objects.get(username="leftowner"), "allow writers hidden"
    )

    def targets(user: User, query: str) -> list[tuple[str, str]]:
        hits = world.client(user).get(f"/trees/{uid}/targets", {"q": query}).json()["targets"]
        return [(target["kind"], target["words"]) for target in hits]

    mine = [
        ("here", "A kestrel sleeps."),
        ("documents", "Kestrels"),
        ("elsewhere", "The kestrel woke."),
        ("trees", "More of the kestrel"),
    ]
    assert targets(world.only_left, "kestrel") == mine
    # Whoever is in another grove as well finds its trees by their titles.
    assert targets(world.both, "kestrel") == [*mine, ("trees", TITLE)]
    assert targets(world.both, near)[0] == ("here", "A kestrel sleeps.")
    assert targets(world.only_left, "nothing has this") == []
    assert world.client(world.nobody).get(f"/trees/{uid}/targets?q=kestrel").status_code == 404
    # Without words, what was used last.
    first = targets(world.only_left, "")
    assert ("documents", "Kestrels") in first and ("trees", "More of the kestrel") in first
    assert not any("debts" in words for _, words in first)
    # Each is a target of a link.
    rows = world.client(world.both).get(f"/trees/{uid}/targets", {"q": "kestrel"}).json()["targets"]
    for row in rows[1:]:
        ref = row["ref"]
        assert "✓ linked" in left.run(world.both, f"link {near} to {ref} as:supports"), ref


def test_a_text_of_another_tree_leads_there_from_the_panel(two_groves: TwoGroves) -> None:
    world = two_groves
    near, left = world.left.text.local_id, world.left
    for end in (world.far, f"tree:{world.right.tree.uid}"):
        left.run(world.both, f"link {near} to {end} as:uses")
    drawn = world.client(world.both).get(f"/trees/{left.tree.uid}/links/{near}").content.decode()
    right = world.right
    assert f'href="/trees/{right.tree.uid}?node={right.text.local_id}"' in drawn
    assert f'data-go="{right.text.local_id}"' not in drawn and f"in {TITLE}" in drawn
    assert f'<a href="/trees/{right.tree.uid}">{TITLE}</a>' in drawn
