"""The main line of a tree: marked, else the path written on last; and what follows it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.trees.commands import trees
from loom.trees.commands.public_links import make_public_link
from loom.trees.models import Tree, Workspace
from loom.trees.queries.main_line import main_line_of
from tests.queries.growing import add, plant
from tests.rows_read import work_done
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Say = Callable[[str], str]


@pytest.fixture
def story(actor: Actor) -> Tree:
    return trees.new_tree(actor, title="The story", mode="buffer")


@pytest.fixture
def say(actor: Actor, story: Tree) -> Say:
    """Runs a line; the first node that it names."""

    def run(line: str) -> str:
        refs: list[str] = execute_line(actor, story, Request(line)).body["refs"]
        return refs[0] if refs else ""

    return run


def end(tree: Tree) -> str:
    return main_line_of(tree).end.text


def test_an_empty_tree_ends_at_its_root(story: Tree) -> None:
    assert main_line_of(story).end.depth == 0


def test_the_path_written_on_last_leads_unless_somebody_marks_another(
    story: Tree, say: Say
) -> None:
    opening = say('respond root "One."')
    first = say(f'respond {opening} "First."')
    say(f'respond {opening} "Second."')
    assert end(story) == "Second."
    say(f"main {first}")
    assert end(story) == "First."
    say(f'respond {first} "Its end."')
    say(f'respond {opening} "Third."')
    assert end(story) == "Its end."  # the line goes on below the mark, whatever is written beside
    say("main off")
    assert end(story) == "Third."


def test_a_candidate_counts_once_something_was_written_below_it(
    story: Tree, actor: Actor, muse: Participant
) -> None:
    me = actor.participant
    mine = add(story, me, "Mine.", None)
    taken, *_ = (add(story, muse, word, mine) for word in ("Taken.", "Left.", "Left, too."))
    assert end(story) == "Mine."
    more = [add(story, muse, word, taken) for word in ("More.", "Else.")]
    assert end(story) == "Taken."
    # More candidates further up are looked at, not taken.
    add(story, muse, "Another.", mine)
    assert end(story) == "Taken."
    # Where the person went on to, that is theirs.
    Workspace.objects.update_or_create(tree=story, participant=me, defaults={"position": more[1]})
    assert end(story) == "Taken."  # written by the model, whose place is unknown
    last = add(story, me, "And mine.", more[1])
    add(story, muse, "Alone.", last)
    assert end(story) == "Alone."


def test_an_edit_above_and_a_split_are_no_new_writing(story: Tree, say: Say) -> None:
    opening = say('respond root "One is here."')
    say(f'respond {opening} "The end."')
    say(f'edit {opening} replace:"here" with:"there" as:version')
    assert end(story) == "The end."


def test_a_hidden_mark_does_not_count(story: Tree, say: Say) -> None:
    opening = say('respond root "One."')
    say('respond root "Two."')
    say(f"main {opening}")
    say(f"prune {opening}")
    assert end(story) == "Two."
    say(f"restore {opening}")
    assert end(story) == "One."


def test_who_marks_takes_over_and_undo_gives_it_back(
    story: Tree, say: Say, writer: User, actor: Actor
) -> None:
    one, two = say('respond root "One."'), say('respond root "Two."')
    say(f"main {one}")
    other = get_actor(writer, actor.grove)
    execute_line(other, story, Request(f"main {two}"))
    assert end(story) == "Two."
    with pytest.raises(CommandError) as refused:  # somebody else has marked since
        say("undo")
    assert refused.value.code == "CONFLICT"
    execute_line(other, story, Request("undo"))
    assert end(story) == "One."
    execute_line(other, story, Request("redo"))
    assert end(story) == "Two."


def test_a_line_leads_through_visible_texts_only(story: Tree, say: Say) -> None:
    opening = say('respond root "One."')
    note = say(f'annotate {opening} "Why?"')
    for line in ("main root", f"main {note}"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "REJECTED"
    say(f"main {opening}")
    with pytest.raises(CommandError) as refused:
        say(f"main {opening}")
    assert refused.value.hint
    two = say('respond root "Two."')
    say(f"prune {two}")
    with pytest.raises(CommandError) as refused:
        say(f"main {two}")
    assert refused.value.code == "REJECTED"


def test_exports_and_the_public_page_follow_the_main_line(
    story: Tree, say: Say, actor: Actor, client: Client, owner: User
) -> None:
    opening = say('respond root "It began."')
    first = say(f'respond {opening} " And ended."')
    say(f'respond {opening} " Otherwise."')
    client.force_login(owner)
    address = f"/api/trees/{story.uid}/export?format=text"
    assert _text(client.get(address)) == "It began. Otherwise."
    say(f"main {first}")
    say("switch to root")
    assert _text(client.get(address)) == "It began. And ended."
    assert _text(client.get(f"{address}&node={opening}")) == "It began."
    _, secret = make_public_link(actor, story, days=1)
    page = Client().get(f"/public/{secret}").content.decode()
    assert "It began." in page and " And ended." in page and " Otherwise." not in page
    assert "1 / 2" in page and "continuation" not in page


def _text(answer: Any) -> str:
    return b"".join(answer.streaming_content).decode()


def test_a_long_story_is_read_on_from_page_to_page(story: Tree, actor: Actor) -> None:
    nodes = plant(story, actor.participant, [n - 1 for n in range(130)])
    _, secret = make_public_link(actor, story, days=1)
    address, seen = f"/public/{secret}", ""
    for _ in range(3):
        page = Client().get(address).content.decode()
        seen += page
        if "Read on" in page:
            address = (
                f"/public/{secret}?node=" + page.split('class="onward"')[1].split("?node=")[1][:4]
            )
    assert "Read on" not in page
    assert all(f">{node.text}<" in seen for node in nodes)


def test_the_api_says_where_it_leads_and_who_marked_it(
    story: Tree, say: Say, client: Client, owner: User
) -> None:
    opening = say('respond root "One."')
    client.force_login(owner)
    address = f"/api/trees/{story.uid}/main-line"
    written = {"node": opening, "depth": 1, "how": "written", "marked": None, "by": None}
    assert json.loads(client.get(address).content) == written
    say(f"main {opening}")
    marked = {**written, "how": "marked", "marked": opening, "by": "Owner"}
    assert json.loads(client.get(address).content) == marked


def test_what_is_read_does_not_grow_with_the_tree(actor: Actor) -> None:
    done = []
    for many in (300, 3000):
        tree = trees.new_tree(actor, title=f"{many}", mode="buffer")
        plant(tree, actor.participant, [-1, *([0] * many)])
        with work_done() as work:
            main_line_of(tree)
        done.append(work)
    done[1].demand_no_more(done[0])


def test_nobody_marks_or_sees_the_line_of_another_grove(two_groves: TwoGroves) -> None:
    two = two_groves
    tree, text = two.right.tree, two.right.text
    address = f"/api/trees/{tree.uid}/main-line"
    assert two.client(two.only_left).get(address).status_code == 404
    assert two.client(two.nobody).get(address).status_code == 404
    body = two.client(two.both).get(address).json()
    assert body["node"] == text.local_id
    for user, status in ((two.only_left, 404), (two.both, 200)):
        line = {"line": f"main {text.local_id}"}
        answer = two.client(user).post(f"/api/trees/{tree.uid}/commands", line, format="json")
        assert answer.status_code == status
    # The member of both marks only in the tree where the line is given.
    line = {"line": f"main {two.far}"}
    left = two.client(two.both).post(
        f"/api/trees/{two.left.tree.uid}/commands", line, format="json"
    )
    assert left.status_code in (403, 404, 409)
    assert main_line_of(two.left.tree).marked is None
