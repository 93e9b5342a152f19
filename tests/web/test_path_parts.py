"""What hangs at a text of the path: portals, older wordings, colours of code."""

import re

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.notes.models import Decision
from loom.people.models import Grove, User
from loom.site.markdown import CLASSES, coloured, rendered
from loom.trees.models import Tree
from tests.web.conftest import Visitor


def say(actor: Actor, tree: Tree, line: str) -> str:
    """The first node that the line made or found."""
    return str(execute_line(actor, tree, Request(line)).body["refs"][0])


def page(visitor: Visitor, user: User, address: str) -> str:
    answer = visitor(user).get(address)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_links_are_portals_that_open_in_place(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    one = say(actor, tree, 'respond root "One <b>claim</b>."')
    two = say(actor, tree, f'respond {one} "Two."')
    say(actor, tree, f"link {two} to {one} as:supports")
    drawn = page(visitor, owner, f"/trees/{tree.uid}?node={two}")
    assert f"[supports] ──→ [{one}]" in drawn and f"[supported by] ──→ [{two}]" in drawn
    inside = page(visitor, owner, f"/trees/{tree.uid}/nodes/{two}/portal?type=supports")
    assert "One &lt;b&gt;claim&lt;/b&gt;." in inside
    assert f"[supported by] ──→ [{two}]" in inside
    say(actor, tree, f'respond {one} "Three."')
    say(actor, tree, f"link here to {one} as:supports")
    drawn = page(visitor, owner, f"/trees/{tree.uid}?node={two}")
    assert "[supported by] ──→ 2 nodes" in drawn


def test_a_portal_never_shows_what_the_reader_may_not_see(
    owner: User, reader: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    from loom.people.commands import groves
    from loom.trees.commands import trees

    own = groves.make_grove(owner, "Private")
    secret = trees.new_tree(get_actor(owner, own), title="Secret plan")
    hidden = say(get_actor(owner, own), secret, 'respond root "Nobody knows."')
    actor = get_actor(owner, grove)
    node = say(actor, tree, 'respond root "One."')
    say(actor, tree, f"link {node} to tree:{secret.uid} node:{hidden} as:supports")
    address = f"/trees/{tree.uid}/nodes/{node}/portal?type=supports"
    assert "Nobody knows." in page(visitor, owner, address)
    assert "[supports]" not in page(visitor, reader, f"/trees/{tree.uid}?node={node}")
    shown = page(visitor, reader, address)
    assert "Nobody knows." not in shown and "Secret plan" not in shown


def test_outsiders_find_no_portal(
    owner: User, outsider: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    node = say(get_actor(owner, grove), tree, 'respond root "One."')
    address = f"/trees/{tree.uid}/nodes/{node}/portal?type=supports"
    assert visitor(outsider).get(address).status_code == 404


def test_what_was_written_after_an_older_wording_is_marked(
    owner: User, reader: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    one = say(actor, tree, 'respond root "One."')
    two = say(actor, tree, f'respond {one} "Two."')
    assert "reworded" not in page(visitor, owner, f"/trees/{tree.uid}?node={two}")
    say(actor, tree, f'edit {one} "Other." as:version')
    drawn = page(visitor, owner, f"/trees/{tree.uid}?node={two}")
    assert drawn.count("written after an older version") == 1
    assert re.search(f'<article class="node reworded" id="n-{two}"', drawn)
    details = page(visitor, owner, f"/trees/{tree.uid}/nodes/{two}")
    assert 'class="details reworded"' in details
    execute_line(actor, tree, Request(f"switch to {one}"))
    assert "reworded" not in page(visitor, owner, f"/trees/{tree.uid}?node={two}")
    # Who reads the newer wording still sees that it is one.
    assert "reworded" in page(visitor, reader, f"/trees/{tree.uid}?node={two}")


def test_code_is_coloured_by_classes_alone() -> None:
    html = rendered("```python\ndef f():\n\treturn '<b>' # note\n```")
    assert set(re.findall(r'class="([^"]*)"', html)) <= CLASSES
    assert "style=" not in html and "&lt;b&gt;" in html
    assert '<span class="c-key">def</span>' in html


def test_code_keeps_every_character_and_unknown_languages_stay_plain() -> None:
    for code in ("x = 1\r\n\t\n", "  \n\nif", "\u0085 é 日本"):
        plain = re.sub(r"<[^>]*>", "", coloured(code, "python"))
        assert plain.replace("&#x27;", "'").replace("&quot;", '"') == code
    assert coloured("<x>", "no-such") == "&lt;x&gt;"
    assert coloured("<x>", "python <script>") != "<x>"
    assert coloured("x" * 10_001, "python") == "x" * 10_001


def test_tags_and_bookmarks_of_another_wording_are_shown_and_can_be_removed(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    old = say(actor, tree, 'respond root "The lamp."')
    for line in (f"tag {old} #sea", f'bookmark {old} "key"'):
        say(actor, tree, line)
    new = say(actor, tree, f'edit {old} "The lamp is lit." as:version')
    address = f"/trees/{tree.uid}?node={new}"
    drawn = page(visitor, owner, address)
    assert f'id="n-{new}"' in drawn and 'data-tag="sea"' in drawn and "★ key" in drawn
    assert "node bookmarked" in drawn
    # A socket's part agrees with the page.
    part = page(visitor, owner, f"/trees/{tree.uid}/nodes/{new}/drawn")
    assert 'data-tag="sea"' in part and "★ key" in part
    say(actor, tree, f"untag {new} #sea")
    say(actor, tree, f"unbookmark {new}")
    drawn = page(visitor, owner, address)
    assert 'data-tag="sea"' not in drawn and "★ key" not in drawn
    execute_line(actor, tree, Request("undo"))
    execute_line(actor, tree, Request("undo"))
    drawn = page(visitor, owner, address)
    assert 'data-tag="sea"' in drawn and "★ key" in drawn


def test_a_tag_of_two_wordings_is_shown_once_and_removed_from_both(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    old = say(actor, tree, 'respond root "The lamp."')
    new = say(actor, tree, f'edit {old} "The lamp is lit." as:version')
    for node in (old, new):
        say(actor, tree, f"tag {node} #sea")
        say(actor, tree, f"bookmark {node}")
    address = f"/trees/{tree.uid}?node={new}"
    drawn = page(visitor, owner, address)
    assert drawn.count('data-tag="sea"') == 1 and drawn.count('class="pill bookmark"') == 1
    say(actor, tree, f"untag {new} #sea")
    say(actor, tree, f"unbookmark {new}")
    drawn = page(visitor, owner, address)
    assert 'data-tag="sea"' not in drawn and 'class="pill bookmark"' not in drawn


def test_only_an_objection_needs_a_reason_to_be_resolved(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    node = say(actor, tree, 'respond root "One."')
    say(actor, tree, f'annotate {node} "A note."')
    address = f"/trees/{tree.uid}?node={node}"
    assert "data-needs-reason" not in page(visitor, owner, address)
    say(actor, tree, f'annotate {node} "No." as:objection')
    assert page(visitor, owner, address).count("data-needs-reason") == 1


def test_a_decided_suggestion_says_how_it_was_decided_also_after_undo_and_redo(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    shown = {}
    for line, words in (
        ("accept {}", "accepted"),
        ('accept {} edited "The lamp went out."', "accepted with changes"),
        ('reject {} "No."', "rejected"),
    ):
        node = say(actor, tree, 'respond root "The lamp."')
        note = say(actor, tree, f'suggest {node} "The lamp is lit."')
        execute_line(actor, tree, Request(line.format(note)))
        shown[node] = words
    for node, words in shown.items():
        assert _flags(page(visitor, owner, f"/trees/{tree.uid}/nodes/{node}/drawn")) == [words]
    execute_line(actor, tree, Request("undo"))
    assert _flags(page(visitor, owner, f"/trees/{tree.uid}/nodes/{node}/drawn")) == []
    assert Decision.objects.count() == 2
    execute_line(actor, tree, Request("redo"))
    assert _flags(page(visitor, owner, f"/trees/{tree.uid}/nodes/{node}/drawn")) == ["rejected"]
    Decision.objects.all().delete()  # as of one that came with a file
    assert _flags(page(visitor, owner, f"/trees/{tree.uid}?node={node}")) == ["resolved"]


def _flags(drawn: str) -> list[str]:
    """The flags of the notes in drawn nodes."""
    notes = drawn.partition('class="notes"')[2]
    return re.findall(r'<span class="flag">([^<]*)</span></header>', notes)
