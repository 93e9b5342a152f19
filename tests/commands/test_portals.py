"""Portals, embeds and references in texts: how they look, what they open, and for whom."""

from collections.abc import Callable

import pytest
from django.test import Client
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.documents.actions import make_document
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.language.portals import (
    PortalItem,
    PortalView,
    as_lines,
    as_markdown,
    portals_in,
    targets_of,
)
from loom.links.foot import Portal, portals_of
from loom.links.written_portals import OpenedPortals
from loom.people.commands.groves import change_grove
from loom.people.models import User
from loom.site.markdown import MOST_EMBEDS, rendered, rendered_by
from loom.trees.commands import trees
from loom.trees.models import Node, Tree, Workspace
from tests.commands.conftest import Say
from tests.two_groves import SECRET, TITLE, TwoGroves

BASE = "/trees/abc"
Write = Callable[..., str]


def test_the_targets_of_a_portal_are_refs_with_their_slices() -> None:
    assert targets_of("a7x2") == ("a7x2",)
    assert targets_of('{a7x2, doc:"notes, late" §motive , a7x2}') == (
        "a7x2",
        'doc:"notes, late" §motive',
    )
    many = ", ".join(f"a{one}b{two}" for one in range(2, 6) for two in range(2, 6))
    assert len(targets_of(f"{{{many}}}")) == 10
    assert [
        portal.type for portal in portals_in("@[tests -> a7x2] @[x -> ,] @[covers -> b2b2]")
    ] == [
        "tests",
        "covers",
    ]


def test_references_portals_and_embeds_are_three_looks() -> None:
    html = rendered('See [a7x2], doc:"notes", @[supports -> {a7x2, b3k9}] and ![[b3k9]].', BASE)
    assert '<a class="ref" href="/trees/abc?node=a7x2" data-ref="a7x2"' in html
    assert 'href="/trees/abc/ref?to=doc%3A%22notes%22"' in html
    assert '<details class="portal" data-edge-type="supports"' in html
    assert "[supports] ──→ 2 items</summary>" in html
    assert '<details class="portal embedded" data-edge-type="embed"' in html
    assert "[supports] ──→ [a7x2]" in rendered("@[supports -> a7x2]", BASE)
    assert "<p>" not in html  # a paragraph can hold no block


@pytest.mark.parametrize(
    "text", ["`[a7x2]`", "[a7x2](https://x.y)", "\\[a7x2]", "[word]", "x:doc", "@[a -> b", "![[a"]
)
def test_what_is_no_reference_stays_as_it_is_written(text: str) -> None:
    html = rendered(text, BASE)
    assert "data-ref" not in html and "details" not in html


def test_without_a_base_nothing_of_a_text_can_be_opened() -> None:
    html = rendered("See [a7x2] @[supports -> a7x2] ![[a7x2]]")
    assert "details" not in html and "<a" not in html and "@[supports" in html


def test_the_heading_of_a_portal_belongs_to_no_author() -> None:
    text = "Ann wrote @[supports -> a7x2] and so did Bo."
    first = len("Ann wrote @[supports -> a7x2] and")
    spans = [(first, '<span class="a">'), (len(text) - first, '<span class="b">')]
    html = rendered_by(text, spans, BASE)
    assert '<span class="b"> so did Bo.</span>' in html
    assert '<summary><span class="sign"' in html


def test_a_portal_is_shown_in_a_terminal_and_in_markdown_from_one_description() -> None:
    inner = PortalView("evidence", 1, 'doc:"notes"')
    item = PortalItem("[a7x2]", "Ann", "pruned", "One.\nTwo.", (inner,))
    portal = PortalView("supports", 3, "", (item,), is_open=True)
    assert as_lines(portal) == [
        "▼ [supports] ──→ 3 nodes",
        "  [a7x2] Ann · pruned",
        "  │ One.",
        "  │ Two.",
        '  ▶ [evidence] ──→ doc:"notes"',
        "  … 2 more",
    ]
    assert as_markdown(portal) == [
        "**▼ [supports] ──→ 3 nodes**",
        "",
        "> `[a7x2]` Ann · pruned",
        ">",
        "> One.",
        "> Two.",
        ">",
        '> **▶ [evidence] ──→ doc:"notes"**',
        "",
        "… 2 more",
    ]


@pytest.fixture
def notes(actor: object, tree: Tree, say: Say) -> str:
    """A document that the tree is linked to, with two sections."""
    document = make_document(
        actor,  # type: ignore[arg-type]
        title="Notes",
        text="# Notes\n\nFirst.\n\n## Motive\n\nJealousy of the lamp.\n",
    )
    say(f"link root to doc:{document.uid}")
    return document.uid


