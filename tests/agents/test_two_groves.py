"""Nothing of one grove reaches a model, a call or a member of another one that shares a member."""

import json

import pytest

from agents.generation_requests import assembled, order_of
from agents.next_request import next_place
from loom.access import acting_as
from loom.documents.actions import make_document
from loom.engine import steps
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.errors import CommandError
from loom.people.models import Participant, User
from loom.permissions import Permission
from loom.site.display import cast_of
from loom.trees.commands import node_writer, trees
from loom.trees.models import Tree, Workspace
from loom.trees.named_items import touched
from loom.turns import access as turn_access
from loom.turns.models import Generation
from loom.turns.pages.turns import drawable
from tests.agents.acting import asked, outcomes, went
from tests.agents.conftest import run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.two_groves import PLAIN, SECRET, TITLE, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


def _asks(two: TwoGroves, user: User, line: str) -> Generation:
    answer = execute_line(two.left.actor(user), two.left.tree, Request(line))
    return Generation.objects.get(uid=answer.body["generations"][0])


def _subject(two: TwoGroves, provider: ScriptedProvider) -> Participant:
    return two.agent(two.left, name="Echo", permissions=[], base_url=provider.url)


@pytest.mark.parametrize("role", ["context", "instruction"])
@pytest.mark.parametrize("asker", ["both", "only_left"])
def test_a_source_in_another_grove_is_in_no_request_whoever_asks(
    two_groves: TwoGroves, provider: ScriptedProvider, role: str, asker: str
) -> None:
    two, left = two_groves, two_groves.left
    _subject(two, provider)
    reply = left.run(two.both, f'respond {left.text.local_id} "Go on." from:{two.far} as:{role}')
    local_id = reply.split("[")[1][:4]
    provider.script(says("She does."))
    ran = run(_asks(two, getattr(two, asker), f"continue from {local_id}"))
    assert ran.finish == "complete" and ran.call is not None
    assert SECRET not in provider.seen[0].body.decode()
    assert SECRET not in json.dumps(ran.call.request)
    answer = two.client(two.only_left).get(f"/api/calls/{ran.call.uid}").content.decode()
    assert SECRET not in answer and PLAIN in answer


