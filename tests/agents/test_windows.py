"""What an agent keeps in view: results fade, are kept, are shown again, and leak nothing."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.db.models import Max
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from agents.generation_requests import assembled
from agents.next_request import next_place
from loom.access import Actor, acting_as
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.participants.provider_kinds import RESERVE
from loom.people.models import Participant, User
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node, Tree
from loom.turns.models import Turn
from loom.web_search.commands import NewService, remove_service, set_service
from loom.workspace.models import Window
from loom.workspace.queries.shown_windows import _nested, depth_in, depths_of
from loom.workspace.queries.windows import parents_of
from tests.agents.acting import asked, outcomes, step, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.queries.plans import recorded
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


class Talk:
    """Turns of one agent, each with the replies of its rounds."""

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
    return int(next(answer["number"] for answer in turn.rounds[0]["replies"] if answer["number"]))


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
    assert f"---WINDOW #{number} view {talk.node} full · result\n" in talk.sent()
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
        assert f"---WINDOW #{number} view {talk.node} full · result · keep" in talk.sent()
        assert "windows 1 (" in talk.sent()
    talk.turn(f"→ hide #{number}\n\nIt is hidden.")
    talk.turn("Yes.")
    assert "---WINDOW" not in talk.sent()
    talk.turn(f"→ show #{number}\n", "Again.")
    assert f"---WINDOW #{number} view {talk.node} full · result · keep" in talk.sent()


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
    reply = execute_line(
        actor, talk.tree, Request(f"respond {talk.node}\nOne.\n---LOOM\nThree.\n←")
    )
    pinned = reply.body["refs"][0]
    turn = talk.turn(f"→ open {pinned} keep\n", "Pinned.")
    number = Window.objects.get(kind="node").number
    assert outcomes(turn) == [(f"→ open {pinned} keep", "ok")]
    frame = f"---WINDOW #{number} [{pinned}] · lines 1-3 (3) · revision 1 · node · keep\n"
    frame += f"1  One.\n2  \\---LOOM\n3  Three.\n---WINDOW_END #{number}\n"
    assert frame in talk.sent()
    execute_line(actor, talk.tree, Request(f'edit {pinned} "Four." as:version'))
    new = execute_line(actor, talk.tree, Request(f"view {pinned}")).reply
    talk.turn("Yes.")
    current = new.rpartition("is now [")[2][:4]
    assert f"lines 1-3 (3) · revision 1 · node · keep · stale, now [{current}]" in talk.sent()
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
    context = re.search(r"Context: ([\d,]+) tokens used · ([\d,]+) available", talk.sent())
    assert context is not None
    used, free = (int(figure.replace(",", "")) for figure in context.groups())
    assert used + free == talk.agent.context_limit - RESERVE


def test_a_window_with_too_little_room_shows_its_beginning(talk: Talk, actor: Actor) -> None:
    long = " ".join(f"water{n}" for n in range(12_000))
    reply = execute_line(actor, talk.tree, Request(f"respond {talk.node}\n{long}\n←"))
    far = reply.body["refs"][0]
    talk.turn(f"→ open {far} keep\n", "Pinned.")
    assert "1  water0 water1 " in talk.sent() and "water11999" not in talk.sent()
    assert "→ view #1 part:1 reads it in parts)\n---WINDOW_END #1" in talk.sent()
    # It is read to its end by parts, each of which is sent whole.
    talk.turn("→ view #1 part:1\n", "Read.")
    parts = re.search(r"\(part 1 of (\d+) · → view #1 part:2\)", talk.sent())
    assert parts is not None and "water0 water1 " in talk.sent()
    talk.turn(f"→ view #1 part:{parts[1]}\n", "Read.")
    assert f"water11999\n(part {parts[1]} of {parts[1]})" in talk.sent()


def test_lines_of_a_long_window_say_where_they_go_on(talk: Talk, actor: Actor) -> None:
    text = "\n".join(f"line {n} " + "water " * 40 for n in range(1, 1_000))
    reply = execute_line(actor, talk.tree, Request(f"respond {talk.node}\n{text}\n←"))
    far = reply.body["refs"][0]
    talk.turn(f"→ open {far} keep\n", "Pinned.")
    match_ = re.search(
        r"\(up to line (\d+), there is no room for more: → (resize #1 lines:\d+-999)", talk.sent()
    )
    assert match_ is not None and f"{match_[1]}  line {match_[1]} " in talk.sent()
    talk.turn(f"→ {match_[2]}\n", "Read.")
    assert "---WINDOWS · changed #1\n" in talk.sent()
    assert f"{int(match_[1]) + 1}  line {int(match_[1]) + 1} " in talk.sent()


@pytest.mark.parametrize("limit", [32_000, 5_000, 4_096])
def test_a_result_beside_a_full_path_is_not_empty(talk: Talk, actor: Actor, limit: int) -> None:
    Participant.objects.filter(pk=talk.agent.pk).update(context_limit=limit)
    first = talk.node
    words = "the river " * (limit // 10)
    for _ in range(8):
        reply = execute_line(actor, talk.tree, Request(f'respond {talk.node} "{words}"'))
        talk.node = reply.body["refs"][0]
    talk.turn(f"→ view {first} full\n→ open {first}\n", "Read.")
    assert '"Who is Marie?"' in talk.sent() and "1  Who is Marie?" in talk.sent()
    # Also after many rounds: older results give way, the last one is there.
    talk.turn(*(f"→ view {first} para:{n} full\n" for n in range(1, 12)), "Read.")
    assert talk.sent().count("---RESULTS\n") == 1


def test_a_result_is_shown_whole_in_its_own_turn(talk: Talk, actor: Actor) -> None:
    text = "\n".join(f"line {n} " + "water " * 20 for n in range(1, 250))
    reply = execute_line(actor, talk.tree, Request(f"respond {talk.node}\n{text}\n←"))
    far = reply.body["refs"][0]
    talk.turn(f"→ view {far} full\n", "→ show #1 full\n", "Read.")
    assert "line 249" not in talk.sent(-2) and "tokens in all · → view #1 part:2)" in talk.sent(-2)
    assert f"---WINDOW #1 view {far} full · result\n" in talk.sent() and "line 249" in talk.sent()


def test_pinned_lines_of_an_open_text_are_the_ones_that_stay(talk: Talk, actor: Actor) -> None:
    text = "\n".join(f"line {n}" for n in range(1, 21))
    reply = execute_line(actor, talk.tree, Request(f"respond {talk.node}\n{text}\n←"))
    far = reply.body["refs"][0]
    turn = talk.turn(f"→ open {far}\n", f"→ open {far} lines:3-7 keep\n", "Pinned.")
    assert "#1 showed lines 1–20; these are kept" in step(turn, "2.1").message
    talk.turn("Yes.")
    assert "3  line 3\n" in talk.sent() and "7  line 7\n" in talk.sent()
    assert "line 8" not in talk.sent() and "lines 3-7 (5)" in talk.sent()


def test_windows_cost_as_many_queries_as_one(talk: Talk, actor: Actor) -> None:
    workspace = node_writer.workspace_of(talk.agent, talk.tree)
    member = actor

    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries_of_turn:
            assembled(next_place(member, workspace))
        return len(queries_of_turn)

    view = acting_as(actor, talk.agent)
    execute_line(view, talk.tree, Request(f"open {talk.node} keep"), workspace)
    queries()  # the first look counts what is kept afterwards
    once = queries()
    for number in range(6):
        reply = execute_line(actor, talk.tree, Request(f'respond {talk.node} "Text {number}."'))
        line = f"open {reply.body['refs'][0]} keep"
        execute_line(view, talk.tree, Request(line), workspace)
    assert queries() == once


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
    assert [window["open"] for window in body.json()["results"]] == [False, False]


def test_a_member_may_change_an_agents_windows_but_a_reader_may_not(
    talk: Talk, writer: User, reader: User, api: Callable[..., APIClient]
) -> None:
    workspace = node_writer.workspace_of(talk.agent, talk.tree)
    url = f"/api/workspaces/{workspace.uid}/commands"
    line = {"line": f"open {talk.node} keep"}
    assert api(writer).post(url, line, format="json").status_code == 200
    assert api(reader).post(url, line, format="json").status_code == 403
    talk.turn("Yes.")
    assert f"[{talk.node}] · lines 1-1 (1) · revision 1 · node · keep" in talk.sent()


class Editor:
    """Turns of an agent in a tree of buffer mode, below a text of twelve lines."""

    def __init__(self, actor: Actor, agent: Participant, provider: ScriptedProvider) -> None:
        agent.permissions = ["loom_aware", "loom_write"]
        agent.save()
        self.actor, self.agent, self.provider = actor, agent, provider
        self.tree = trees.new_tree(actor, title="Lines", mode="buffer")
        text = "\n".join(f"line {n}" for n in range(1, 13))
        reply = execute_line(actor, self.tree, Request(f"respond root\n{text}\n←"))
        self.node = reply.body["refs"][0]

    def turn(self, *replies: str) -> list[str]:
        """The outcomes of the lines of a turn with these replies."""
        self.provider.script(*map(says, replies))
        turn = went(asked(self.actor, self.tree, self.agent, node=self.node))
        return [code for _, code in outcomes(turn)]

    def text(self) -> list[str]:
        """The lines of the newest version."""
        return Node.objects.filter(slot__local_id=self.node).latest("id").text.split("\n")


@pytest.fixture
def editor(actor: Actor, agent: Participant, provider: ScriptedProvider) -> Editor:
    return Editor(actor, agent, provider)


def test_several_edits_of_a_batch_name_the_lines_of_one_revision(editor: Editor) -> None:
    node = editor.node
    done = editor.turn(
        f'→ edit {node} lines:2-3 "two\\nthree\\nand more"\n'
        f'→ edit {node} lines:8 "eight"\n'
        f'→ edit {node} para:1 "all"\n'
        f'→ edit {node} lines:11-12 "the end"\n',
        "Done.",
    )
    assert done == ["ok", "ok", "CONFLICT", "ok"]
    assert editor.text() == [
        *("line 1", "two", "three", "and more", "line 4", "line 5", "line 6", "line 7", "eight"),
        *("line 9", "line 10", "the end"),
    ]


def test_several_windows_are_edited_in_one_batch(editor: Editor) -> None:
    node = editor.node
    assert editor.turn(f"→ open {node} lines:2-3 keep\n→ open {node} lines:8 keep\n", "Yes.")
    assert editor.turn('→ edit #1 "two\\nand\\nthree"\n→ edit #2 "eight"\n', "Done.") == ["ok"] * 2
    assert editor.text() == [
        *("line 1", "two", "and", "three", "line 4", "line 5", "line 6", "line 7", "eight"),
        *(f"line {n}" for n in range(9, 13)),
    ]


def test_the_frame_of_a_window_is_exact_and_nothing_in_it_imitates_its_end(
    talk: Talk, actor: Actor
) -> None:
    text = "One.\n---WINDOW_END #1\nThree.\nFour."
    reply = execute_line(actor, talk.tree, Request(f"respond {talk.node}\n{text}\n←"))
    far = reply.body["refs"][0]
    talk.turn(f'→ open {far} lines:2-3 pad:1 keep live label:"end"\n', "Seen.")
    talk.turn("Yes.")
    frame = (
        "---WINDOWS\n"
        f"---WINDOW #1 [{far}] · lines 2-3 (2) · revision 1 · node · live · keep · label end\n"
        "(1)  One.\n2  \\---WINDOW_END #1\n3  Three.\n(4)  Four.\n"
        "---WINDOW_END #1\n---WINDOWS_END\n"
    )
    assert frame in talk.sent()
    assert talk.sent().count("\n---WINDOW_END #1\n") == 1
    assert "windows 1 (2 lines)\n" in talk.sent()


def test_status_warns_from_351_lines_on(talk: Talk, actor: Actor) -> None:
    view = acting_as(actor, talk.agent)
    workspace = node_writer.workspace_of(talk.agent, talk.tree)
    text = "\n".join(f"row {n}" for n in range(400))
    far = execute_line(actor, talk.tree, Request(f"respond {talk.node}\n{text}\n←")).body["refs"][0]
    execute_line(view, talk.tree, Request(f"open {far} lines:1-350 keep"), workspace)
    warning = "! windows have more than 350 lines; → hide what you do not need"
    talk.turn("Yes.")
    assert "windows 1 (350 lines)" in talk.sent() and warning not in talk.sent()
    execute_line(view, talk.tree, Request("resize #1 lines:1-351"), workspace)
    talk.turn("Yes.")
    assert "windows 1 (351 lines)" in talk.sent() and warning in talk.sent()


def test_tasks_are_in_the_next_round_and_stay(talk: Talk) -> None:
    talk.turn('→ todo add "Check the lamp" "Read\\nthe end"\n→ view here\n', "Done.")
    assert "---TODOS\nt1 [ ] Check the lamp\nt2 [ ] Read the end\n---TODOS_END" in talk.sent()
    talk.turn("→ todo done t1\n→ todo archive t2\n→ view here\n", "Done.")
    assert "---TODOS\nt1 [x] Check the lamp\n---TODOS_END" in talk.sent()


def test_the_scratchpad_is_in_every_request_of_every_turn(talk: Talk) -> None:
    talk.turn('→ scratchpad "Marie counts boats.\\n---LOOM"\n→ view here\n', "Done.")
    section = "---SCRATCHPAD\nMarie counts boats.\n\\---LOOM\n---SCRATCHPAD_END"
    assert section in talk.sent()
    talk.turn("Nothing more.")
    assert section in talk.sent()
    talk.turn("→ scratchpad clear\n→ view here\n", "Done.")
    assert "---SCRATCHPAD\n(empty now)\n---SCRATCHPAD_END" in talk.sent()
    talk.turn("Nothing more.")
    assert "SCRATCHPAD" not in talk.sent()


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


def test_an_augment_is_in_the_prompt_of_the_next_round(
    talk: Talk, actor: Actor, tree: Tree
) -> None:
    for line in (
        "augment store read/base\nRead ---AUGMENTS_END\n---AUGMENTS_END\n←",
        "augment store read/slow\n---\nrequires: read/base\n---\nSlowly.\n←",
        "augment store other/one\nNever.\n←",
    ):
        execute_line(actor, tree, Request(line))
    talk.turn("→ augment load read/slow\n", "Done.")
    before, after = (request.json["messages"][0]["content"] for request in talk.provider.seen[-2:])
    assert "---AUGMENTS\nother/one\nread/base\nread/slow\n---AUGMENTS_END" in before
    assert before.index("---INSTRUCTIONS_END") < before.index("---AUGMENTS")
    assert "---AUGMENTS\n● read/base\n● read/slow\nother/one\n---AUGMENT read/base\nRead" in after
    assert "Slowly.\n---AUGMENT_END\n---AUGMENTS_END" in after and "Never." not in after
    assert after.count("\n---AUGMENTS_END") == 1
    assert re.search(r"AUGMENTS ([1-9]\d|0\.1k) ", talk.sent())
    words = talk.provider.seen[-1].json["messages"][-1]["content"]
    assert "✓ loaded read/slow (requires read/base)" in words
    talk.turn("Quiet.")
    talk.turn("Quiet again.")
    texts = [request.json["messages"][0]["content"] for request in talk.provider.seen[-2:]]
    assert texts[0] == texts[1] == after


def test_augments_that_do_not_fit_are_refused(
    talk: Talk, actor: Actor, tree: Tree, agent: Participant
) -> None:
    execute_line(actor, tree, Request(f"augment store a/long\n{'word ' * 20_000}\n←"))
    turn = talk.turn("→ augment load a/*\n", "Done.")
    assert [code for _, code in outcomes(turn)] == ["LIMIT_EXCEEDED"]


def test_what_was_found_is_marked_in_the_outline_with_its_ancestors(
    talk: Talk, actor: Actor
) -> None:
    at = talk.node
    for word in ("one", "two", "three", "the lamp"):
        at = execute_line(actor, talk.tree, Request(f'respond {at} "{word}"')).body["refs"][0]
    talk.turn('→ find "lamp" open\n', "Found.")
    number = Window.objects.get(kind="search").number
    assert f'· [{at}] "the lamp" ● 1.00' in talk.sent()
    head = f'[{at}] · lines 1-1 (1) · revision 1 · search · ● 1.00 "lamp"\n1  the lamp\n'
    assert f"---WINDOW #{number} {head}" in talk.sent()
    assert not Window.objects.filter(kind="result").exists()
    talk.turn("→ find clear\n", "Yes.")
    assert "● 1.00" not in talk.sent().partition("---WINDOWS")[0]


def test_what_is_read_of_nested_windows_is_what_is_shown(
    talk: Talk, actor: Actor, agent: Participant, tree: Tree
) -> None:
    own = node_writer.workspace_of(agent, tree)

    def nested(count: int, parent: int = 0, **more: object) -> int:
        """Windows, each opened from the one before it; the number of the last."""
        for _ in range(count):
            number = (Window.objects.aggregate(last=Max("number"))["last"] or 0) + 1
            given = {"kind": "node", "parent_number": parent, "opened_at": timezone.now(), **more}
            Window.objects.create(workspace=own, number=number, **given)
            parent = number
        return parent

    turn = asked(actor, tree, agent, node=talk.node)
    first = nested(1, is_visible=True)
    hidden = nested(1, first, is_visible=False)
    last = nested(1, hidden, is_visible=True)
    for number in range(60):  # what was there before: hidden, closed, of earlier turns
        nested(3, first, is_visible=False, is_closed=number % 2 == 0, turn_uid=f"earlier{number}")
    ended = Turn(participant=agent, tree=tree, uid="earlier7", ended_at=timezone.now(), pk=-1)
    with recorded() as queries, CaptureQueriesContext(connection) as sent:
        assert depths_of([turn]) == {turn.pk: 2}
        assert depths_of([ended]) == {-1: 3}
        assert depth_in(parents_of(own, last), last) == 2
    assert len(sent) == 3
    queries.demand_no_faults()
    assert len(_nested([turn])) == 2  # the first one was opened from none
    assert len(_nested([ended])) == 2 + 3
    assert parents_of(own, last) == {last: hidden, hidden: first}
    more = Window(workspace=own, number=last + 1000, parent_number=last)
    assert depth_in(parents_of(own, more.number, [more]), more.number) == 3
    Window.objects.filter(number=hidden).update(is_closed=True)
    assert depths_of([turn]) == {turn.pk: 1}


def test_search_is_taught_where_a_service_is_set(
    actor: Actor, tree: Tree, agent: Participant
) -> None:
    agent.permissions = [*agent.permissions, "web_search"]
    agent.save()
    acting = acting_as(actor, agent)
    own = node_writer.workspace_of(agent, tree)

    def taught() -> str:
        return assembled(next_place(actor, own)).system

    before = taught()
    assert "→ search " not in before and before == taught()
    listed = execute_line(acting, tree, Request("help"), own).reply
    assert "→ search" not in listed and "→ find" in listed
    asked_of = execute_line(acting, tree, Request("help search"), own).reply
    assert "no service" in asked_of
    set_service(actor, NewService(kind="brave", api_key="key-of-the-service"))
    after = taught()
    assert "→ search " in after and after == taught()
    assert "→ search" in execute_line(acting, tree, Request("help"), own).reply
    remove_service(actor)
    assert taught() == before


def test_a_window_names_the_links_of_its_text(
    talk: Talk, actor: Actor, agent: Participant, tree: Tree
) -> None:
    def say(line: str) -> str:
        return str(execute_line(actor, tree, Request(line)).body["refs"][0])

    shown, first, two = (
        say('respond root "Shown."'),
        say('respond root "1"'),
        say('respond root "2"'),
    )
    execute_line(actor, tree, Request(f"link {shown} to {first} as:supports"))
    execute_line(actor, tree, Request(f"link {shown} to {two} as:supports"))
    execute_line(actor, tree, Request(f"link {two} to {shown} as:tests"))
    own = node_writer.workspace_of(agent, tree)
    acting = acting_as(actor, agent)
    execute_line(acting, tree, Request(f"open {shown} keep"), own)
    links = f"\n1  Shown.\n▶ [supports] ──→ 2 nodes\n▶ [tested_by] ──→ [{two}]\n---WINDOW_END"
    assert links in assembled(next_place(actor, own)).workspace
    execute_line(actor, tree, Request(f"unlink {shown} to {first} as:supports"))
    assert f"▶ [supports] ──→ [{two}]\n" in assembled(next_place(actor, own)).workspace
    reply = execute_line(acting, tree, Request("expand supports of #1"), own).reply
    assert reply.startswith(f"✓ ▼ [supports] of [{shown}] → 1 item")
    far = trees.make_tree(actor, trees.NewTree(title="Far"))
    execute_line(actor, tree, Request(f"link {shown} to tree:{far.uid} as:uses"))
    assert '▶ [uses] ──→ tree:"Far"\n' in assembled(next_place(actor, own)).workspace


def test_several_windows_are_hidden_by_lines_of_one_batch(talk: Talk, actor: Actor) -> None:
    ids = []
    for word in ("one", "two", "three"):
        reply = execute_line(actor, talk.tree, Request(f'respond {talk.node} "{word}"'))
        ids.append(reply.body["refs"][0])
    talk.turn("".join(f"→ open {uid} keep\n" for uid in ids), "Seen.")
    numbers = list(Window.objects.order_by("number").values_list("number", flat=True))
    view = Window.objects.select_related("workspace")[0].workspace
    turn = talk.turn("".join(f"→ hide #{number}\n" for number in numbers))
    assert [outcome for _, outcome in outcomes(turn)] == ["ok"] * 3
    assert not Window.objects.filter(is_visible=True).exists()
    events = Event.objects.filter(stream__name=f"workspace:{view.uid}", kind="window.changed")
    revisions = [event.payload["revision"] for event in events.order_by("seq")]
    assert len(set(revisions[-3:])) == 3
