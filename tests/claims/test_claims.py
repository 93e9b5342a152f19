"""Claims from hypothesis to commitment: each refusal in its words, and who sees what."""

import pytest
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.claims.models import Cite, Claim, Commitment
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.models import Grove, Participant, User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.claims.conftest import Declare, refused
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


@pytest.fixture
def texts(say: Say, write: Say) -> list[str]:
    """Texts that a claim can rest on."""
    return [str(write(f"the lamp is lit, says witness {n}")) for n in range(12)]


@pytest.fixture
def lit(declare: Declare) -> None:
    """A check that the texts pass."""
    declare("contains", name="lit", text="lamp")


def _claim(say: Say, text: str, more: str = "", by: User | None = None) -> str:
    return str(say(f'claim "The lamp is lit" {more} cite:{text}', by=by).body["refs"][0])


def _state(claim: str) -> str:
    return Claim.objects.get(node__local_id=claim).state


def test_a_claim_goes_from_hypothesis_to_commitment(
    say: Say, texts: list[str], lit: None, writer: User
) -> None:
    opened = say(f'claim "The lamp is lit" cite:{texts[0]}', by=writer)
    claim = opened.body["refs"][0]
    assert opened.reply == (
        f"✓ claim [{claim}] hypothesis\n  evidence: moderate, verified\n"
        "  moderate: have 1, need 3 evidence that counts"
    )
    for text in texts[1:4]:
        reply = say(f"cite {text} for {claim}", by=writer).reply
    assert reply.startswith("✓ evidence: moderate, verified")
    tested = say(f"check {claim}", by=writer).reply
    assert tested.startswith(f"✓ [{claim}] testing: 4 strong, 0 moderate, 0 weak")
    assert "✓ 4 passed" in tested
    assert say(f'conclude {claim} "It is lit."', by=writer).reply.startswith(f"✓ [{claim}] concl")
    assert say(f"commit {claim}", by=writer, dry_run=True).reply == "✓ CAN_COMMIT at moderate"
    assert _state(claim) == "concluding"
    reply = say(f"commit {claim}", by=writer).reply
    assert reply.startswith("✓ committed at moderate: 4 evidence, 4 strong")
    row = Commitment.objects.get()
    assert row.record["statement"] == "The lamp is lit" and len(row.record["evidence"]) == 4
    kinds = Event.objects.filter(stream__name__startswith="tree:").values_list("kind", flat=True)
    assert {"claim.changed", "commitment.added", "link.added", "check.changed"} <= set(kinds)


def test_opening_needs_a_citation(say: Say) -> None:
    why = refused(say, 'claim "The lamp is lit"')
    assert (why.code, why.message) == ("REJECTED", "Need evidence for hypothesis.")
    assert not Claim.objects.exists()


def test_testing_needs_a_test_or_a_check(say: Say, texts: list[str]) -> None:
    claim = _claim(say, texts[0])
    why = refused(say, f"check {claim}")
    assert (why.code, why.message) == ("REJECTED", "Hypothesis not testable.")
    assert _state(claim) == "hypothesis"
    other = str(say(f'claim "It burns" test:"look" cite:{texts[0]}').body["refs"][0])
    assert say(f"check {other}").reply.startswith(f"✓ [{other}] testing")


def test_concluding_needs_the_moderate_level_and_the_right_state(
    say: Say, texts: list[str], writer: User
) -> None:
    claim = _claim(say, texts[0], 'test:"look"', by=writer)
    assert refused(say, f'conclude {claim} "so"', by=writer).message.startswith(
        "Invalid transition"
    )
    say(f"check {claim}", by=writer)
    why = refused(say, f'conclude {claim} "so"', by=writer)
    assert (why.code, why.message) == ("REJECTED", "Insufficient evidence.")
    assert why.hint == "moderate: have 1, need 3 evidence that counts"
    assert _state(claim) == "testing"


