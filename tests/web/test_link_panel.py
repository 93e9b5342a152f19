"""The panel of a node's links: by type with counts, with the words around each, and unlinking."""

import json
import re

from loom.access import get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, User
from loom.trees.models import Tree
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
