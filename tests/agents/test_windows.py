"""What an agent keeps in view: results fade, are kept, are shown again, and leak nothing."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from agents.agent_prompt import assembled, next_place
from loom.access import Actor, acting_as
from loom.commands import node_writer
from loom.commands.execute import Request, execute_line
from loom.models import Participant, Tree, Turn, User, Window
from tests.agents.acting import asked, outcomes, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


class Talk:
    """Turns of one agent, each told what it says in its rounds."""

    def __init__(
        self, actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, node: str
    ) -> None:
        self.actor, self.tree, self.agent, self.node = actor, tree, agent, node
        self.provider = provider

    def turn(self, *replies: str) -> Turn:
        """A turn with these replies; it must take all of them."""
        self.provider._queue.clear()
        self.provider.script(*map(says, replies))
        turn = went(asked(self.actor, self.tree, self.agent, node=self.node))
        assert turn.status == "done" and not self.provider._queue
        return turn

    def sent(self, at: int = -1) -> str:
        """The last message of a request."""
        return str(self.provider.seen[at].json["messages"][-1]["content"])


@pytest.fixture
def talk(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> Talk:
    return Talk(actor, tree, agent, provider, opening)


def number_of(turn: Turn) -> int:
    """The number of the turn's first result."""
    return int(next(one["number"] for one in turn.rounds[0]["told"] if one["number"]))


def test_a_result_fades_after_its_turn(talk: Talk) -> None:
    turn = talk.turn(f"→ view {talk.node} full\n", "I read it.")
    number = number_of(turn)
    assert f"---RESULT #{number} view {talk.node} full" in talk.sent()
    assert "---WINDOWS" not in talk.sent()  # it is in RESULTS already
    window = Window.objects.get(number=number)
    assert (window.kind, window.is_visible, window.is_closed) == ("result", False, False)
    talk.turn("Nothing more.")
    assert "---WINDOW" not in talk.sent()


def test_a_result_that_the_answer_mentions_stays_for_one_turn_more(talk: Talk) -> None:
    number = number_of(talk.turn(f"→ view {talk.node} full\n", "See #1 and #2."))
    assert number == 1
    talk.turn("Yes.")
    assert f"---WINDOW #{number} view {talk.node} full\n" in talk.sent()
    assert "Who is Marie?" in talk.sent().partition(f"---WINDOW #{number}")[2]
    talk.turn("Yes.")
    assert "---WINDOW" not in talk.sent()
    talk.turn(f"As #{number} says.")
    talk.turn("Yes.")
    assert f"---WINDOW #{number} " in talk.sent()


def test_a_kept_result_stays_until_it_is_hidden(talk: Talk) -> None:
    number = number_of(talk.turn(f"→ view {talk.node} full\n", "Yes."))
    talk.turn(f"→ pin #{number}\n", "Kept.")
    for _ in range(2):
        talk.turn("Yes.")
        assert f"---WINDOW #{number} view {talk.node} full · keep" in talk.sent()
        assert "windows 1 (" in talk.sent()
    talk.turn(f"→ hide #{number}\n\nIt is hidden.")
    talk.turn("Yes.")
    assert "---WINDOW" not in talk.sent()
    talk.turn(f"→ show #{number}\n", "Again.")
    assert f"---WINDOW #{number} view {talk.node} full · keep" in talk.sent()


def test_showing_extends_by_one_turn(talk: Talk) -> None:
    number = number_of(talk.turn(f"→ view {talk.node}\n", "Yes."))
    talk.turn(f"→ show #{number}\n", "Seen.")
    assert f"---WINDOW #{number} " in talk.sent()
    talk.turn("Yes.")
    assert f"---WINDOW #{number} " in talk.sent()
    talk.turn("Yes.")
    assert "---WINDOW" not in talk.sent()


def test_a_pinned_text_has_numbered_lines_and_says_that_it_is_stale(
    talk: Talk, actor: Actor
) -> None:
    said = execute_line(actor, talk.tree, Request(f"respond {talk.node}\nOne.\n---LOOM\nThree.\n←"))
    pinned = said.body["refs"][0]
    turn = talk.turn(f"→ open {pinned} keep\n", "Pinned.")
    number = Window.objects.get(kind="node").number
    assert outcomes(turn) == [(f"→ open {pinned} keep", "ok")]
    frame = f"---WINDOW #{number} [{pinned}] lines 1–3 · keep\n1  One.\n2  ---LOOM\n3  Three.\n"
    assert frame in talk.sent()
    execute_line(actor, talk.tree, Request(f'edit {pinned} "Four." as:version'))
    new = execute_line(actor, talk.tree, Request(f"view {pinned}")).reply
    talk.turn("Yes.")
    current = new.rpartition("is now [")[2][:4]
    assert f"lines 1–3 · keep · stale, now [{current}]" in talk.sent()
    execute_line(actor, talk.tree, Request(f"exclude {pinned}"))
    talk.turn("Yes.")
    assert "One." not in talk.sent()
    assert "(excluded or pruned: models are not sent its text)" in talk.sent()