def test_a_tested_claim_is_committed_as_tentative_and_raised_after_its_conclusion(
    say: Say, texts: list[str], writer: User, owner: User, tree: Tree
) -> None:
    """One weak piece of evidence is enough; nothing above it comes without a conclusion."""
    own = str(say('respond root "The lamp is lit, I say"', by=writer).body["refs"][0])
    claim = _claim(say, own, 'test:"look"', by=writer)
    say(f"check {claim}", by=writer)
    client = APIClient()
    client.force_login(writer)
    address = f"/api/claims/{claim}?tree={tree.uid}"
    assert "commit" in client.get(address).json()["allowed"]
    line = f"commit {claim} level:tentative"
    assert say(line, by=writer, dry_run=True).reply == "✓ CAN_COMMIT at tentative"
    reply = say(line, by=writer).reply
    assert reply.startswith("✓ committed at tentative: 1 evidence, 0 strong")
    assert _state(claim) == "committed" and Commitment.objects.get().level == "tentative"
    assert refused(say, line, by=writer).message.endswith("committed at tentative already.")
    body = client.get(address).json()
    assert "conclude" in body["allowed"] and body["next"] == "moderate"
    assert refused(say, f'conclude {claim} "so"', by=writer).message == "Insufficient evidence."
    for text in texts[:3]:
        say(f"cite {text} for {claim}", by=writer)
    say(f"cite {texts[0]} for {claim}")  # a person confirms
    assert "is not concluded" in refused(say, f"commit {claim}", by=writer).message
    reply = say(f'conclude {claim} "It is lit."', by=writer).reply
    assert reply.startswith(f"✓ [{claim}] concluded") and _state(claim) == "committed"
    assert say(f"commit {claim}", by=writer).reply.startswith("✓ committed at moderate")
    assert "conclude" not in client.get(address).json()["allowed"]
    held = Commitment.objects.order_by("pk").values_list("level", flat=True)
    assert list(held) == ["tentative", "moderate"]


def test_what_was_taken_back_or_only_weak_is_no_more_than_tentative(
    say: Say, texts: list[str], writer: User
) -> None:
    claim = _claim(say, texts[0], 'test:"look"', by=writer)
    say(f"cite {texts[1]} for {claim}", by=writer)
    say(f"check {claim}", by=writer)
    assert refused(say, f"commit {claim}", by=writer).code == "INSUFFICIENT_QUANTITY"
    assert say(f"commit {claim} level:tentative", by=writer).reply.startswith("✓ committed at ten")


def test_a_commit_names_what_is_missing_in_order(
    say: Say, texts: list[str], lit: None, declare: Declare, agent_says: Say
) -> None:
    claim = _claim(agent_says, texts[0], "scope:tree")
    agent_says(f"cite {texts[1]} for {claim}")
    why = refused(agent_says, f"commit {claim}")
    assert (why.code, why.message) == (
        "INSUFFICIENT_QUANTITY",
        "moderate: have 2, need 3 evidence that counts.",
    )
    for text in texts[2:5]:
        agent_says(f"cite {text} for {claim}")
    why = refused(agent_says, f"commit {claim}")
    assert (why.code, why.message) == (
        "INSUFFICIENT_QUALITY",
        "moderate: have 0, need 1 strong evidence.",
    )
    agent_says(f"check {claim}")
    agent_says(f'conclude {claim} "It is lit."')
    agent_says(f'cite {texts[6]} against {claim} "it smokes"')
    why = refused(agent_says, f"commit {claim} level:strong")
    assert why.code == "UNADDRESSED_COUNTEREVIDENCE" and "it smokes" in why.hint
    agent_says(f'address {texts[6]} in {claim} "only at first"')
    why = refused(agent_says, f"commit {claim} level:strong")
    assert (why.code, why.message) == (
        "NEEDS_ESCALATION",
        "The scope tree at strong needs authority 1; you have 0.",
    )
    assert Claim.objects.get().state == "concluding"
    # A person gives the commit, and only then does the authority of the agent grow.
    assert Participant.objects.get(name="Marie").authority == 0
    assert "approved by Owner" in say(f"commit {claim} level:strong").reply
    assert Participant.objects.get(name="Marie").authority == 1
    assert Commitment.objects.get().approved_by is not None


