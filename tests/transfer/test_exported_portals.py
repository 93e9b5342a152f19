"""Portals, embeds and references in plain text, web pages and books: opened for whoever exports."""

from collections.abc import Callable
from typing import Any

import pytest

from loom.access import get_actor
from loom.people.models import User
from loom.transfer.selection import ExportSelection
from loom.transfer.writers.books import book_of
from loom.transfer.writers.text import (
    as_markdown,
    as_text,
    html,
    tree_as_markdown,
    tree_as_text,
)
from loom.trees.commands.trees import new_tree
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say, say, write  # noqa: F401 (fixtures)
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


@pytest.fixture
def portal(say: Say, write: Write) -> dict[str, str]:  # noqa: F811
    """A text with a portal, an embed, a reference and code, below one that it names."""
    a, b = write("The lamp is lit.", "root"), write("Oil was bought.", "root")
    text = f"Paid @[supports -> {{{a}, {b}}}], see [{a}], [{b}], `[{a}]`.\n\n![[{b}]]"
    return {"a": a, "b": b, "last": say(f"respond {a}\n{text}\n←").body["refs"][0]}


def _wanted(owner: User, tree: Tree, **more: Any) -> ExportSelection:
    return ExportSelection(get_actor(owner, tree.grove), tree, None, **more)


def _book(wanted: ExportSelection) -> list[tuple[str, str]]:
    parts = book_of(wanted).parts()
    return [
        (text.kind, "".join(run.text for run in text.runs)) for _, every in parts for text in every
    ]


def test_plain_text_has_what_portals_lead_to_on_indented_lines(
    portal: dict[str, str], owner: User, tree: Tree
) -> None:
    a, b = portal["a"], portal["b"]
    actor = get_actor(owner, tree.grove)
    text = b"".join(as_text(actor, tree, None, Node.objects.get(local_id=portal["last"]))).decode()
    assert f"Paid ▼ [supports] ──→ 2 nodes, see [{a}], [{b}], `[{a}]`.\n" in text
    assert f"\n  [{a}]\n  │ The lamp is lit.\n" in text  # as everywhere in it, without names
    assert text.count("  │ Oil was bought.") == 2 and "![[" not in text
    whole = b"".join(tree_as_text(actor, tree, None)).decode()
    assert "  │ Oil was bought." in whole and "Owner" not in text + whole


def test_a_web_page_has_them_as_quotes_and_its_references_lead_to_its_texts(
    portal: dict[str, str], owner: User, tree: Tree
) -> None:
    a, b, last = portal.values()
    page = b"".join(html(_wanted(owner, tree))).decode()
    article = page.split(f'<article id="{last}"')[1].split("</article>")[0]
    assert f'see <a href="#{a}"' in article and f'<a href="#{b}"' in article
    assert f"<code>[{a}]</code>.</p>" in article  # code stays as it is
    assert article.count("<blockquote>") >= 3 and "The lamp is lit." in article
    # Without the names of authors, and where another text is not part of the page.
    end = Node.objects.get(local_id=last)
    path = b"".join(html(_wanted(owner, tree, end=end, authors=False))).decode()
    assert "Owner" not in path and f'href="#{b}"' not in path and f'href="#{a}"' in path


def test_a_book_has_them_as_quotes_without_their_links(
    portal: dict[str, str],
    owner: User,
    tree: Tree,
    say: Say,  # noqa: F811
) -> None:
    say(f"link {portal['a']} to {portal['b']} as:uses")
    end = Node.objects.get(local_id=portal["last"])
    book = _book(_wanted(owner, tree, end=end))
    assert ("quote", "The lamp is lit.") in book
    assert book.count(("quote", "Oil was bought.")) == 2
    assert not any("@[" in text or "![[" in text or "▶" in text for _, text in book)


def test_what_is_pruned_is_named_and_its_text_left_out(
    portal: dict[str, str],
    owner: User,
    tree: Tree,
    say: Say,  # noqa: F811
    write: Write,  # noqa: F811
) -> None:
    b = portal["b"]
    below = write("It was dear.", b)
    last = say(f"respond {portal['last']}\n![[{below}]]\n←").body["refs"][0]
    say(f"prune {b}")
    end = Node.objects.get(local_id=last)
    actor = get_actor(owner, tree.grove)
    files = [
        b"".join(as_text(actor, tree, None, end)).decode(),
        b"".join(as_markdown(actor, tree, None, end)).decode(),
        b"".join(tree_as_text(actor, tree, None)).decode(),
        b"".join(tree_as_markdown(actor, tree, None)).decode(),
        b"".join(html(_wanted(owner, tree, end=end))).decode(),
        str(_book(_wanted(owner, tree, end=end))),
    ]
    for file in files:
        assert "Oil was bought." not in file and "It was dear." not in file
        assert file.count("pruned, its text is left out") == 3
        assert "The lamp is lit." in file


def test_the_text_of_a_buffer_stays_as_it_is_written(owner: User, tree: Tree, say: Say) -> None:  # noqa: F811
    actor = get_actor(owner, tree.grove)
    buffer = new_tree(actor, title="Prose", mode="buffer")
    a = say('respond root "The lamp."', into=buffer).body["refs"][0]
    last = say(f'respond {a} " @[supports -> {a}]"', into=buffer).body["refs"][0]
    end = Node.objects.get(tree=buffer, local_id=last)
    assert b"".join(as_text(actor, buffer, None, end)).decode() == f"The lamp. @[supports -> {a}]"


def test_nobody_exports_through_a_portal_what_they_may_not_read(two_groves: TwoGroves) -> None:
    left = two_groves.left
    say_ = f"See @[supports -> {two_groves.far}]."
    left.run(two_groves.both, f'respond root "{say_}"')
    for user, is_seen in ((two_groves.both, True), (two_groves.only_left, False)):
        wanted = ExportSelection(left.actor(user), left.tree, None)
        every = [
            b"".join(html(wanted)).decode(),
            b"".join(tree_as_text(wanted.actor, left.tree, None)).decode(),
            str(_book(wanted)),
        ]
        for text in every:
            assert (SECRET[:20] in text) is is_seen
            assert is_seen or "unavailable" in text