def test_a_source_of_the_own_grove_is_sent_but_not_below_what_is_pruned_there(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left = two_groves, two_groves.left
    _subject(two, provider)
    actor = left.actor(two.only_left)
    other = trees.new_tree(actor, title="Beside")
    above = execute_line(actor, other, Request('respond root "An old owl."')).body["refs"][0]
    below = execute_line(actor, other, Request(f'respond {above} "It hoots."')).body["refs"][0]
    far = f"tree:{other.uid} node:{below}"
    left.run(two.only_left, f'respond {left.text.local_id} "Go on." from:{far}')
    sent = order_of(_asks(two, two.only_left, "continue")).ask.messages
    assert "It hoots." in json.dumps(sent)
    for line in (f"exclude {below}", f"prune {below}", f"prune {above}"):
        taken = execute_line(actor, other, Request(line)).body["step"]
        sent = order_of(_asks(two, two.only_left, "continue")).ask.messages
        assert "It hoots." not in json.dumps(sent), line
        execute_line(actor, other, Request(f"undo step:{taken}"))
    sent = order_of(_asks(two, two.only_left, "continue")).ask.messages
    assert "It hoots." in json.dumps(sent)


def test_an_agent_reads_no_other_grove_whoever_invites_it(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left, right = two_groves, two_groves.left, two_groves.right
    agent = two.agent(left, base_url=provider.url)
    lines = [
        f"view {two.far}",
        f"view tree:{right.tree.uid}",
        f'view tree:"{TITLE}"',
        f"tree from tree:{right.tree.uid}",
        f'find "kestrel" in:tree:{right.tree.uid}',
        f"switch to tree:{right.tree.uid}",
        f"view {right.text.local_id}",
        'find "kestrel" in:grove',
    ]
    provider.default = says("Done.")
    for line in lines:
        provider.script(says(f"→ {line}\n"))
        turn = went(asked(left.actor(two.both), left.tree, agent, node=left.text.local_id))
        ((_, outcome),) = outcomes(turn)
        assert outcome == ("ok" if line.endswith("in:grove") else "NOT_FOUND"), line
    sent = "".join(json.dumps(request.json, ensure_ascii=False) for request in provider.seen)
    assert SECRET not in sent and f'tree:\\"{TITLE}\\" (' not in sent
    told = "".join(f"{step.message} {step.hint}" for step in Step.objects.all())
    assert SECRET not in told and f'in tree:"{TITLE}"' not in told


def test_a_member_of_both_reaches_the_other_grove_and_of_one_does_not(
    two_groves: TwoGroves,
) -> None:
    two = two_groves
    assert SECRET in two.left.run(two.both, f"view {two.far} full")
    for line in (f"view {two.far}", f'view tree:"{TITLE}"', f"view {two.right.text.local_id}"):
        with pytest.raises(CommandError) as refused:
            two.left.run(two.only_left, line)
        assert refused.value.code == "NOT_FOUND"
        assert TITLE not in f"{refused.value.hint}" and SECRET not in refused.value.reply
    for user in (two.only_right, two.nobody):
        path = two.client(user).get(f"/api/trees/{two.left.tree.uid}/path")
        assert path.status_code == 404


def test_an_agent_is_not_told_the_title_of_a_tree_elsewhere(two_groves: TwoGroves) -> None:
    two, left = two_groves, two_groves.left
    actor = acting_as(left.actor(two.both), two.agent(left))
    with pytest.raises(CommandError) as refused:
        execute_line(actor, left.tree, Request(f"view {two.right.text.local_id}"))
    assert (refused.value.code, TITLE in refused.value.hint) == ("NOT_FOUND", False)


def test_links_to_another_grove_are_not_shown_to_an_agent(two_groves: TwoGroves) -> None:
    two, left = two_groves, two_groves.left
    here = left.text.local_id
    left.run(two.both, f"link {here} to {two.far} as:supports")
    assert SECRET in left.run(two.both, f"list {here} links")
    actor = acting_as(left.actor(two.both), two.agent(left))
    reply = execute_line(actor, left.tree, Request(f"list {here} links")).body["reply"]
    assert SECRET not in str(reply) and "no links" in str(reply)
    assert "1 link" not in str(
        execute_line(actor, left.tree, Request(f"view {here}")).body["reply"]
    )


def test_a_document_names_no_end_of_its_links_in_another_grove(two_groves: TwoGroves) -> None:
    two, left = two_groves, two_groves.left
    make_document(left.actor(two.both), title="Plan", text="Ours.")
    left.run(two.both, f'link doc:"Plan" to {two.far}')
    asks = Request('list doc:"Plan" links')
    assert SECRET in execute_line(left.actor(two.both), left.tree, asks).reply
    agent = two.agent(left, permissions=[*Permission])
    for who in (left.actor(two.only_left), acting_as(left.actor(two.both), agent)):
        reply = execute_line(who, left.tree, asks).reply
        assert SECRET not in reply and TITLE not in reply and two.right.text.local_id not in reply


def test_a_window_names_no_document_that_its_agent_may_not_read_any_more(
    two_groves: TwoGroves,
) -> None:
    two, left = two_groves, two_groves.left
    make_document(left.actor(two.both), title="Kingfisher", text="Ours.")
    agent = two.agent(left, permissions=[*Permission])
    actor = acting_as(left.actor(two.both), agent)
    opened = execute_line(actor, left.tree, Request('open doc:"Kingfisher"'))
    number = opened.body["step"]
    assert "Kingfisher" in execute_line(actor, left.tree, Request(f"keep #{number}")).reply
    agent.permissions = [
        permission for permission in Permission if permission != Permission.READ_DOCUMENTS
    ]
    agent.save()
    for verb in ("keep", "open", "hide", "show", "refresh"):
        actor = acting_as(left.actor(two.both), agent)
        try:
            reply = execute_line(actor, left.tree, Request(f"{verb} #{number}")).reply
        except CommandError as refused:
            reply = f"{refused.message} {refused.hint}"
        assert "Kingfisher" not in reply and "Ours." not in reply, verb


def test_a_source_elsewhere_is_neither_listed_nor_counted(two_groves: TwoGroves) -> None:
    two, left = two_groves, two_groves.left
    reply = left.run(two.both, f'respond {left.text.local_id} "Go on." from:{two.far}')
    local_id = reply.split("[")[1][:4]
    assert SECRET in left.run(two.both, f"list {local_id} sources")
    agent = acting_as(left.actor(two.both), two.agent(left))
    for who in (left.actor(two.only_left), agent):
        listed = execute_line(who, left.tree, Request(f"list {local_id} sources")).reply
        assert SECRET not in listed and two.right.tree.uid not in listed
        seen = execute_line(who, left.tree, Request(f"view {local_id}")).reply
        assert "1 source" in left.run(two.both, f"view {local_id}") and " source" not in seen
    right = execute_line(
        two.right.actor(two.only_right), two.right.tree, Request(f"list {two.far} merges")
    )
    assert local_id not in right.reply and "Go on." not in right.reply


def test_a_link_to_another_grove_is_neither_counted_nor_followed(two_groves: TwoGroves) -> None:
    two, left = two_groves, two_groves.left
    here, there = left.text.local_id, two.right.tree.uid
    left.run(two.both, f"link {here} to {two.far} as:supports")
    at = f"/api/trees/{left.tree.uid}/nodes/{here}"
    for user, many in ((two.both, 1), (two.only_left, 0)):
        client = two.client(user)
        assert client.get(at).json()["counts"]["links"] == many
        graph = client.get(f"{at}/graph?types=supports&depth=3")
        portals = client.get(f"/trees/{left.tree.uid}/nodes/{here}/portals")
        assert (there in graph.content.decode()) == bool(many)
        assert ("supports" in portals.content.decode()) == bool(many)
        links = client.get(f"/api/links?tree={left.tree.uid}&node={here}")
        assert (there in links.content.decode()) == bool(many)
        drawn = left.run(user, f"graph {here} types:supports")
        assert (two.right.text.local_id in drawn) == bool(many)


def test_a_position_in_another_tree_asks_for_cross_tree(two_groves: TwoGroves) -> None:
    two, left = two_groves, two_groves.left
    actor = left.actor(two.only_left)
    other = trees.new_tree(actor, title="Beside")
    ref = execute_line(actor, other, Request('respond root "An old owl."')).body["refs"][0]
    agent = two.agent(left, permissions=["loom_aware"])
    view = node_writer.workspace_of(agent, left.tree)
    Workspace.objects.filter(pk=view.pk).update(position=other.nodes.get(local_id=ref))
    view = node_writer.workspace_of(agent, left.tree)
    assert "An old owl." not in json.dumps(assembled(next_place(actor, view)).bodies)
    acting = acting_as(actor, agent)
    assert "owl" not in execute_line(acting, left.tree, Request("view here full")).reply
    agent.permissions = ["loom_aware", "cross_tree"]
    agent.save()
    view = node_writer.workspace_of(agent, left.tree)
    assert "An old owl." in json.dumps(assembled(next_place(actor, view)).bodies)


def test_a_position_in_a_tree_that_may_not_be_read_any_more_shows_nothing(
    two_groves: TwoGroves,
) -> None:
    two, left = two_groves, two_groves.left
    agent = two.agent(left)
    for whose in (agent, left.actor(two.both).participant):
        view = node_writer.workspace_of(whose, left.tree)
        Workspace.objects.filter(pk=view.pk).update(position=two.right.text)
    view = node_writer.workspace_of(agent, left.tree)
    sent = assembled(next_place(left.actor(two.both), view))
    assert SECRET not in json.dumps(sent.bodies)
    got = two.client(two.only_left).get(f"/api/workspaces/{view.uid}/context")
    assert got.status_code == 200 and SECRET not in got.content.decode()
    two.right.grove.memberships.filter(user=two.both).delete()
    assert SECRET not in left.run(two.both, "view here full")


def test_steps_and_context_of_an_agent_are_guarded_as_calls_are(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left = two_groves, two_groves.left
    agent = two.agent(left, base_url=provider.url)
    provider.script(says("→ view here\n"), says("Done."))
    turn = went(asked(left.actor(two.both), left.tree, agent, node=left.text.local_id))
    # As a step of an older Heddle, in which an agent reached whatever its inviter did.
    Step.objects.filter(turn_uid=turn.uid).update(message=SECRET, line=f"view {two.far}")
    for step in Step.objects.filter(turn_uid=turn.uid):
        step.touched.all().delete()
        steps.touch(step, touched(two.right.text))
    view = node_writer.workspace_of(agent, left.tree)
    page = f"/trees/{left.tree.uid}?node={left.text.local_id}"
    for where in (f"workspace={view.uid}", f"turn={turn.uid}"):
        got = two.client(two.only_left).get(f"/api/steps?{where}").json()["results"]
        assert [step["open"] for step in got] == [False]
        assert SECRET not in json.dumps(got) and two.right.tree.uid not in json.dumps(got)
        got = two.client(two.both).get(f"/api/steps?{where}").json()["results"]
        assert SECRET in json.dumps(got)
    turns = page.replace("?", "/turns?")
    for shown in (page, turns, f"/trees/{left.tree.uid}/turns/{turn.uid}/calls"):
        assert SECRET not in two.client(two.only_left).get(shown).content.decode()
    assert SECRET in two.client(two.both).get(turns).content.decode()
    drawn = drawable([turn.uid], left.tree.uid).elements(cast_of(left.actor(two.both)))
    assert drawn == {turn.uid: ""}
    call = turn.calls.last()
    assert call is not None
    assert not turn_access.may_read_call(left.actor(two.only_left), call)
    assert turn_access.may_read_call(left.actor(two.both), call)


def test_searching_a_grove_asks_for_cross_tree(two_groves: TwoGroves) -> None:
    two, left = two_groves, two_groves.left
    agent = two.agent(left, permissions=["loom_aware"])
    actor = acting_as(left.actor(two.both), agent)
    with pytest.raises(CommandError) as refused:
        execute_line(actor, left.tree, Request('find "keeps" in:grove'))
    assert refused.value.code == "PERMISSION_DENIED"
    assert "cross_tree" in refused.value.message
    assert "1 hit" in left.run(two.only_left, 'find "keeps" in:grove')


def test_searching_and_listing_hold_nothing_of_the_other_grove(two_groves: TwoGroves) -> None:
    two = two_groves
    client = two.client(two.only_left)
    answer = client.get(f"/api/groves/{two.left.grove.uid}/search?q=kestrel").content.decode()
    assert SECRET not in answer and TITLE not in answer
    assert TITLE not in client.get("/api/trees").content.decode()
    assert client.get(f"/api/groves/{two.right.grove.uid}/search?q=kestrel").status_code == 404
    assert Tree.objects.count() == 2