@pytest.fixture
def agent_says(grove: Grove, owner: User, tree: Tree) -> Say:
    """Runs lines as an agent that the owner has asked."""
    from loom.access import acting_as
    from loom.engine.context import Request
    from loom.engine.execute import execute_line

    agent = Participant.objects.create(
        grove=grove,
        kind="model",
        name="Marie",
        model_ref="openai:echo-1",
        permissions=["loom_aware", "loom_write", "doc_read", "doc_write", "cross_tree"],
    )

    def say_as_agent(line: str, **sent: object) -> object:
        sent.pop("by", None)
        actor = acting_as(get_actor(owner, grove), agent)
        return execute_line(actor, tree, Request(line, **sent))  # type: ignore[arg-type]

    return say_as_agent  # type: ignore[return-value]


def test_an_agents_own_words_are_weak_and_a_person_confirms(
    say: Say, write: Say, agent_says: Say
) -> None:
    own = str(agent_says('respond root "The lamp is lit, I say"').body["refs"][0])
    other = str(write("I saw the lamp"))
    claim = _claim(agent_says, own)
    assert Cite.objects.get().reason == "own words"
    agent_says(f"cite {other} for {claim}")
    assert say(f"cite {other} for {claim}").reply.startswith(
        "✓ evidence: strong, confirmed by a person"
    )
    stored = Claim.objects.get()
    assert (stored.strong, stored.moderate, stored.weak) == (1, 0, 1)  # an item counts once


def test_quotes_pass_the_gate_and_say_which_of_the_four(say: Say, write: Say) -> None:
    a = write("Marie is twelve when the lamp goes out")
    b = write("The keeper sleeps in the north tower")
    claim = _claim(say, str(b))
    reply = say(f'cite {a} for {claim} words:"when the LAMP goes out"').reply
    assert "quote found" in reply
    row = Cite.objects.latest("id")
    assert (row.words, row.before) == ("when the lamp goes out", "Marie is twelve ")
    reply = say(f'cite {a} for {claim} words:"sleeps in the north tower"').reply
    assert "weak, quote elsewhere" in reply and f"it is in [{b}] lines:1: cite {b} lines:1" in reply
    reply = say(f'cite {a} for {claim} words:"Marie is twelve, the lamp goes out"').reply
    assert "weak, quote joined" in reply
    reply = say(f'cite {a} for {claim} words:"Marie is a hundred years old"').reply
    assert "weak, quote not there" in reply
    assert refused(say, f'cite {a} for {claim} words:"too short"').code == "REJECTED"


def test_a_section_of_a_document_is_moderate_evidence_with_its_revision(say: Say) -> None:
    say('write doc:"Bible" new\n# Marie\nShe is twelve.\n# Lamp\nIt is lit.\n←')
    claim = str(say('claim "The lamp is lit" cite:doc:"Bible"').body["refs"][0])
    assert Cite.objects.get().strength == "weak"
    assert "moderate, a part of a document" in say(f'cite doc:"Bible" §lamp for {claim}').reply
    row = Cite.objects.latest("id")
    assert (row.version, row.part, row.words) == ("1", "§lamp", "# Lamp\nIt is lit.")


def test_an_undercut_attacks_the_inference_and_can_be_addressed(
    say: Say, texts: list[str], writer: User
) -> None:
    claim = _claim(say, texts[0], by=writer)
    reply = say(f'cite {texts[1]} undercuts {texts[0]} in {claim} "he was asleep"').reply
    assert reply.startswith(f"✓ [{texts[0]}] is undercut")
    assert Cite.objects.earliest("id").reason == "undercut"
    say(f'address {texts[1]} in {claim} "he woke up"')
    assert Cite.objects.earliest("id").reason == "verified"
    assert refused(say, f"cite {texts[1]} undercuts {texts[3]} in {claim}").code == "NOT_FOUND"


def test_counter_evidence_alone_refutes(
    say: Say, texts: list[str], lit: None, writer: User
) -> None:
    claim = _claim(say, texts[0], by=writer)
    for text in texts[1:4]:
        say(f"check {text}")
        say(f'cite {text} against {claim} "no"', by=writer)
    assert _state(claim) == "refuted"
    why = refused(say, f"cite {texts[5]} for {claim}")
    assert why.hint == '→ claim "…" cite:REF again opens it anew'