@pytest.mark.django_db
def test_a_portal_in_a_text_opens_nodes_and_parts_of_documents(
    say: Say, write: Write, tree: Tree, owner: User, client: Client, notes: str
) -> None:
    client.force_login(owner)
    a = write("The lamp is lit.")
    to = f'{{{a}, doc:"Notes" §motive, z9z9}}'
    html = client.get(f"/trees/{tree.uid}/portal", {"type": "supports", "to": to}).content.decode()
    assert "The lamp is lit." in html and "Jealousy of the lamp." in html
    assert "First." not in html  # another section
    assert "[z9z9]" in html and html.count("unavailable") == 1
    assert f'data-suggest="{a}"' in html and f'data-suggest="doc:{notes} §motive"' in html
    named = client.get(f"/trees/{tree.uid}/ref", {"to": 'doc:"Notes"'})
    assert named["Location"] == f"/documents/{notes}"
    assert client.get(f"/trees/{tree.uid}/ref", {"to": "z9z9"}).status_code == 404


@pytest.mark.django_db
def test_a_document_has_portals_in_its_text_and_at_its_foot(
    say: Say, write: Write, tree: Tree, owner: User, client: Client, notes: str
) -> None:
    client.force_login(owner)
    a = write("The lamp is lit.")
    say(f"link doc:{notes} to {a} as:supports")
    page = client.get(f"/documents/{notes}").content.decode()
    assert f"[supports] ──→ [{a}]" in page
    inside = client.get(f"/documents/{notes}/portal?type=supports").content.decode()
    assert "The lamp is lit." in inside and "[supported by] ──→ doc:&quot;Notes&quot;" in inside
    opened = client.get(f"/documents/{notes}/portal", {"type": "x", "to": a}).content.decode()
    assert "The lamp is lit." in opened
    # From the node the document is one target, by its name, with its text inside.
    foot = client.get(f"/trees/{tree.uid}/nodes/{a}/portals").content.decode()
    assert "[supported by] ──→ doc:&quot;Notes&quot;" in foot
    back = client.get(f"/trees/{tree.uid}/nodes/{a}/portal?type=supported_by").content.decode()
    assert "Jealousy of the lamp." in back


@pytest.mark.django_db
def test_an_embed_shows_the_current_version_and_a_portal_what_was_named(
    say: Say, write: Write, tree: Tree, owner: User, client: Client
) -> None:
    client.force_login(owner)
    a = write("Old words.")
    now = say(f'edit {a} "New words." as:version').body["refs"][0]
    address = f"/trees/{tree.uid}/portal"
    embed = client.get(address, {"type": "embed", "to": a}).content.decode()
    assert "New words." in embed and "Old words." not in embed
    portal = client.get(address, {"type": "supports", "to": a}).content.decode()
    assert "Old words." in portal and f"now [{now}]" in portal


@pytest.mark.django_db
def test_the_sixth_portal_is_refused_with_the_chain(
    actor: object, write: Write, tree: Tree, owner: User, client: Client
) -> None:
    client.force_login(owner)
    a = write("x")
    address = f"/trees/{tree.uid}/portal?type=f&to={a}&path="
    assert client.get(f"{address}a,b,c,d,e").status_code == 200
    refused = client.get(f"{address}a,b,c,d,e,f", headers={"X-Part": "1"})
    assert refused.status_code == 429
    assert "at most 5 deep: a → b → c → d → e → f." in refused.content.decode()
    change_grove(actor, settings={"portal_depth": 7})  # type: ignore[arg-type]
    assert client.get(f"{address}a,b,c,d,e,f").status_code == 200


@pytest.mark.django_db
def test_a_line_opens_what_a_portal_in_a_text_names(
    say: Say, write: Write, tree: Tree, owner: User, notes: str
) -> None:
    a = write("The lamp is lit.")
    b = write(f"It burns @[supports -> {{{a}, doc:{notes} §motive}}].", a)
    to = f"{a}, doc:{notes} §motive"
    opened = say(f'expand supports of {b} to:"{to}"')
    assert "→ 2 items as #" in opened.reply
    assert opened.step is not None and opened.step.link_type == "supports"
    shown = say(f'expand supports of {b} to:"{to}" inline').reply
    assert "▼ [supports] ──→ 2 items" in shown and "│ The lamp is lit." in shown
    assert "│ Jealousy of the lamp." in shown
    client = APIClient()
    client.force_login(owner)
    args = {"type": "supports", "ref": b, "inline": True, "to": to}
    sent = client.post(
        f"/api/trees/{tree.uid}/commands",
        {"command": "expand", "args": args, "at": b},
        format="json",
    )
    assert sent.status_code == 200, sent.json()
    assert f"──[supports]──→ [{a}]" in say("trail").reply
    with pytest.raises(CommandError, match="to root"):
        say(f'expand supports of {b} to:"root"')


