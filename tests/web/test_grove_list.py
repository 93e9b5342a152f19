"""The list of a grove's trees: their tags, and who has them open now."""

import pytest
from django.core.cache import cache

from loom.access import Actor
from loom.engine import presence
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Stream
from loom.people.models import Grove, Participant, User
from loom.trees.models import Tree
from tests.web.conftest import Visitor


def listed(visitor: Visitor, user: User, query: str = "") -> str:
    """The list as somebody sees it."""
    answer = visitor(user).get(f"/{query}")
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_tags_of_trees_are_shown_and_narrow_the_list(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    other = Tree.objects.create(
        grove=tree.grove, title="Quite another", mode="dialogue", maker=actor.participant
    )
    execute_line(actor, tree, Request(line=f'tag tree:{tree.uid} #study #"two words"'))
    page = listed(visitor, owner)
    assert "#study" in page and "#two words" in page and other.title in page
    page = listed(visitor, owner, "?tag=STUDY")
    assert tree.uid in page
    assert other.title not in page
    assert "No tree has this tag" in listed(visitor, owner, "?tag=nothing")


def test_tags_are_given_and_taken_on_the_page_of_the_tree(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    awkward = 'study, #two words, say "so"'
    assert client.post(f"/trees/{tree.uid}/about/tags", {"tags": awkward}).status_code == 302
    page = client.get(f"/trees/{tree.uid}/about").content.decode()
    assert 'value="say &quot;so&quot;, study, two words"' in page
    client.post(f"/trees/{tree.uid}/about/tags", {"tags": "Study, draft"})
    page = client.get(f"/trees/{tree.uid}/about").content.decode()
    assert 'value="draft, study"' in page


def test_whoever_has_a_tree_open_is_shown_but_not_oneself(
    owner: User, actor: Actor, tree: Tree, writer: User, visitor: Visitor
) -> None:
    uid = Participant.objects.get(user=writer).uid
    presence.renew("web")
    here = dict.fromkeys((actor.participant.uid, uid, "nobodyknown"), ("a2b2", "web"))
    presence.report(f"tree:{tree.uid}", here)
    assert "Here now: Writer</span>" in " ".join(listed(visitor, owner).split())
    part = visitor(owner).get(f"/groves/{tree.grove.uid}/rows").content.decode()
    assert f'id="here-{tree.uid}"' in part and "Writer is here now" in part
    assert "Owner" not in part
    presence.report(f"tree:{tree.uid}", {})
    assert "is here now" not in listed(visitor, owner)


def test_the_rows_are_those_of_the_page_with_tags(
    owner: User, tree: Tree, visitor: Visitor
) -> None:
    client = visitor(owner)
    client.post(f"/trees/{tree.uid}/about/tags", {"tags": "study"})
    part = client.get(f"/groves/{tree.grove.uid}/rows").content.decode()
    assert "#study" in part
    assert part.strip() in listed(visitor, owner)


def test_a_row_shows_how_the_tree_begins_now(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    for line in (
        'respond "It rained." node:root',
        'edit here "It snowed." as:version',
        "prune here",
    ):
        execute_line(actor, tree, Request(line=line))
        page = listed(visitor, owner)
        assert ("It rained." in page) == line.startswith("respond")
        assert ("It snowed." in page) == line.startswith("edit")


def test_a_row_says_how_many_words_a_tree_has_and_reads_no_more_for_a_longer_one(
    owner: User, actor: Actor, tree: Tree, visitor: Visitor
) -> None:
    for line, words in (
        ('respond "It rained." node:root', "2 words"),
        ('respond "And then it snowed." here', "6 words"),
        ('edit here "And then it snowed for a week." as:version', "9 words"),
        ('annotate here "A note is none of them."', "9 words"),
    ):
        execute_line(actor, tree, Request(line=line))
        assert words in listed(visitor, owner)
    kept = Stream.objects.filter(name=f"tree:{tree.uid}")
    assert list(kept.values_list("words", flat=True)) == [9]
    kept.update(words=1_234_567)
    assert "1,234,567 words" in listed(visitor, owner)
    kept.update(words=None)  # of a build that did not count
    assert "words</span>" not in listed(visitor, owner)
    execute_line(actor, tree, Request(line='respond "More." node:root'))
    assert list(kept.values_list("words", flat=True)) == [None]


def test_an_outsider_sees_nobody(tree: Tree, outsider: User, visitor: Visitor) -> None:
    assert visitor(outsider).get(f"/groves/{tree.grove.uid}/rows").status_code == 404


def test_the_list_is_there_without_the_broker(
    owner: User, tree: Tree, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise ConnectionError("no broker")

    monkeypatch.setattr(cache, "get_many", down, raising=False)
    monkeypatch.setattr(cache, "set", down, raising=False)
    presence.report(f"tree:{tree.uid}", {"one": ("a2b2", "web")})
    assert tree.title in listed(visitor, owner)


def test_an_outsider_may_not_tag(tree: Tree, outsider: User, visitor: Visitor) -> None:
    answer = visitor(outsider).post(f"/trees/{tree.uid}/about/tags", {"tags": "mine"})
    assert answer.status_code == 404


def test_tags_are_renamed_coloured_and_removed_on_their_page(
    owner: User, reader: User, actor: Actor, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    execute_line(actor, tree, Request(f"tag tree:{tree.uid} #draft"))
    client, at = visitor(owner), f"/groves/{grove.uid}/tags"
    client.post(at, {"tag": "draft", "name": "first draft", "colour": "teal"})
    page = client.get(at).content.decode()
    assert "#first draft" in page
    assert "<summary>Remove everywhere…" in page and "cannot be undone" in page
    assert "#first draft" in client.get(f"/trees/{tree.uid}").content.decode()
    assert '<option value="teal" selected>' in page
    assert "Remove everywhere" not in visitor(reader).get(at).content.decode()
    assert visitor(reader).post(at, {"tag": "first draft", "name": "x"}).status_code == 302
    assert "#first draft" in client.get(at).content.decode()
    client.post(at, {"tag": "first draft", "remove": "1"})
    assert "No tags yet" in client.get(at).content.decode()


def test_a_tag_that_is_renamed_to_another_says_that_they_were_merged(
    owner: User, actor: Actor, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    execute_line(actor, tree, Request(f"tag tree:{tree.uid} #draft #study"))
    client, at = visitor(owner), f"/groves/{grove.uid}/tags"
    page = client.post(at, {"tag": "draft", "name": "Draft"}, follow=True).content.decode()
    assert "Saved." in page and "have been merged" not in page
    page = client.post(at, {"tag": "Draft", "name": "#Study"}, follow=True).content.decode()
    assert "The tags #Draft and #Study have been merged." in page and "#Draft</a>" not in page


def test_a_search_is_kept_by_name_and_its_results_have_pages(
    owner: User, writer: User, actor: Actor, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    for n in range(31):
        execute_line(actor, tree, Request(f'respond root "needle {n}"'))
    client, at = visitor(owner), f"/groves/{grove.uid}"
    first = client.get(at, {"q": "needle"}).content.decode()
    assert "More results" in first
    rest = client.get(at, {"q": "needle", "from": "30"}).content.decode()
    assert rest.count('class="tree-row"') == 1
    assert "More results" not in rest
    client.post(f"{at}/searches", {"q": "needle", "sort": "newest", "name": "All needles"})
    assert "All needles" in client.get(at).content.decode()
    assert "All needles" not in visitor(writer).get(at).content.decode()