def test_the_same_statement_is_shown_first(say: Say, texts: list[str]) -> None:
    claim = _claim(say, texts[0])
    say(f'withdraw {claim} "nobody saw it"')
    why = refused(say, f'claim "the  LAMP is lit." cite:{texts[1]}')
    assert why.code == "CONFLICT"
    assert (
        why.message
        == f'The same was claimed before by Owner: [{claim}] withdrawn: "nobody saw it".'
    )
    assert say(f'claim "the lamp is lit" cite:{texts[1]} again').reply.startswith("✓ claim")
    assert refused(say, f'withdraw {claim} "again"').message.startswith("Invalid transition")


@pytest.fixture
def committed(say: Say, texts: list[str], lit: None, writer: User) -> str:
    """A claim that is committed at moderate."""
    return _committed(say, texts, writer, "The lamp is lit")


def _committed(say: Say, items: list[str], writer: User, statement: str) -> str:
    opened = say(f'claim "{statement}" test:"look" cite:{items[0]}', by=writer)
    claim = str(opened.body["refs"][0])
    for item in items[1:4]:
        say(f"cite {item} for {claim}", by=writer)
    for line in (f"check {claim}", f'conclude {claim} "so"', f"commit {claim}"):
        say(line, by=writer)
    return claim


def test_a_commitment_is_never_lowered_withdrawn_or_pruned(
    say: Say, texts: list[str], committed: str, writer: User
) -> None:
    other = str(
        say(f'claim "THE LAMP is lit" test:"look" cite:{texts[0]} again', by=writer).body["refs"][0]
    )
    assert refused(say, f"commit {other} level:tentative", by=writer).code == "DOWNGRADE"
    assert refused(say, f"commit {committed}", by=writer).code == "REJECTED"
    assert refused(say, f'withdraw {committed} "no"', by=writer).code == "REJECTED"
    assert "evidence only grows" in refused(say, f"prune {committed}").message
    assert "never removed" in refused(say, f"unlink {texts[0]} to {committed}").message
    for text in texts[4:6]:
        say(f"cite {text} for {committed}", by=writer)
    say(f"check {committed}", by=writer)
    assert "committed at strong" in say(f"commit {committed} level:strong", by=writer).reply
    assert Commitment.objects.count() == 2


def test_a_veto_is_added_and_not_erased(
    say: Say, committed: str, agent_says: Say, tree: Tree
) -> None:
    assert refused(agent_says, f'veto {committed} "no"').code == "PERMISSION_DENIED"
    say(f'veto {committed} "the witness lied"')
    row = Commitment.objects.get()
    assert (row.veto, row.vetoed_by is not None) == ("the witness lied", True)
    assert Claim.objects.get(node__local_id=committed).state == "committed"
    why = refused(say, f'veto {committed} "again"')
    assert why.code == "REJECTED"
    assert why.message == f"[{committed}] is already vetoed by {row.vetoed_by}."
    assert "vetoed" in refused(say, f'conclude {committed} "so"').message  # for the same reason


def test_a_tampered_commitment_verifies_false(
    say: Say, committed: str, owner: User, tree: Tree
) -> None:
    client = APIClient()
    client.force_login(owner)
    address = f"/api/trees/{tree.uid}/verify?claim={committed}"
    assert client.get(address).json()["status"] == "valid"
    row = Commitment.objects.get()
    row.record["level"] = "definitive"
    row.save()
    assert client.get(address).json()["broken"][0]["reason"] == "Its record does not give its hash."
    row.record["level"] = "moderate"
    row.save()
    Cite.objects.filter(uid=row.record["evidence"][0]["id"]).update(words="other")
    assert client.get(address).json()["status"] == "invalid"


def test_commitments_are_evidence_three_levels_deep(
    say: Say, texts: list[str], lit: None, writer: User
) -> None:
    items = texts[:4]
    for level in range(3):
        claim = _committed(say, items, writer, f"proof {level}")
        assert Claim.objects.get(node__local_id=claim).proofs == level + 1
        items = [claim, *texts[level : level + 3]]
    why = refused(say, f'claim "proof 4" cite:{claim}', by=writer)
    assert (why.code, "3 is the most" in why.message) == ("REJECTED", True)