@pytest.mark.django_db
def test_what_a_portal_names_beyond_ten_is_named_with_the_line_that_opens_it(
    say: Say, write: Write, tree: Tree, owner: User, client: Client, actor: Actor
) -> None:
    names = [write(f"Lamp {number}.") for number in range(12)]
    to, (*_, eleventh, last) = ", ".join(names), names
    b = write(f"They burn @[supports -> {{{to}}}].")
    reply = say(f'expand supports of {b} to:"{to}"').reply
    assert "→ 10 items as #" in reply
    assert f"not opened: [{eleventh}] [{last}]; a portal opens at most 10, the other 2" in reply
    assert reply.partition("\n")[2].splitlines()[0].endswith(f": → open {eleventh}")
    assert "✓ opened #" in say(f"open {eleventh}").reply
    inline = say(f'expand supports of {b} to:"{to}" inline').reply
    assert "──→ 12 nodes" in inline and "… 2 more" in inline and f"[{last}]" in inline
    client.force_login(owner)
    html = rendered(f"@[supports -> {{{to}}}]", f"/trees/{tree.uid}")
    assert "12 items</summary>" in html and f"{eleventh}%2C%20{last}" in html
    drawn = client.get(f"/trees/{tree.uid}/portal", {"type": "supports", "to": to}).content.decode()
    assert f"2 more: <code>→ open {eleventh}</code> · <code>→ open {last}</code>" in drawn
    assert "… 2 more" in OpenedPortals(actor, tree).text(f"@[supports -> {{{to}}}]")


@pytest.mark.django_db
def test_a_portal_at_the_foot_is_shown_in_a_terminal(say: Say, write: Write) -> None:
    a, b = write("One."), write("Two.")
    say(f"link {a} to {b} as:supports")
    reply = say(f"expand supports of {a} inline").reply
    assert f"▼ [supports] ──→ [{b}]" in reply and "│ Two." in reply
    assert f"▶ [supported_by] ──→ [{a}]" in reply


@pytest.mark.django_db
def test_a_portal_to_a_whole_tree_has_its_title(say: Say, write: Write, actor: Actor) -> None:
    far, further = (
        trees.make_tree(actor, trees.NewTree(title=title)) for title in ("Far away", "Further")
    )
    a = write("One.")

    def portal() -> Portal:
        node = Node.objects.get(local_id=a)
        (only,) = portals_of(actor, {node.pk: node.slot_id})[node.pk]
        return only

    say(f"link {a} to tree:{far.uid}")
    assert portal().target == 'tree:"Far away"'
    assert portal().opened.heading == '▶ [related] ──→ tree:"Far away"'
    say(f"link {a} to tree:{further.uid}")
    assert portal().opened.heading == "▶ [related] ──→ 2 items"
    say(f"unlink {a} to tree:{far.uid}")
    assert portal().target == 'tree:"Further"'


def test_nobody_sees_through_a_portal_what_they_may_not_read(two_groves: TwoGroves) -> None:
    world = two_groves
    left, far = world.left, world.far
    paper = make_document(get_actor(world.both, world.right.grove), title="Kestrels", text=SECRET)
    address = f"/trees/{left.tree.uid}/portal"
    both, only_left = world.client(world.both), world.client(world.only_left)
    sent = {"type": "supports", "to": f"{{{far}, tree:{world.right.tree.uid}, doc:{paper.uid}}}"}
    assert SECRET in both.get(address, sent).content.decode()
    seen = only_left.get(address, sent).content.decode()
    assert SECRET not in seen and TITLE not in seen and "Kestrels" not in seen
    assert seen.count("unavailable") == 3
    for to in (far, f"tree:{world.right.tree.uid}", f"doc:{paper.uid}"):
        assert only_left.get(f"/trees/{left.tree.uid}/ref", {"to": to}).status_code == 404
    assert world.client(world.nobody).get(address, sent).status_code == 404
    paper_address = f"/documents/{paper.uid}/portal"
    assert only_left.get(paper_address, sent).status_code == 404
    # The same by a line: the text names it, and the line opens nothing.
    actor = left.actor(world.only_left)
    text = f"@[supports -> {far}]"
    ref = execute_line(actor, left.tree, Request(f'respond root "{text}"')).body["refs"][0]
    line = f'expand supports of {ref} to:"{far}" inline'
    reply = str(execute_line(actor, left.tree, Request(line)).body["reply"])
    assert SECRET not in reply and "unavailable" in reply


