"""What an agent is sent of claims, at which cost, and the lines of a whole claim."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loom.access import Actor, acting_as, get_actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.brief import lines_for
from loom.claims.queries.claims import key_of
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.language import ids
from loom.people.models import Grove, Participant, User
from loom.text.tokens import count
from loom.trees.commands.node_writer import workspace_of
from loom.trees.models import Node, Tree
from tests.claims.conftest import Declare
from tests.commands.conftest import Say
from tests.rows_read import work_done
from tests.transfer.conftest import SAMPLES

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
STORY = """# Marie
Marie is twelve when the lamp goes out, in the winter of the flood.
# The tower
The keeper sleeps in the north tower, and nobody comes before night.
# The lamp
The lamp has burned for a hundred years without a pause.
# The river
Down at the river, Marie waits until the keeper wakes.
"""


@pytest.fixture
def agent(grove: Grove, owner: User) -> Actor:
    """An agent that the owner has asked."""
    model = Participant.objects.create(
        grove=grove,
        kind="model",
        name="Marie",
        model_ref="openai:echo-1",
        permissions=["loom_aware", "loom_write", "doc_read", "doc_write", "cross_tree"],
    )
    return acting_as(get_actor(owner, grove), model)


def _of_the_project() -> str:
    """The page of the command line, of some 6,500 words."""
    return (ROOT / "docs/model/05-command-line.md").read_text()


def _longest(node: dict[str, Any]) -> list[str]:
    """The texts on the longest path of a pyloom tree."""
    best, todo = [""], [(node, [node.get("text", "")])]
    while todo:
        at, texts = todo.pop()
        if sum(map(len, texts)) > sum(map(len, best)):
            best = texts
        todo += [(child, [*texts, child.get("text", "")]) for child in at.get("children", [])]
    return best


def _of_a_person() -> str:
    """A story of some 4,000 words that a person wrote with models in another loom."""
    path = SAMPLES / "pyloom/loom_demo.json"
    if not path.is_file():
        pytest.skip("sample files are not here: pyloom/loom_demo.json")
    return "".join(_longest(json.loads(path.read_text())["root"]))


def _quote(text: str) -> str:
    """Some words of a line that is behind the middle of a text."""
    lines = text[len(text) // 2 :].split("\n")[1:]
    plain = (re.sub(r'["“”`\\\\|*]', " ", line).strip() for line in lines)
    pairs = zip(lines, plain, strict=True)
    line = next(line for line, kept in pairs if kept == line.strip() and len(kept) > 80)
    return line.strip()[:70].rsplit(" ", 1)[0]


@pytest.mark.parametrize("document", [_of_the_project, _of_a_person])
def test_a_claim_over_a_real_document_costs_few_tokens(
    say: Say, agent: Actor, tree: Tree, declare: Declare, document: Callable[[], str]
) -> None:
    """An agent looks a passage up, opens a claim on it, cites two texts of the tree, tests,
    concludes and commits, over a document of thousands of words."""
    text = document()
    assert len(text.split()) > 3_000
    words = _quote(text)
    say(f'write doc:"Source" new\n{text}\n←')
    declare("contains", name="says it", text=words)
    witnesses = [str(say(f'respond root "{who} has read it so."').body["refs"][0]) for who in "AB"]
    spent = 0

    def run(line: str) -> str:
        nonlocal spent
        reply = execute_line(agent, tree, Request(line)).reply
        spent += count(f"→ {line}") + count(reply)
        return reply

    assert words.split()[0] in run(f'find "{words}"')
    reply = run(f'claim "It is written" test:"look it up" cite:doc:"Source" words:"{words}"')
    assert "quote found" in reply
    claim = reply.split("[")[1][:4]
    for node in witnesses:
        run(f'cite {node} for {claim} "a witness"')
    assert "testing" in run(f"check {claim}")
    run(f"list {claim} evidence")
    run(f'conclude {claim} "The source says so, and two have read it."')
    assert run(f"commit {claim}").startswith("✓ committed at moderate")
    assert spent < 1_500, spent


TRUE = (
    "Marie is twelve when the lamp goes out",
    "in the winter of the flood",
    "The keeper sleeps in the north tower",
    "and nobody comes before night",
    "burned for a hundred years without a pause",
    "Marie waits until the keeper wakes",
)
INVENTED = (
    "Marie was born in the year of the flood",
    "the river had frozen by the morning",
    "a young man guards the southern gate",
    "She ran up the hill and laughed loudly",
    "nobody has ever seen the keeper awake",
    "the lamp was bought in the old harbour",
)


def test_of_an_agents_quotes_all_invented_ones_are_caught_and_all_true_ones_found(
    say: Say, agent: Actor, tree: Tree
) -> None:
    say(f'write doc:"Bible" new\n{STORY}←')

    def run(line: str) -> str:
        return execute_line(agent, tree, Request(line)).reply

    claim = run(f'claim "It is told" test:"look" cite:doc:"Bible" words:"{TRUE[0]}"')
    claim = claim.split("[")[1][:4]
    for words in TRUE:
        assert "quote found" in run(f'cite doc:"Bible" for {claim} words:"{words}"'), words
    for words in INVENTED:
        reply = run(f'cite doc:"Bible" for {claim} words:"{words}"')
        assert "weak, quote not there" in reply, words
    gates = Cite.objects.filter(claim__node__local_id=claim).values_list("gate", "strength")
    assert {gate for gate in gates if gate[0] == "not there"} == {("not there", "weak")}


def test_an_agent_is_sent_its_claims_and_the_evidence_it_may_know_of(
    say: Say, write: Say, agent: Actor, tree: Tree
) -> None:
    a, b, c = (str(write(f"the lamp, {n}")) for n in "abc")
    other = str(say(f'claim "it is dark" cite:{c}').body["refs"][0])
    workspace = workspace_of(agent.participant, tree)
    assert lines_for(agent, workspace) == ()
    claim = execute_line(agent, tree, Request(f'claim "it is lit" cite:{a}')).body["refs"][0]
    lines = lines_for(agent, workspace)
    assert lines[0] == "Available evidence (1: 0 strong, 1 moderate, 0 weak) · accessible 1 of 2"
    assert lines[1].startswith(f'[{claim}] hypothesis "it is lit" · moderate: have 1, need 3')
    assert lines[2] == f"  + [{a}] moderate, verified → [{claim}]"
    assert other not in "\n".join(lines)
    execute_line(agent, tree, Request(f"open {c}"))
    opened = "\n".join(lines_for(agent, workspace))
    assert other in opened and f"[{c}]" in opened
    assert b not in opened


def test_ten_thousand_pieces_of_evidence_cost_a_request_no_more(
    say: Say, write: Say, agent: Actor, tree: Tree, actor: Actor
) -> None:
    a = str(write("the lamp"))
    execute_line(agent, tree, Request(f'claim "it is lit" cite:{a}'))
    workspace = workspace_of(agent.participant, tree)
    with work_done() as few:
        lines_for(agent, workspace)
    _grow(tree, actor, Node.objects.get(local_id=a))
    with work_done() as many:
        lines = lines_for(agent, workspace)
    assert "accessible 1 of 1000" in lines[0]
    many.demand_no_more(few, rows=20, steps=60)


def _grow(tree: Tree, actor: Actor, text: Node) -> None:
    """A hundred claims of somebody else with a hundred pieces of evidence each."""
    claims = []
    for number in range(100):
        reply = execute_line(actor, tree, Request(f'claim "claim {number}" cite:{text.local_id}'))
        node = Node.objects.get(tree=tree, local_id=reply.body["refs"][0])
        claims.append(Claim.objects.get(pk=node.pk))
        assert claims[-1].statement_key == key_of(f"claim {number}")
    Cite.objects.bulk_create(
        Cite(claim=claim, item=ids.of_node(text.pk), side="for", by=actor.participant, at=claim.at)
        for claim in claims
        for _ in range(99)
    )
