"""The whole flow of an agent over evidence: it is asked, opens a part of a document, thinks, claims
with a quote, edits, checks a task, tests, concludes, commits, and its thinking is kept."""

import io
import re
import zipfile

import pytest
from django.test import Client

from loom.access import Actor
from loom.claims.models import Cite, Claim, Commitment
from loom.claims.rules.inline_tokens import tokens_in
from loom.documents.models import Document
from loom.documents.queries import newest
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.trees.models import Tree
from tests.agents.test_windows import Talk
from tests.agents.test_workspace import section
from tests.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.django_db(transaction=True)
BIBLE = "# Lamp\nThe lamp burned all night.\n# Tasks\n- [ ] Ask Marie\n# Tower\nIt is old."
QUOTE = "The lamp burned all night"


@pytest.fixture
def talk(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> Talk:
    return Talk(actor, tree, agent, provider, opening)


def _kept(owner: User, tree: Tree) -> list[str]:
    """The names of the files of thinking in the archive of a tree."""
    client = Client()
    client.force_login(owner)
    answer = client.get(f"/api/trees/{tree.uid}/export?format=zip")
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    return [name for name in names if name.startswith("thinking/")]


def test_an_agent_opens_thinks_claims_edits_checks_concludes_and_commits(
    talk: Talk, actor: Actor, owner: User
) -> None:
    """Seen, claimed, written and tested: each step leads to the next."""

    def say(line: str) -> str:
        return str(next(iter(execute_line(actor, talk.tree, Request(line)).body["refs"]), ""))

    say(f'write doc:"Bible" new\n{BIBLE}\n←')
    seen = [say(f'respond {talk.node} "{who} saw it burn."') for who in ("Anna", "Ben")]
    unrelated = say(f'respond {talk.node} "It rained."')
    say(f'claim "It was wet" cite:{unrelated}')
    first = talk.turn(
        '→ open doc:"Bible" §lamp\n',
        '→ think "does it say so?"\n'
        f'→ claim "{QUOTE}" test:"look" cite:doc:"Bible" §lamp words:"{QUOTE}"\n'
        "→ list root claims\n",
        "It does.",
    )
    claim = Claim.objects.get(by=talk.agent)
    name = claim.node.local_id
    assert "---WINDOW" in talk.sent() and QUOTE in talk.sent()
    evidence = section(talk.sent(), "CLAIMS")
    assert evidence.startswith("Available evidence (1: 0 strong, 1 moderate, 0 weak)")
    assert "accessible 1 of 2" in evidence and unrelated not in evidence
    key = next(token.key for token in tokens_in(BIBLE, stable=True) if token.kind == "task")
    cites = "".join(f'→ cite {text} for {name} "saw it"\n' for text in seen)
    say(f'cite {seen[0]} for {name} "I was there"')  # a person confirms it
    second = talk.turn(
        f'→ write doc:"Bible" replace:"It is old." with:"It is very old."\n'
        f'→ todo check doc:"Bible" token:{key}\n'
        '→ view doc:"Bible"\n',
        f"{cites}→ check {name}\n",
        f'→ conclude {name} "The Bible and two people say so."\n→ commit {name}\n→ memory\n',
        "Done.",
    )
    text = newest(Document.objects.get(title="Bible")).text
    assert "- [x] Ask Marie" in text and "It is very old." in text
    claim.refresh_from_db()
    assert (claim.state, claim.level, claim.strong) == ("committed", "moderate", 1)
    record = Commitment.objects.get().record
    assert next(piece["words"] for piece in record["evidence"]) == QUOTE
    assert Cite.objects.filter(claim=claim).count() == 4
    assert re.search(r"steps \d+/\d+", talk.sent())
    names = _kept(owner, talk.tree)
    for turn in (first, second):
        folder = f"thinking/{turn.uid}/"
        assert {f"{folder}_trace.md", f"{folder}_outcome.md"} <= set(names)
    phases = {match[1] for kept in names if (match := re.search(r"step_\d+_(\w+)\.md", kept))}
    assert {"thinking", "hypothesizing", "testing", "concluding", "committed"} <= phases


def test_an_agent_adds_to_the_evidence_that_a_window_shows(talk: Talk, actor: Actor) -> None:
    """The window is sent like any other; what was added through it is there in the next turn."""

    def say(line: str) -> str:
        return str(next(iter(execute_line(actor, talk.tree, Request(line)).body["refs"]), ""))

    first, second = (say(f'respond {talk.node} "{who} saw it burn."') for who in ("Anna", "Ben"))
    claim = say(f'claim "It burned" test:"look" cite:{first}')
    talk.turn(f"→ open {claim} evidence keep\n→ memory\n", "Seen.")
    windows = section(talk.sent(), "WINDOWS")
    assert f"[{claim}] evidence · accessible 1 of 1" in windows
    assert f"+ [{first}] (weak, own words)" in windows
    number = windows.partition("---WINDOW #")[2].split()[0]
    talk.turn(f'→ edit #{number}\n- {second} "Ben saw it burn." · he lies\n←\n')
    assert Cite.objects.get(side="against").words == "Ben saw it burn."
    talk.turn("Good.")
    windows = section(talk.sent(), "WINDOWS")
    assert "accessible 2 of 2" in windows and f"- [{second}] (" in windows and "he lies" in windows