def test_claims_never_rest_on_each_other_in_a_circle(say: Say, texts: list[str]) -> None:
    a = str(say(f'claim "a" cite:{texts[0]}').body["refs"][0])
    b = str(say(f'claim "b" cite:{a}').body["refs"][0])
    assert "circle" in refused(say, f"cite {b} for {a}").message
    assert refused(say, f"cite {a} for {a}").message == "A claim is no evidence for itself."


def test_a_claim_by_api_with_its_obligations_and_acts(
    say: Say, texts: list[str], owner: User, tree: Tree
) -> None:
    claim = _claim(say, texts[0], 'test:"look"')
    client = APIClient()
    client.force_login(owner)
    body = client.get(f"/api/claims/{claim}?tree={tree.uid}").json()
    assert body["allowed"] == ["cite", "address", "check", "withdraw"]
    assert body["obligations"][0] == {
        "code": "INSUFFICIENT_QUANTITY",
        "have": 0,
        "need": 3,
        "says": "evidence that counts",
        "status": "pending",
    }
    level = client.get(f"/api/claims/{claim}/obligations?tree={tree.uid}&level=strong").json()
    assert [obligation["need"] for obligation in level["obligations"]] == [5, 2, 0, 0]
    listed = client.get(f"/api/claims?tree={tree.uid}&state=hypothesis&source={texts[0]}").json()
    assert [row["id"] for row in listed["results"]] == [claim]
    assert client.get(f"/api/claims?tree={tree.uid}&strength=strong").json()["count"] == 0
    assert client.delete(f"/api/claims/{claim}?tree={tree.uid}").status_code == 405


def test_lists_show_claims_and_their_evidence(say: Say, texts: list[str]) -> None:
    claim = _claim(say, texts[0], f"about {texts[1]}")
    say(f'cite {texts[2]} against {claim} "it smokes"')
    assert f'[{claim}] hypothesis "The lamp is lit"' in say(f"list {texts[1]} claims").reply
    assert f"[{claim}]" in say("list root claims").reply
    assert say(f"list {texts[2]} claims").reply == f"[{texts[2]}] → 0 claims"
    lines = say(f"list {claim} evidence").reply.split("\n")
    assert lines[1].startswith(f"  - [{texts[2]}]") and lines[2].startswith(f"  + [{texts[0]}]")


def test_evidence_of_another_grove_is_not_shown(two_groves: TwoGroves) -> None:
    world = two_groves
    left, right = world.left, world.right
    reply = left.run(world.both, f'claim "The tower is kept" cite:{world.far}')
    claim = reply.split("[")[1][:4]
    assert "moderate" in reply
    seen = left.run(world.only_left, f"list {claim} evidence")
    assert "accessible 0 of 1" in seen and "kestrel" not in seen
    client = world.client(world.only_left)
    body = client.get(f"/api/claims/{claim}?tree={left.tree.uid}").json()
    assert (body["evidence"], body["evidence_total"]) == ([], 1)
    card = client.get(f"/trees/{left.tree.uid}/claims/{claim}").content.decode()
    assert "You see 0 of 1 piece of evidence." in card and "may not see" in card
    assert "kestrel" not in card and right.tree.uid not in card
    whole = world.client(world.both).get(f"/trees/{left.tree.uid}/claims/{claim}")
    assert "You see" not in whole.content.decode() and b"Who sees which" in whole.content
    for user, status in ((world.only_right, 404), (world.nobody, 404), (world.both, 200)):
        address = f"/api/claims/{claim}?tree={left.tree.uid}"
        assert world.client(user).get(address).status_code == status
    with pytest.raises(CommandError) as caught:
        right.run(world.both, f'withdraw {claim} "mine"')
    assert caught.value.code in ("NOT_FOUND", "CROSS_TREE")


def test_a_reader_looks_and_claims_nothing(
    say: Say, texts: list[str], reader: User, actor: Actor
) -> None:
    claim = _claim(say, texts[0])
    assert say(f"list {claim} evidence", by=reader).reply
    for line in (f'claim "x" cite:{texts[0]}', f"commit {claim}", f"check {claim}"):
        assert refused(say, line, by=reader).code == "PERMISSION_DENIED"


