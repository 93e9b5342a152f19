"""A tree that goes out in a format and comes in again keeps what the format can hold."""

import json

import pytest
from django.db.models import F
from hypothesis import HealthCheck, given, settings

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.notes.models import Mark
from loom.people.models import Participant
from loom.transfer import importing
from loom.transfer.exporting import FORMATS
from loom.trees.models import Tree
from tests.queries.test_chains import demand_right
from tests.thorough import tries
from tests.transfer.conftest import Bring, tree_of
from tests.transfer.planting import Plant, paths, plant, plants, wanted

pytestmark = pytest.mark.django_db
FEW = settings(max_examples=tries(15), suppress_health_check=list(HealthCheck))


def again(name: str, actor: Actor, tree: Tree, bring: Bring) -> Tree:
    """The tree that comes of its own file in this format."""
    content = b"".join(FORMATS[name].pieces(wanted(actor, tree, authors=True)))
    return tree_of(bring(content, name=f"file.{FORMATS[name].ending}"))


def kinds(tree: Tree) -> set[tuple[str, str]]:
    """Who wrote each text: a person or a model."""
    rows = tree.nodes.filter(kind="text").exclude(text="")
    return set(rows.values_list("text", "author__kind"))


@pytest.mark.parametrize("name", ["pyloom", "exoloom", "miniloom"])
@FEW
@given(texts=plants())
def test_every_branch_and_kind_of_author_comes_again(
    name: str, texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, texts)
    imported = again(name, actor, tree, bring)
    assert paths(imported) == paths(tree)
    assert kinds(imported) == kinds(tree)


@FEW
@given(texts=plants())
def test_loomsidian_gives_every_branch_again(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, texts)
    assert paths(again("loomsidian", actor, tree, bring)) == paths(tree)


@FEW
@given(texts=plants())
def test_chat_lines_give_the_dialogue_again(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, texts, mode="dialogue")
    imported = again("jsonl", actor, tree, bring)
    assert set(paths(imported)) == set(paths(tree)), "two siblings that are the same become one"


def test_a_chat_of_sillytavern_gives_its_path_and_swipes(
    actor: Actor, muse: Participant, bring: Bring
) -> None:
    texts: list[Plant] = [(-1, False, "Tell me."), (0, True, "Once."), (0, True, "Never."),
                          (1, False, "Go on.")]  # fmt: skip
    tree, nodes = plant(actor, muse, texts, mode="dialogue")
    content = b"".join(FORMATS["sillytavern"].pieces(wanted(actor, tree, nodes[3])))
    assert paths(tree_of(bring(content, name="chat.jsonl"))) == paths(tree)


BOOK = """# Night

It was *night*, and **dark** with `x < 3` and a [link](https://example.org/?a=1&b=2).

- one
- two
    - three

3. third
4. fourth

> Said
> nobody.

```
def gate(x):
    return x
```

| a | b |
|---|---|
| 1 | 2 |

Then <day> & *rain*."""


@pytest.mark.parametrize("name", ["docx", "epub"])
def test_a_book_gives_its_text_again(
    name: str, actor: Actor, muse: Participant, bring: Bring
) -> None:
    texts: list[Plant] = [(-1, False, BOOK[:90]), (0, True, BOOK[90:])]
    tree, nodes = plant(actor, muse, texts)
    content = b"".join(FORMATS[name].pieces(wanted(actor, tree, nodes[1])))
    row = bring(content, name=f"book.{name}")
    importing.choose(row, None, "whole")
    importing.run(row.uid)
    row.refresh_from_db()
    text = "".join(tree_of(row).nodes.order_by("id").values_list("text", flat=True))
    expected = BOOK.replace("three\n\n3.", "three\n3.")  # lists follow each other closely
    assert text.partition("# Night")[1:] == ("# Night", expected.partition("# Night")[2])


@FEW
@given(texts=plants())
def test_a_zip_gives_every_branch_again(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, texts)
    imported = again("zip", actor, tree, bring)
    assert paths(imported) == paths(tree) and kinds(imported) == kinds(tree)


@FEW
@given(texts=plants())
def test_any_path_of_sillytavern_comes_again_with_its_swipes(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, nodes = plant(actor, muse, texts, mode="dialogue")
    content = b"".join(FORMATS["sillytavern"].pieces(wanted(actor, tree, nodes[-1])))
    branches = paths(tree_of(bring(content, name="chat.jsonl")))
    path, at = [], nodes[-1]
    while at.parent_slot is not None:
        path.append(at)
        at = at.parent_slot
    beside = {
        (*(later.text for later in reversed(path[rank + 1 :])), other.text)
        for rank, node in enumerate(path)
        if node.author.kind == "model"
        for other in tree.nodes.filter(parent_slot=node.parent_slot, author__kind="model")
    }
    way = [tuple(node.text for node in reversed(path[rank:])) for rank in range(len(path))]
    assert set(branches) == {*way, *beside}


@FEW
@given(texts=plants())
def test_pairs_of_preferences_come_again_as_tagged_siblings(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, texts, mode="dialogue")
    content = b"".join(FORMATS["preferences"].pieces(wanted(actor, tree)))
    if not content:
        return
    lines = [json.loads(line) for line in content.splitlines()]
    imported = tree_of(bring(content, name="pairs.jsonl"))
    for field, tag in (("preferred_output", "preferred"), ("non_preferred_output", "rejected")):
        written = {line[field][0]["content"] for line in lines}
        marked = Mark.objects.filter(tree=imported, kind="tag", label=tag)
        read = imported.nodes.filter(pk__in=marked.values("item__node"))
        assert set(read.values_list("text", flat=True)) == written


@FEW
@given(texts=plants())
def test_the_text_of_a_path_comes_again_to_the_character(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, nodes = plant(actor, muse, texts)
    content = b"".join(FORMATS["text"].pieces(wanted(actor, tree, nodes[-1])))
    row = bring(content, name="book.txt", options={"split": "whole"})
    if row.status == "failed":
        assert not content.strip() or (row.error or {})["code"] == "INVALID_SYNTAX"
        return
    assert "".join(text for (text,) in paths(tree_of(row))).encode() == content


@FEW
@given(texts=plants())
def test_an_import_hides_what_was_hidden(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, texts)
    for node in tree.nodes.filter(kind="text", depth__gt=0, slot_id=F("id")):
        if node.pk % 3 == 0:
            execute_line(actor, tree, Request(f"prune {node.local_id}"))
    imported = again("heddle", actor, tree, bring)
    demand_right(imported)
    texts_found = imported.nodes.filter(kind="text", depth__gt=0)
    assert not texts_found.filter(parent_chain=None).exists()
    assert imported.nodes.filter(pruned=True).count() == tree.nodes.filter(pruned=True).count()
