"""The thinking of a turn as files of the export of its tree: lines by phase, and the outcome."""

import io
import zipfile

import pytest
from rest_framework.test import APIClient

from loom.access import Actor
from loom.people.models import Participant, User
from loom.site.display import cast_of
from loom.trees.models import Tree
from loom.turns.models import Turn
from loom.turns.pages.turns import drawable
from tests.agents.acting import asked, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)


def _files(owner: User, tree: Tree) -> zipfile.ZipFile:
    client = APIClient()
    client.force_login(owner)
    answer = client.get(f"/api/trees/{tree.uid}/export?format=zip")
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    return zipfile.ZipFile(io.BytesIO(content))


def test_each_line_of_a_turn_is_a_file_by_its_phase_with_a_trace_and_the_outcome(
    actor: Actor,
    owner: User,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    provider.script(
        says(
            '→ think "is it lit?"\n'
            f'→ claim "it is lit" test:"look" cite:{opening}\n'
            f"→ check {opening}\n"
        ),
        says(f"→ view {opening}\n"),
        says("It is lit."),
    )
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.status == "done" and turn.node is not None
    files = _files(owner, tree)
    folder = f"thinking/{turn.uid}/"
    names = sorted(name.removeprefix(folder) for name in files.namelist() if folder in name)
    assert names == [
        "_outcome.md",
        "_trace.md",
        "step_001_thinking.md",
        "step_002_hypothesizing.md",
        "step_003_testing.md",
        "step_004_looking.md",
    ]
    thought = files.read(f"{folder}step_001_thinking.md").decode()
    assert "outcome: ok" in thought and '→ think "is it lit?"' in thought
    trace = files.read(f"{folder}_trace.md").decode()
    assert trace.startswith(f"# {agent.name}, asked by ")
    assert "3. testing · NOT_FOUND · " in trace  # a refused line is part of the trace
    outcome = files.read(f"{folder}_outcome.md").decode()
    assert "status: done" in outcome and f"node: {turn.node.local_id}" in outcome
    shown = drawable([turn.uid], tree.uid).elements(cast_of(actor))[
        turn.uid
    ]  # folded, beside its node
    thoughts = shown.partition('<details class="thoughts"')[2].partition("</details>")[0]
    assert "is it lit?" in thoughts and " open" not in thoughts.partition(">")[0]


def test_a_tree_without_turns_has_no_such_folder(owner: User, tree: Tree, opening: str) -> None:
    assert not Turn.objects.exists()
    assert not [name for name in _files(owner, tree).namelist() if name.startswith("thinking/")]
