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
    one = say(actor, tree, 'respond root "The kestrel sleeps in the tower."')
    two = say(actor, tree, 'respond root "Two."')
    say(actor, tree, f'link {one} to {two} as:supports on:"kestrel sleeps" confidence:0.8')
    say(actor, tree, f"link {two} to {one} as:refutes")
    drawn = page(visitor, owner, f"/trees/{tree.uid}/links/{two}")
    assert 'aria-label="supported by"' in drawn and 'aria-label="refutes"' in drawn
    assert "The kestrel sleeps in the tower." in drawn and "0.8" in drawn
    # From the other side: the words of the far text, and one's own on which the link stands.
    from_one = page(visitor, owner, f"/trees/{tree.uid}/links/{one}")
    assert "on “kestrel sleeps”" in from_one and "confidence 0.8" in from_one
    assert "The kestrel sleeps" not in from_one and from_one.count("Two.") == 2
    calls = re.findall(r'data-call="([^"]*)"', drawn)
    sent = [json.loads(one.replace("&quot;", '"')) for one in calls]
    assert {"source": one, "target": two, "type": "supports"} in [each["args"] for each in sent]
    assert "Unlink" not in page(visitor, reader, f"/trees/{tree.uid}/links/{two}")
    execute_line(actor, tree, Request(f"prune {one}"))
    assert '<span class="flag">pruned</span>' in page(
        visitor, owner, f"/trees/{tree.uid}/links/{two}"
    )
