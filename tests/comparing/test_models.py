"""Models side by side: figures with intervals, the texts behind them, and who contributed when."""

import csv
from collections.abc import Callable
from io import StringIO

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from loom.access import Actor
from loom.comparing import pages
from loom.comparing.queries import ModelCompared, compared, contributions
from loom.comparing.rules import mean, share
from loom.people.models import Participant, User
from loom.trees.models import Node, Tree
from loom.turns.models import Generation
from tests.queries.growing import add
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db


def test_intervals_hold_what_they_should() -> None:
    assert mean([]).value is None and share(0, 0).value is None
    assert (mean([4.0]).value, mean([4.0]).low) == (4.0, None)
    interval = mean([1.0, 2.0, 3.0, 4.0])
    assert interval.value == 2.5 and interval.low is not None and interval.high is not None
    assert interval.low == pytest.approx(2.5 - 1.96 * 1.2909944 / 2) and interval.high > 2.5
    none = share(0, 10)
    assert none.value == 0 and none.low == 0 and none.high == pytest.approx(0.2775, abs=1e-3)


def _wrote(
    model: Participant, by: Participant, point: Node, text: str, **more: object
) -> Node | None:
    """A candidate that a model wrote below a node; none for a failed one."""
    node = add(point.tree, model, text, point) if text else None
    Generation.objects.create(
        tree=point.tree,
        participant=model,
        asked_by=by,
        point=point,
        index=1,
        node=node,
        status="done" if node else "failed",
        ended_at=timezone.now(),
        **more,
    )
    return node


@pytest.fixture
def scene(actor: Actor, muse: Participant, tree: Tree) -> tuple[Node, Participant, Participant]:
    """A place where two models were asked, and one where only the first was."""
    other = Participant.objects.create(
        grove=actor.grove, kind="model", name="=Other", model_ref="local:b"
    )
    person = actor.participant
    here = add(tree, person, "Who keeps the tower?", None)
    for text in ("A kestrel.", "A kestrel.", "An old man with a lamp."):
        _wrote(muse, person, here, text, spent=2_000_000)
    taken = _wrote(other, person, here, "Nobody at all, they say.")
    _wrote(other, person, here, "")
    there = add(tree, person, "Go on.", taken)
    _wrote(muse, person, there, "And so it went, for a long time, until it ended.")
    return here, muse, other


def test_models_are_compared_with_intervals(
    scene: tuple[Node, Participant, Participant], tree: Tree
) -> None:
    _, muse, other = scene
    rows = {row.model.pk: row for row in compared(tree, only_shared=False)}
    one, two = rows[muse.pk], rows[other.pk]
    assert (one.asked, one.places, two.asked, two.places) == (4, 2, 2, 1)
    assert one.cost.value == pytest.approx(0.002) and one.cost.n == 3 and two.cost.value is None
    assert (two.taken.value, two.failed.value) == (1, 0.5)
    assert one.taken.value == 0 and one.taken.high is not None and one.taken.high > 0.3
    assert one.variety.value is not None and one.variety.value < 0.9 and one.variety.n == 1
    shared = {row.model.pk: row for row in compared(tree, only_shared=True)}
    assert (shared[muse.pk].asked, shared[muse.pk].places) == (3, 1)


def test_every_figure_leads_to_its_texts_and_the_table_is_a_file(
    owner: User, scene: tuple[Node, Participant, Participant], tree: Tree
) -> None:
    _, muse, other = scene
    client = Client()
    client.force_login(owner)
    at = f"/trees/{tree.uid}/models"
    page = client.get(at).content.decode()
    assert "Muse" in page and f"model={muse.uid}&amp;figure=length" in page
    taken = client.get(at, {"model": other.uid, "figure": "taken"}).content.decode()
    assert "Nobody at all" in taken and "An old man" not in taken
    failed = client.get(at, {"model": other.uid, "figure": "failed"}).content.decode()
    assert "no text" in failed
    rows = list(csv.DictReader(StringIO(client.get(at, {"csv": "1"}).content.decode())))
    assert [row["model"] for row in rows] == ["Muse", "'=Other"]
    assert rows[0]["length_n"] == "4" and rows[1]["taken_value"] == "1.0"


def test_what_was_asked_with_other_settings_has_a_row_of_its_own(
    actor: Actor, owner: User, muse: Participant, tree: Tree
) -> None:
    here = add(tree, actor.participant, "Who keeps the tower?", None)
    warm = {"temperature": 1.2, "settings": {"top_p": 0.9, "min_p": 0.1}}
    _wrote(muse, actor.participant, here, "A kestrel.", temperature=0.0)
    _wrote(muse, actor.participant, here, "A wild bird!", **warm)
    _wrote(muse, actor.participant, here, "Two birds?", **warm)
    _wrote(muse, actor.participant, here, "Nobody.")
    rows = compared(tree, only_shared=False, by_settings=True)
    whole = "temperature:1.2 min_p:0.1 top_p:0.9"
    assert [(row.asked_with, row.asked) for row in rows] == [
        ("", 1),
        ("temperature:0.0", 1),
        (whole, 2),
    ]
    client = Client()
    client.force_login(owner)
    at = f"/trees/{tree.uid}/models"
    page = client.get(at, {"by": "settings"}).content.decode()
    assert whole in page and "the settings of the model" in page
    query = {"by": "settings", "model": muse.uid, "figure": "length", "with": whole}
    page = client.get(at, query).content.decode()
    assert "A wild bird!" in page and "Two birds?" in page and "A kestrel." not in page
    text = client.get(at, {"csv": "1", "by": "settings"}).content.decode()
    assert [row["settings"] for row in csv.DictReader(StringIO(text))] == [
        "",
        rows[1].asked_with,
        whole,
    ]


