"""The evidence of a claim as a window that can be written to: new records, and old ones as they
were (docs/model.md §3, §10)."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import get_actor
from loom.claims.models import Cite, Claim
from loom.claims.queries.evidence_windows import MOST_SHOWN
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from loom.workspace.models import Window
from tests.claims.conftest import refused
from tests.commands.conftest import Say
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db


@pytest.fixture
def texts(write: Say) -> list[str]:
    """Texts that a claim can rest on."""
    return [str(write(f"I saw the lamp burn, says witness {n}")) for n in range(4)]


@pytest.fixture
def claim(say: Say, texts: list[str], writer: User) -> str:
    """A claim of the writer with one piece of evidence."""
    line = f'claim "The lamp is lit" test:"look" cite:{texts[0]} words:"I saw the lamp burn"'
    return str(say(line, by=writer).body["refs"][0])


def _stored() -> list[Any]:
    return list(Cite.objects.order_by("pk").values())


def _lines(say: Say, window: str, by: User | None = None) -> list[str]:
    return say(f"view {window}", by=by).reply.split("\n")


def _opened(say: Say, claim: str, by: User | None = None) -> str:
    reply = say(f"open {claim} evidence", by=by).reply
    assert reply.startswith("✓ opened #") and "accessible" in reply
    return reply.split()[2]


def test_the_evidence_of_a_claim_is_a_window(say: Say, claim: str, texts: list[str]) -> None:
    say(f'cite {texts[1]} against {claim} "it smoked"')
    window = _opened(say, claim)
    head, *lines = _lines(say, window)
    assert head == f"[{claim}] evidence · accessible 2 of 2"
    assert lines[0].startswith(f"- [{texts[1]}] (") and lines[0].endswith(") · it smoked")
    assert lines[1].startswith(f"+ [{texts[0]}] (") and '"I saw the lamp burn"' in lines[1]
    assert _opened(say, claim) == window  # it is one window


def test_what_is_added_is_a_new_record_and_the_old_ones_stay(
    say: Say, claim: str, texts: list[str]
) -> None:
    window = _opened(say, claim)
    before = _stored()
    text = "\n".join([*_lines(say, window)[1:], f'+ {texts[1]} "I saw the lamp burn" · she too'])
    reply = say(f"edit {window}\n{text}\nWho lit it?\n←").reply
    assert reply.startswith(f"✓ {window} [{claim}]: 2 records added, the old ones stay")
    assert f"+ [{texts[1]}] evidence: " in reply and "annotation [" in reply
    new = Cite.objects.latest("pk")
    assert (new.side, new.words, new.why, new.gate) == (
        "for",
        "I saw the lamp burn",
        "she too",
        "found",
    )
    assert _stored()[0] | {"strength": 0, "reason": 0} == before[0] | {"strength": 0, "reason": 0}
    assert Node.objects.get(kind="annotation").text == "Who lit it?"
    shown = _lines(say, window)
    assert shown[0] == f"[{claim}] evidence · accessible 2 of 2"
    assert shown[-1].startswith("* [") and shown[-1].endswith(": Who lit it?")


def test_a_changed_line_contradicts_quotes_again_or_addresses(
    say: Say, claim: str, texts: list[str], writer: User
) -> None:
    window = _opened(say, claim)
    old = _lines(say, window)[1]
    first = _stored()
    say(f"edit {window}\n{old.replace('+', '-', 1)}\n←")
    new = Cite.objects.latest("pk")
    assert (new.side, new.words) == ("against", "I saw the lamp burn")
    line = next(line for line in _lines(say, window) if line.startswith("- "))
    text = "\n".join(_lines(say, window)[1:]).replace(line, f"{line} · addressed: he was asleep")
    reply = say(f"edit {window}\n{text}\n←", by=None).reply
    assert f"addressed [{texts[0]}]" in reply
    new.refresh_from_db()
    assert new.answer == "he was asleep" and Cite.objects.count() == 2
    assert _stored()[0]["words"] == first[0]["words"] and _stored()[0]["side"] == "for"


def test_a_passage_can_be_replaced_and_undone(say: Say, claim: str, texts: list[str]) -> None:
    window = _opened(say, claim)
    say(f'edit {window} replace:"I saw the lamp burn" with:"the lamp burn, says"')
    new = Cite.objects.latest("pk")
    assert (new.words, new.gate) == ("the lamp burn, says", "found")
    say("undo")
    new.refresh_from_db()
    assert new.is_taken_back and Cite.objects.count() == 2


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("+ nobody saw it", 'line 1: "+ nobody saw it" names no evidence; write + [a7x2]'),
        ("+ [zz99]", "line 1: "),
        ("{old}", "Nothing was added: these are the lines as they stand."),
        ("+ [{claim}]", "line 1: A claim is no evidence for itself."),
        ('+ [{text}] "no such words there"\n-', 'line 2: "-" names no evidence'),
    ],
)
def test_what_cannot_be_a_record_gets_a_sentence(
    say: Say, claim: str, texts: list[str], text: str, sentence: str
) -> None:
    window = _opened(say, claim)
    old = _lines(say, window)[1]
    before = Cite.objects.count()
    sent = text.replace("{old}", old).replace("{claim}", claim).replace("{text}", texts[1])
    line = f"edit {window}\n{sent}\n←"
    if "no such" in text:  # the first line is a record: what is not is said beside it
        reply = say(line).reply
        assert "weak, quote not there" in reply and f"! {sentence}" in reply
        return
    why = refused(say, line)
    assert why.code == "REJECTED" and sentence in why.message
    assert Cite.objects.count() == before


def test_a_dry_run_adds_nothing(say: Say, claim: str, texts: list[str]) -> None:
    window = _opened(say, claim)
    before = _stored()
    line = f"edit {window}\n+ {texts[1]}\n←"
    assert "1 record added" in say(line, dry_run=True).reply
    assert _stored() == before and Window.objects.get(number=int(window[1:])).version_seen


def test_it_is_stale_until_it_is_refreshed(
    say: Say, claim: str, texts: list[str], owner: User, tree: Tree
) -> None:
    window = _opened(say, claim)
    client = APIClient()
    client.force_login(owner)
    workspace = Window.objects.get(number=int(window[1:])).workspace.uid

    def body() -> dict[str, Any]:
        answer = client.get(f"/api/workspaces/{workspace}").json()
        return next(window for window in answer["windows"] if window["kind"] == "evidence")

    assert not body()["stale"] and not body()["read_only"]
    assert body()["opens"].endswith(f"node:{claim} evidence keep")
    say(f"cite {texts[1]} for {claim}")
    assert body()["stale"] and texts[1] not in body()["text"]
    say(f"refresh {window}")
    assert not body()["stale"] and texts[1] in body()["text"]
    say(f"open {claim} evidence live")
    say(f"cite {texts[2]} for {claim}")
    assert not body()["stale"] and texts[2] in body()["text"]


def test_a_document_and_a_text_are_not_written_so(say: Say, claim: str) -> None:
    window = _opened(say, claim)
    why = refused(say, f'write {window} "x"')
    assert why.hint == f"→ edit {window} writes through it"
    assert refused(say, "open root evidence").code == "NOT_FOUND"
    assert refused(say, f"resize {window} lines:1-2").code == "REJECTED"


def test_a_long_list_stays_within_bounds(say: Say, claim: str, write: Say) -> None:
    for n in range(MOST_SHOWN + 2):
        say(f"cite {write(f'witness number {n}')} for {claim}")
    window = _opened(say, claim)
    lines = _lines(say, window)
    assert lines[0].endswith(f"accessible {MOST_SHOWN + 3} of {MOST_SHOWN + 3}")
    assert len(lines) == MOST_SHOWN + 2 and lines[-1] == "… 3 more"


def test_readers_and_outsiders_do_not_write(say: Say, claim: str, reader: User) -> None:
    window = _opened(say, claim, by=reader)
    assert refused(say, f"edit {window}\n+ {claim}\n←", by=reader).code == "PERMISSION_DENIED"


def test_a_window_shows_only_what_its_reader_may_see(two_groves: TwoGroves) -> None:
    world, left = two_groves, two_groves.left
    reply = left.run(world.both, f'claim "The tower is kept" cite:{world.far} words:"{SECRET}"')
    claim = reply.split("[")[1][:4]
    left.run(world.both, f"cite {left.text.local_id} for {claim}")
    window = left.run(world.both, f"open {claim} evidence").split()[2]
    shown = left.run(world.both, f"view {window}")
    assert SECRET in shown and f"[{claim}] evidence · accessible 2 of 2" in shown
    window = left.run(world.only_left, f"open {claim} evidence").split()[2]
    shown = left.run(world.only_left, f"view {window}")
    assert f"accessible 1 of 2\n+ [{left.text.local_id}]" in shown and SECRET not in shown
    assert str(world.right.tree.uid) not in shown
    # What one may not see is no evidence that one gives through it.
    line = f"edit {window}\n+ [{world.far}]\n←"
    answer = _refusal(world, line)
    assert answer.startswith("REJECTED") and SECRET not in answer
    assert Cite.objects.count() == 2
    # Of what was erased only the number is left.
    right = world.right
    actor = right.actor(User.objects.get(username="rightowner"))
    trees.change_tree(actor, right.tree, {"archived": True})
    trees.erase(actor, right.tree, right.tree.title)
    window = left.run(world.both, f"open {claim} evidence").split()[2]
    shown = left.run(world.both, f"view {window}")
    assert "accessible 1 of 2\n" in shown and SECRET not in shown and right.tree.uid not in shown


def _refusal(world: TwoGroves, line: str) -> str:
    from loom.errors import CommandError

    with pytest.raises(CommandError) as why:
        execute_line(get_actor(world.only_left, world.left.grove), world.left.tree, Request(line))
    return f"{why.value.code} {why.value.message}"


def test_evidence_in_a_sandbox_is_counted_and_not_shown(
    say: Say, texts: list[str], writer: User, owner: User, tree: Tree
) -> None:
    claim = str(say(f'claim "It is lit" cite:{texts[0]}').body["refs"][0])
    sandbox = say(f"sandbox from {texts[0]}").reply
    assert sandbox.startswith("✓ sandbox")
    inner = Tree.objects.get(sandbox_of__isnull=False)
    actor = get_actor(owner, tree.grove)
    body = execute_line(actor, inner, Request('respond root "a secret lamp"')).body
    ref = f"tree:{inner.uid} node:{body['refs'][0]}"
    # No line cites a sandbox from outside of it; such evidence is older than this rule.
    Tree.objects.filter(pk=inner.pk).update(sandbox_of=None)
    say(f"cite {ref} for {claim}")
    Tree.objects.filter(pk=inner.pk).update(sandbox_of=owner)
    mine = _lines(say, _opened(say, claim))
    assert mine[0].endswith("accessible 2 of 2") and any(
        "secret" in x or inner.uid in x for x in mine
    )
    theirs = _lines(say, _opened(say, claim, by=writer), by=writer)
    assert theirs[0].endswith("accessible 1 of 2") and inner.uid not in "\n".join(theirs)
    assert Claim.objects.get(node__local_id=claim).node.text == "It is lit"