@pytest.mark.django_db
def test_what_a_portal_and_a_list_leave_out_is_counted_with_the_line_that_shows_it(
    say: Say, write: Write, tree: Tree, owner: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.force_login(owner)
    a = write("hub")
    for number in range(4):
        say(f"link {a} to {write(f'text {number}')} as:supports")
        say(f'write doc:"D{number}" new "Words."')
    for module in ("loom.links.portals", "loom.links.portal_pages"):
        monkeypatch.setattr(f"{module}.MOST_SHOWN", 3)
    inside = client.get(f"/trees/{tree.uid}/nodes/{a}/portal?type=supports").content.decode()
    assert f"1 more: <code>→ list {a} supports after:3</code>" in inside
    monkeypatch.setattr("loom.documents.commands.writing.MOST_LISTED", 3)
    listed = say("list documents").reply
    assert listed.startswith("→ 4 documents:")
    assert listed.endswith("… 1 more: → list documents after:3")
    assert 'doc:"D0"' in say("list documents after:3").reply


@pytest.mark.django_db
def test_a_window_in_the_page_has_the_references_and_portals_of_its_text(
    say: Say, write: Write, tree: Tree, owner: User, client: Client
) -> None:
    client.force_login(owner)
    a = write("The lamp is lit.")
    say(f"respond {a}\nSee [{a}] and @[supports -> {a}].\n←")
    node = Node.objects.latest("id").local_id
    say(f"open {node} keep")
    workspace = Workspace.objects.get(participant__user=owner, tree=tree)
    body = client.get(f"/trees/{tree.uid}/windows", {"of": workspace.uid}).json()
    (drawn,) = body["drawn"].values()
    assert f'href="/trees/{tree.uid}?node={a}"' in drawn
    assert f'data-portal="/trees/{tree.uid}/portal?type=supports' in drawn


@pytest.mark.django_db
def test_a_portal_to_what_was_erased_is_unavailable_and_its_link_says_erased(
    say: Say, write: Write, actor: Actor, tree: Tree, owner: User, client: Client
) -> None:
    client.force_login(owner)
    other = trees.new_tree(actor, title="Doomed")
    far = write("far words", into=other)
    a = write(f"See @[supports -> tree:{other.uid} node:{far}].")
    say(f"link {a} to tree:{other.uid} node:{far} as:extends")
    to = f"tree:{other.uid} node:{far}"
    address = f"/trees/{tree.uid}/portal"
    assert "far words" in client.get(address, {"type": "supports", "to": to}).content.decode()
    trees.change_tree(actor, other, {"archived": True})
    trees.erase(actor, Tree.objects.get(pk=other.pk), "Doomed")
    written = client.get(address, {"type": "supports", "to": to}).content.decode()
    assert "unavailable" in written and "far words" not in written
    assert "[extends] ──→ erased" in say(f"switch to {a}").reply + say("memory").reply
    linked = client.get(f"/trees/{tree.uid}/nodes/{a}/portal?type=extends").content.decode()
    assert '<span class="flag">erased</span>' in linked and "href" not in linked


@pytest.mark.django_db
def test_one_link_is_the_same_in_a_page_a_line_markdown_and_the_api(
    say: Say, write: Write, tree: Tree, owner: User, client: Client
) -> None:
    """One description of a portal, drawn for each reader."""
    client.force_login(owner)
    a, b, c = write("The lamp is lit."), write("Oil was bought."), write("A debt is owed.")
    for end in (b, c):
        say(f"link {a} to {end} as:supports")
    say(f"link {b} to {c} as:uses")
    foot = client.get(f"/trees/{tree.uid}/nodes/{a}/portals").content.decode()
    assert 'data-edge-type="supports"' in foot and "[supports] ──→ 2 nodes</summary>" in foot
    inside = client.get(f"/trees/{tree.uid}/nodes/{a}/portal?type=supports").content.decode()
    shell = say(f"expand supports of {a} inline").reply
    say(f"switch to {a}")
    say(f"expand supports of {a} inline")
    say('trail save "lamp"')
    markdown = say('trail show "lamp" as:markdown').reply
    for shown in (inside, shell, markdown):
        assert "Oil was bought." in shown and "A debt is owed." in shown
    assert "▼ [supports] ──→ 2 nodes" in shell and f"▶ [uses] ──→ [{c}]" in shell
    assert f"[uses] ──→ [{c}]" in inside
    assert "**▼ [supports] ──→ 2 nodes**" in markdown
    listed = say(f"list {a} supports")
    assert listed.body["refs"] == [b, c]
    api = client.get(f"/api/links?tree={tree.uid}&node={a}").json()["results"]
    assert [(link["type"], link["target"]) for link in api] == [("supports", b), ("supports", c)]
    graph = client.get(f"/api/trees/{tree.uid}/nodes/{a}/graph?depth=1").json()
    assert {node["item"] for node in graph["nodes"]} == {a, b, c}


def test_a_text_opens_a_bounded_number_of_embeds() -> None:
    shown = str(rendered("![[a]] " * (MOST_EMBEDS + 2), "/trees/a"))
    assert shown.count("<details") == MOST_EMBEDS
    assert shown.count("![[a]]") == 2
    again = str(rendered("![[a]] " * 2, "/trees/a"))
    assert again.count("<details") == 2
