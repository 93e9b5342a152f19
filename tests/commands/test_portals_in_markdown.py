"""Portals and embeds in exported Markdown: opened as quotes, for whoever exports."""

from collections.abc import Callable

import pytest

from loom.access import get_actor
from loom.links.written_portals import MOST_OPENED, OpenedPortals
from loom.people.models import User
from loom.transfer.writers.text import as_markdown, tree_as_markdown
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def test_an_exported_text_has_what_its_portals_lead_to_in_quotes(
    say: Say, write: Write, owner: User, tree: Tree
) -> None:
    actor = get_actor(owner, tree.grove)
    a, b = write("The lamp is lit.", "root"), write("Oil was bought.", "root")
    text = f"Paid @[supports -> {{{a}, {b}}}], see `@[x -> {a}]`.\n\n![[{a}]]"
    last = say(f"respond {a}\n{text}\n←").body["refs"][0]
    node = Node.objects.get(local_id=last)
    path = b"".join(as_markdown(actor, tree, None, node)).decode()
    assert f"Paid ▼ [supports] ──→ 2 nodes, see `@[x -> {a}]`.\n\n> `[{a}]` Owner\n>\n" in path
    assert path.count("> The lamp is lit.") == 2 and path.count("> Oil was bought.") == 1
    assert "![[" not in path and "@[supports" not in path
    whole = b"".join(tree_as_markdown(actor, tree, None)).decode()
    assert "> Oil was bought." in whole


def test_code_stays_as_it_is_and_so_many_portals_are_opened(
    write: Write, owner: User, tree: Tree
) -> None:
    a = write("The lamp is lit.", "root")
    portals = OpenedPortals(get_actor(owner, tree.grove), tree)
    code = f"```\n@[supports -> {a}]\n```"
    assert portals.text(code) == code
    portals.left = 1
    assert portals.text(f"@[supports -> {a}]").startswith(f"▼ [supports] ──→ [{a}]\n\n> ")
    assert portals.text(f"@[supports -> {a}]") == "▶ [supports] ──→ 1 item"
    assert MOST_OPENED == 50


def test_nobody_exports_through_a_portal_what_they_may_not_read(two_groves: TwoGroves) -> None:
    left = two_groves.left
    text = f"See @[supports -> {two_groves.far}]."
    for user, many in ((two_groves.both, 1), (two_groves.only_left, 0)):
        shown = OpenedPortals(left.actor(user), left.tree).text(text)
        assert shown.count(SECRET[:20]) == many, shown