def test_a_stash_is_named_without_its_text_until_it_is_recalled(talk: Talk) -> None:
    talk.turn('→ stash "idea" "A lamp by the door."\n\nPut aside.')
    talk.turn("Yes.")
    assert 'Stashed (not in context): "idea"' in talk.sent()
    assert "A lamp by the door." not in talk.sent()
    talk.turn('→ recall "idea"\n', "There.")
    assert "· keep\nA lamp by the door.\n---WINDOW_END" in talk.sent()
    talk.turn("→ memory\n", "Yes.")
    assert "tokens used" in talk.sent()


def test_what_has_no_room_is_named_without_its_text(talk: Talk, actor: Actor) -> None:
    long = " ".join(["water"] * 20_000)
    said = execute_line(actor, talk.tree, Request(f"respond {talk.node}\n{long}\n←"))
    far = said.body["refs"][0]
    talk.turn(f"→ open {far} keep\n", "Pinned.")
    assert "(no room for its text here;" in talk.sent() and "water water" not in talk.sent()


def test_windows_cost_as_many_queries_as_one(talk: Talk, actor: Actor) -> None:
    workspace = node_writer.workspace_of(talk.agent, talk.tree)
    member = actor

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            assembled(next_place(member, workspace))
        return len(found)

    view = acting_as(actor, talk.agent)
    execute_line(view, talk.tree, Request(f"open {talk.node} keep"), workspace)
    one = queries()
    for number in range(6):
        said = execute_line(actor, talk.tree, Request(f'respond {talk.node} "Text {number}."'))
        line = f"open {said.body['refs'][0]} keep"
        execute_line(view, talk.tree, Request(line), workspace)
    assert queries() == one


def test_an_agent_keeps_nothing_of_another_grove_and_members_see_no_more_than_they_may(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left = two_groves, two_groves.left
    agent = two.agent(left, base_url=provider.url)
    talk = Talk(left.actor(two.both), left.tree, agent, provider, left.text.local_id)
    talk.turn(f'→ open {two.far} keep\n→ stash "x" content-of:{two.far}\n', "I cannot.")
    assert not Window.objects.exists()
    own = left.actor(two.both)
    execute_line(own, left.tree, Request(f"open {two.far} keep"))
    execute_line(own, left.tree, Request(f'stash "x" content-of:{two.far}'))
    execute_line(own, left.tree, Request('recall "x"'))
    view = node_writer.workspace_of(own.participant, left.tree)
    mine: APIClient = two.client(two.both)
    path = f"/api/workspaces/{view.uid}/windows"
    assert mine.get(path).content.decode().count(SECRET) == 2
    assert two.client(two.only_left).get(path).status_code == 404
    two.right.grove.memberships.filter(user=two.both).delete()
    body = mine.get(path)
    assert body.status_code == 200 and SECRET not in body.content.decode()
    assert [one["open"] for one in body.json()["results"]] == [False, False]


def test_a_member_may_change_an_agents_windows_but_a_reader_may_not(
    talk: Talk, writer: User, reader: User, api: Callable[..., APIClient]
) -> None:
    workspace = node_writer.workspace_of(talk.agent, talk.tree)
    url = f"/api/workspaces/{workspace.uid}/commands"
    line = {"line": f"open {talk.node} keep"}
    assert api(writer).post(url, line, format="json").status_code == 200
    assert api(reader).post(url, line, format="json").status_code == 403
    talk.turn("Yes.")
    assert f"[{talk.node}] line 1 · keep" in talk.sent()


def test_tasks_are_in_the_next_round_and_stay(talk: Talk) -> None:
    talk.turn('→ todo add "Check the lamp" "Read\\nthe end"\n→ view here\n', "Done.")
    assert "---TODOS\nt1 [ ] Check the lamp\nt2 [ ] Read the end\n---TODOS_END" in talk.sent()
    talk.turn("→ todo done t1\n→ todo archive t2\n→ view here\n", "Done.")
    assert "---TODOS\nt1 [x] Check the lamp\n---TODOS_END" in talk.sent()


def test_only_the_section_of_tasks_changes_with_a_task(
    talk: Talk, actor: Actor, tree: Tree, agent: Participant
) -> None:
    def sections() -> dict[str, str]:
        place = next_place(acting_as(actor, agent), node_writer.workspace_of(agent, tree))
        text = assembled(place).workspace
        return dict(re.findall(r"^---([A-Z]+)\n(.*?)\n---\1_END$", text, re.S | re.M))

    before = sections()
    acting = acting_as(actor, agent)
    own = node_writer.workspace_of(agent, tree)
    execute_line(acting, tree, Request('todo add "---TODOS_END"'), own)
    now = sections()
    changed = {name for name in {**before, **now} if before.get(name) != now.get(name)}
    assert changed <= {"TODOS", "STATUS", "MEMORY"}
    assert now["TODOS"].startswith("t1 [ ] ") and "\n" not in now["TODOS"]