def test_what_ends_while_the_page_is_read_is_asked_for_once_more(
    owner: User,
    scene: tuple[Node, Participant, Participant],
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    last = Generation.objects.filter(tree=tree).latest("id")
    Generation.objects.filter(pk=last.pk).update(ended_at=None)

    def read_then_ended(tree: Tree, *, only_shared: bool, by_settings: bool) -> list[ModelCompared]:
        rows = compared(tree, only_shared=only_shared, by_settings=by_settings)
        Generation.objects.filter(pk=last.pk).update(ended_at=timezone.now())
        return rows

    monkeypatch.setattr(pages, "compared", read_then_ended)
    client = Client()
    client.force_login(owner)
    at = f"/trees/{tree.uid}/models"
    assert 'hx-trigger="every 2s"' in client.get(at).content.decode()
    assert "hx-trigger" not in client.get(at).content.decode().partition('id="models"')[2][:200]


def test_several_models_are_asked_at_the_same_places(
    owner: User, scene: tuple[Node, Participant, Participant], tree: Tree
) -> None:
    here, muse, _ = scene
    client = Client()
    client.force_login(owner)
    before = Generation.objects.count()
    child = Node.objects.filter(tree=tree, author=muse).first()
    assert child is not None
    offered = client.get(f"/trees/{tree.uid}/models?node={here.local_id}").content.decode()
    assert f'name="place" value="{here.local_id}" checked' in offered
    form = {"place": here.local_id, "places": child.local_id, "n": "2", "using": ["Muse", "=Other"]}
    client.post(f"/trees/{tree.uid}/models", form)
    generations = Generation.objects.order_by("id")[before:]
    assert len(generations) == 8 and {generation.point_id for generation in generations} == {
        here.pk,
        child.pk,
    }
    client.post(f"/trees/{tree.uid}/models", {"places": "", "n": "2"})
    assert Generation.objects.count() == before + 8


def test_contributions_are_counted_by_day_and_author(
    actor: Actor, scene: tuple[Node, Participant, Participant], tree: Tree
) -> None:
    rows = contributions(tree)
    texts = {row.who.name: row.texts for row in rows}
    assert texts == {"Owner": 2, "Muse": 4, "=Other": 1}
    assert sum(row.characters for row in rows) == sum(
        Node.objects.filter(tree=tree, kind="text").values_list("length", flat=True)
    )


def test_the_days_and_the_counts_lead_to_their_texts(
    owner: User, tree: Tree, scene: tuple[Node, Participant, Participant]
) -> None:
    here, muse, other = scene
    client = Client()
    client.force_login(owner)
    page = client.get(f"/trees/{tree.uid}/models").content.decode()
    day = here.created_at.date().isoformat()
    address = f"?model={muse.uid}&amp;day={day}#behind"
    assert address in page and f"?model={muse.uid}&amp;figure=asked#behind" in page
    behind = client.get(f"/trees/{tree.uid}/models?model={muse.uid}&day={day}").content.decode()
    section = behind[behind.index('id="behind"') :]
    own = Node.objects.filter(tree=tree, author=muse, kind="text")
    others = Node.objects.filter(tree=tree, kind="text").exclude(author=muse)
    assert own.exists() and all(node.local_id in section for node in own)
    shown = section[: section.index("</section>")]
    assert not any(f'?node={node.local_id}"><code' in shown for node in others)
    asked = client.get(f"/trees/{tree.uid}/models?model={other.uid}&figure=asked").content.decode()
    ended = Generation.objects.filter(tree=tree, participant=other, ended_at__isnull=False)
    assert asked.count('<li class="skim-cell">') == ended.count() > 1
    assert ended.filter(node=None).exists()
    for wrong in ("day=yesterday", "day=2026-13-40", "figure=none"):
        status = client.get(f"/trees/{tree.uid}/models?model={muse.uid}&{wrong}").status_code
        assert status == (200 if wrong.startswith("figure") else 404)


def test_nobody_compares_models_of_another_grove(
    two_groves: TwoGroves, api: Callable[..., APIClient]
) -> None:
    there = two_groves.right
    agent = two_groves.agent(there)
    _wrote(agent, there.actor(two_groves.only_right).participant, there.text, SECRET)
    for user, status in (
        (two_groves.only_left, 404),
        (two_groves.nobody, 404),
        (two_groves.both, 200),
    ):
        for address in (f"/api/trees/{there.tree.uid}/models", f"/trees/{there.tree.uid}/models"):
            assert two_groves.client(user).get(address).status_code == status
    form = {"places": there.text.local_id, "n": "1", "using": [agent.name]}
    answer = two_groves.client(two_groves.only_left).post(f"/trees/{there.tree.uid}/models", form)
    assert answer.status_code == 404 and Generation.objects.count() == 1


@pytest.mark.parametrize("many", [3, 30])
def test_more_texts_take_no_more_queries(
    scene: tuple[Node, Participant, Participant],
    actor: Actor,
    tree: Tree,
    many: int,
    django_assert_num_queries: Callable[..., object],
) -> None:
    here, muse, _ = scene
    for number in range(many):
        _wrote(muse, actor.participant, here, f"Text {number}.")
    with django_assert_num_queries(6):  # type: ignore[attr-defined]
        compared(tree, only_shared=True)
        contributions(tree)