def test_the_evidence_of_a_tree_is_grouped(
    say: Say, texts: list[str], owner: User, tree: Tree
) -> None:
    """`total` counts what the filter lets through."""
    claim = _claim(say, texts[0])
    other = str(say(f'claim "It is dark" cite:{texts[1]}').body["refs"][0])
    say(f"cite {texts[0]} against {other}")
    client = APIClient()
    client.force_login(owner)
    address = f"/api/evidence?tree={tree.uid}&group="

    def groups(group: str) -> dict[str, list[str]]:
        body = client.get(f"{address}{group}").json()
        assert (body["accessible"], body["total"]) == (3, 3)
        return {
            group["group"]: sorted(f"{row['claim']} {row['side']}" for row in group["evidence"])
            for group in body["groups"]
        }

    by_claim = {claim: [f"{claim} for"], other: sorted([f"{other} against", f"{other} for"])}
    assert groups("claim") == groups("") == by_claim
    assert groups("source") == {
        texts[0]: sorted([f"{claim} for", f"{other} against"]),
        texts[1]: [f"{other} for"],
    }
    assert sum(map(len, groups("strength").values())) == 3
    assert set(groups("strength")) <= {"strong", "moderate", "weak"}
    assert client.get(f"{address}colour").json()["code"] == "INVALID_SYNTAX"

    def totals(query: str) -> tuple[int, int]:
        body = client.get(f"{address}{query}").json()
        return body["accessible"], body["total"]

    assert totals(f"&claim={other}") == totals(f"&source={texts[0]}") == (2, 2)
    assert totals(f"&claim={other}&source={texts[0]}") == (1, 1)
    assert totals("&source=zzzz") == totals("&claim=zzzz") == (0, 0)
    assert sum(totals(f"&strength={name}")[1] for name in ("strong", "moderate", "weak")) == 3
    assert client.get(f"{address}&strength=bold").json()["code"] == "INVALID_SYNTAX"


def test_evidence_in_groups_leaves_out_what_is_not_seen(two_groves: TwoGroves) -> None:
    two = two_groves
    client = two.client(two.only_left)
    assert client.get(f"/api/evidence?tree={two.right.tree.uid}").status_code == 404


def test_the_record_of_a_commitment_has_the_evidence_that_the_reader_may_see(
    say: Say, texts: list[str], lit: None, actor: Actor, tree: Tree, writer: User
) -> None:
    hidden = trees.new_tree(actor, title="Papers")
    far = str(say('respond root "the kestrel saw the lamp"', into=hidden).body["refs"][0])
    claim = _claim(say, texts[0], by=writer)
    for text in texts[1:4]:
        say(f"cite {text} for {claim}", by=writer)
    say(f'cite tree:{hidden.uid} node:{far} for {claim} words:"the kestrel saw the lamp"')
    say(f"check {claim}", by=writer)
    say(f'conclude {claim} "It is lit."', by=writer)
    say(f"commit {claim}", by=writer)
    say("allow writers hidden", into=hidden)
    assert "kestrel" in str(Commitment.objects.get().record)
    for user, unseen in ((actor.user, 0), (writer, 1)):
        client = APIClient()
        client.force_login(user)
        addresses = (f"claims/{claim}?tree={tree.uid}", f"trees/{tree.uid}/events")
        claimed, events = (client.get(f"/api/{address}").json() for address in addresses)
        (commitment,) = claimed["commitments"]
        assert commitment["unseen"] == unseen
        assert ("kestrel" in str(claimed)) is (unseen == 0)
        (told,) = [event for event in events["events"] if event["kind"] == "commitment.added"]
        assert told["payload"]["commitment"]["hash"] == commitment["hash"]
        assert "kestrel" not in str(events)


def test_own_words_of_another_grove_are_weak(two_groves: TwoGroves) -> None:
    left, right, person = two_groves.left, two_groves.right, two_groves.both
    right.run(person, 'respond root "The lamp is lit, I say"')
    own = Node.objects.filter(tree=right.tree).latest("id").local_id
    for there, reason in ((own, "own words"), (right.text.local_id, "verified")):
        left.run(person, f'claim "From {there}" cite:tree:{right.tree.uid} node:{there}')
        assert Cite.objects.latest("id").reason == reason
