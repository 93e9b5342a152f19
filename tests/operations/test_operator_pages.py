"""The pages of an operator: who sees them, what they show, and what they change."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError as Refused
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from lxml import html
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine import put_aside
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import PutAside
from loom.errors import CommandError
from loom.money.days import today
from loom.money.models import DailySpending
from loom.money.queries.allowances import left_of
from loom.money.spending import CandidateRequest, reserve
from loom.operations import commands, measuring, queries, tasks
from loom.operations.models import SizeMeasure
from loom.operations.pages import _ACTIONS, PATHS
from loom.participants.prices import NANO
from loom.people.commands.accounts import find_signin_link, make_key, make_signin_link
from loom.people.commands.groves import make_grove
from loom.people.models import Grove, Participant, User, UserSession
from loom.transfer.models import Import
from loom.trees.models import Tree
from loom.trees.queries.lookup import root_of
from loom.turns.models import Generation
from tests.conftest import join, make_user

pytestmark = pytest.mark.django_db
PAGES = [f"/{path.pattern}" for path in PATHS if "<" not in str(path.pattern)]
FORMS = [f"/operator/do/{name}" for name in (*_ACTIONS, "link")]


@pytest.fixture(name="boss")
def _boss(db: None) -> User:
    """An operator who belongs to no grove."""
    return make_user("boss", is_operator=True)


def browser(user: User | None = None) -> Client:
    """A browser of a user."""
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def shown(user: User, address: str) -> str:
    """The page, which is there."""
    answer = browser(user).get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def sent(who: User, form: str, /, **fields: Any) -> str:
    """The page that a form leads to."""
    answer = browser(who).post(f"/operator/do/{form}", fields, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def test_nobody_but_an_operator_sees_the_pages(
    boss: User, owner: User, writer: User, outsider: User, stranger: User
) -> None:
    for user in (owner, writer, outsider, stranger):
        client = browser(user)
        assert {client.get(page).status_code for page in PAGES} == {404}
        assert {client.post(form, {"user": "boss"}).status_code for form in FORMS} == {404}
        assert 'href="/operator"' not in client.get("/settings").content.decode()
    nobody = browser()
    assert {nobody.get(page).status_code for page in PAGES} == {302}
    assert 'href="/operator"' in browser(boss).get("/settings").content.decode()
    for page in PAGES:
        shown(boss, page)
    User.objects.filter(pk=boss.pk).update(is_operator=False)
    assert {browser(boss).get(page).status_code for page in PAGES} == {404}


def test_no_key_of_an_operator_reads_the_pages(boss: User) -> None:
    _, secret = make_key(boss, "laptop")
    for page in PAGES:
        client = APIClient()
        client.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
        assert client.get(page).status_code == 302


def test_an_operator_who_is_no_member_sees_no_title_and_no_text(
    boss: User, actor: Actor, tree: Tree
) -> None:
    Tree.objects.filter(pk=tree.pk).update(title="KESTREL")
    execute_line(actor, tree, Request('respond root "A KESTREL."'))
    assert "KESTREL" not in "".join(shown(boss, page) for page in PAGES)
    assert browser(boss).get(f"/trees/{tree.uid}").status_code == 404
    assert browser(boss).get(f"/groves/{tree.grove.uid}").status_code == 404


def test_people_are_found_by_their_names(boss: User, owner: User, outsider: User) -> None:
    page = shown(boss, "/operator/people?q=OUT")
    assert "outsider" in page and ">owner<" not in page
    assert "Nobody has such a name." in shown(boss, "/operator/people?q=nobody%00here")
    assert shown(boss, "/operator/people?page=999999999999999999999")
    assert shown(boss, "/operator/people?page=-1")


def test_what_is_done_with_somebody_leaves_the_search_as_it_was(boss: User, outsider: User) -> None:
    client = browser(boss)
    searched = "/operator/people?q=out+%26&page=2"
    page = html.fromstring(client.get("/operator/people?q=out").content.decode())
    forms = [form for form in page.forms if form.method == "POST" and "/do/" in form.action]
    assert forms and all(form.action.endswith("?q=out") for form in forms)
    answer = client.post("/operator/do/close?q=out+%26&page=2&x=1", {"user": "outsider"})
    assert answer["Location"] == searched
    assert client.post("/operator/do/link?q=out+%26&page=2", {"user": "x"})["Location"] == searched
    client.post("/operator/do/open", {"user": "outsider"})
    linked = client.post("/operator/do/link?q=out", {"user": "outsider"}).content.decode()
    assert 'value="out"' in linked and "Sign-in link for boss" not in linked


def test_lists_are_paged(boss: User) -> None:
    for number in range(queries.PAGE):
        make_user(f"p{number:03}")
    first = shown(boss, "/operator/people")
    assert "p048" in first and "p049" not in first and 'href="/operator/people?page=2"' in first
    second = shown(boss, "/operator/people?page=2")
    assert (
        "p049" in second and 'href="/operator/people?page=1"' in second and "page=3" not in second
    )


def test_a_closed_account_can_do_nothing_and_opens_again(
    boss: User, writer: User, tree: Tree
) -> None:
    client = browser()
    assert client.login(username="writer", password="writer-password")
    signed = browser()
    signed.post("/signin", {"username": "writer", "password": "writer-password"})
    assert signed.get(f"/trees/{tree.uid}").status_code == 200
    _, secret = make_key(writer, "laptop")
    api = APIClient()
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {secret}")
    assert api.get(f"/api/trees/{tree.uid}").status_code == 200
    assert "The account of writer is closed." in sent(boss, "close", user="writer")
    assert not UserSession.objects.filter(user=writer).exists()
    assert signed.get(f"/trees/{tree.uid}").status_code == 302
    assert client.get(f"/trees/{tree.uid}").status_code == 302
    assert api.get(f"/api/trees/{tree.uid}").status_code == 401
    assert "This account is closed." in sent(boss, "link", user="writer")
    assert "is open" in sent(boss, "open", user="writer")
    assert api.get(f"/api/trees/{tree.uid}").status_code == 200


def test_somebody_is_signed_out_everywhere_and_gets_a_link(boss: User, writer: User) -> None:
    signed = browser()
    signed.post("/signin", {"username": "writer", "password": "writer-password"})
    assert signed.get("/settings").status_code == 200
    early, others = make_signin_link(writer), make_signin_link(boss)
    assert "has been signed out everywhere" in sent(boss, "sign-out", user="writer")
    assert signed.get("/settings").status_code == 302
    assert find_signin_link(early) is None and find_signin_link(others) is not None
    page = sent(boss, "link", user="writer")
    link = page.split("http://testserver", 1)[1].split("<", 1)[0]
    assert signed.post(link, follow=True).status_code == 200
    assert signed.get("/settings").status_code == 200


def test_an_operator_stays(boss: User) -> None:
    assert "You cannot close your own account." in sent(boss, "close", user="boss")
    with pytest.raises(CommandError, match="There has to be an operator"):
        commands.make_operator(boss, really=False)
    assert "was not found" in sent(boss, "close", user="nobody")
    assert browser(boss).post("/operator/do/nothing").status_code == 404


def test_operators_are_made_by_a_management_command(
    boss: User, writer: User, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("operator", "writer")
    assert User.objects.get(pk=writer.pk).is_operator
    call_command("operator", "writer", "--remove")
    assert not User.objects.get(pk=writer.pk).is_operator
    assert capsys.readouterr().out.splitlines() == [
        "writer is an operator.",
        "writer is no operator any more.",
    ]
    for words in (["boss", "--remove"], ["nobody"]):
        with pytest.raises(Refused):
            call_command("operator", *words)


def test_commands_refuse_who_is_no_operator(owner: User, writer: User, grove: Grove) -> None:
    tries: list[Callable[[], object]] = [
        lambda: commands.close_account(owner, "writer"),
        lambda: commands.open_account(owner, "writer"),
        lambda: commands.end_sessions(owner, "writer"),
        lambda: commands.signin_secret(owner, "writer"),
        lambda: commands.set_ceiling(owner, grove.uid, 1),
        lambda: commands.take_up_again(owner, "import", "a"),
        lambda: commands.drop(owner, "import", "a"),
    ]
    for attempt in tries:
        with pytest.raises(CommandError) as refused:
            attempt()
        assert refused.value.code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("own", "ceiling", "counts"), [(5, "2.5", 2.5), (1, "2.5", 1), (0, "2.5", 2.5), (5, "", 5)]
)
def test_the_lower_of_both_limits_counts(
    boss: User, actor: Actor, grove: Grove, own: float, ceiling: str, counts: float
) -> None:
    Grove.objects.filter(pk=grove.pk).update(settings={"daily_budget_usd": own})
    assert "has been saved" in sent(boss, "limit", grove=grove.uid, limit=ceiling)
    grove.refresh_from_db()
    person = Participant.objects.select_related("grove").get(pk=actor.participant.pk)
    assert left_of(person, today()).limit == counts * NANO
    assert f'value="{ceiling}"' in shown(boss, "/operator/groves")
    body = browser(actor.user).get(f"/api/groves/{grove.uid}/usage").json()
    assert body["limit_usd"] == counts


def test_a_candidate_beyond_the_operators_limit_is_refused(
    boss: User, actor: Actor, muse: Participant, grove: Grove
) -> None:
    muse.prices = {"input": 3, "output": 15}
    grove.settings = {"daily_budget_usd": 0}
    grove.save()
    asked = [CandidateRequest(muse, 1, 1000)]
    person = Participant.objects.select_related("grove").get(pk=actor.participant.pk)
    reserve(person, asked, 1000)
    commands.set_ceiling(boss, grove.uid, 0.0001)
    person = Participant.objects.select_related("grove").get(pk=actor.participant.pk)
    with pytest.raises(CommandError, match="is left"):
        reserve(person, asked, 1000)


def test_a_limit_that_is_none_is_refused(boss: User, grove: Grove) -> None:
    for limit in ("-1", "1e10", "a", "nan"):
        sent(boss, "limit", grove=grove.uid, limit=limit)
    sent(boss, "limit", grove="none", limit="1")
    assert Grove.objects.get(pk=grove.pk).ceiling == 0


def test_costs_are_summed_by_grove(boss: User, owner: User, grove: Grove) -> None:
    person = Participant.objects.get(grove=grove, user=owner)
    for days, nano in ((0, NANO), (29, NANO // 4), (30, 50 * NANO)):
        day = today() - timedelta(days=days)
        DailySpending.objects.create(participant=person, day=day, spent=nano)
    for page in ("/operator", "/operator/groves"):
        assert ">1.25<" in shown(boss, page)


def test_work_that_was_put_aside_is_tried_again(boss: User, grove: Grove) -> None:
    for uid, of in (("a1", grove), ("b2", None)):
        for _ in range(put_aside.MOST_TRIES):
            put_aside.failed("import", uid, ValueError("no room"), grove=of)
    page = shown(boss, "/operator/work")
    assert page.count("ValueError: no room") == 2 and "The grove" in page
    assert "tried again" in sent(boss, "again", kind="import", unit="b2")
    assert PutAside.objects.get(uid="b2").tries == 0
    assert PutAside.objects.get(uid="a1").tries == put_aside.MOST_TRIES
    assert "was not found" in sent(boss, "again", kind="import", unit="none")


def test_work_that_was_put_aside_is_dropped_until_it_fails_anew(boss: User, grove: Grove) -> None:
    def fail(version: int) -> None:
        for _ in range(put_aside.MOST_TRIES):
            put_aside.failed("document", "d1", ValueError("no room"), version=version, grove=grove)

    fail(1)
    assert "is not shown any more" in sent(boss, "drop", kind="document", unit="d1")
    assert put_aside.count() == 0 and not put_aside.of_grove(grove).exists()
    assert "Nothing was put aside." in shown(boss, "/operator/work")
    # It is not tried again.
    assert put_aside.is_left_alone(put_aside.find("document", "d1"), version=1)
    assert "was not found" in sent(boss, "drop", kind="document", unit="d1")
    fail(2)
    assert put_aside.count() == 1


def test_what_runs_is_listed(boss: User, actor: Actor, tree: Tree, muse: Participant) -> None:
    assert "Nothing runs or waits." in shown(boss, "/operator/work")
    root = root_of(tree)
    for status, ended in (("queued", None), ("done", timezone.now())):
        Generation.objects.create(
            tree=tree,
            participant=muse,
            asked_by=actor.participant,
            batch="b",
            point=root,
            index=0,
            status=status,
            uid=f"g{status}",
            ended_at=ended,
        )
    Import.objects.create(
        grove=tree.grove, participant=actor.participant, name="KESTREL.json", file="f", uid="i1"
    )
    page = shown(boss, "/operator/work")
    assert "gqueued" in page and "gdone" not in page
    assert ">i1<" in page and "KESTREL" not in page


def test_sizes_are_measured_once_a_day_and_when_asked(
    boss: User, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Nothing has been measured yet." in shown(boss, "/operator")
    assert (tasks.measure_daily(), tasks.measure_daily()) == (1, 0)
    measure = SizeMeasure.objects.get()
    assert measure.database > 100_000
    names = [name for name, _ in measure.tables]
    assert {"trees_node", "engine_event"} <= set(names)
    assert sum(size for _, size in measure.tables) <= measure.database
    assert "trees_node" in shown(boss, "/operator")
    SizeMeasure.objects.update(at=timezone.now() - timedelta(days=2))
    assert tasks.measure_daily() == 1
    assert SizeMeasure.objects.count() == 1
    asked: list[str] = []
    monkeypatch.setattr("loom.engine.jobs._send", lambda task, *rest: asked.append(task))
    monkeypatch.setattr("django.db.transaction.on_commit", lambda run: run())
    assert "being measured" in sent(boss, "measure")
    assert asked == [tasks.TASK]


def test_pages_make_as_many_queries_however_much_there_is(boss: User, owner: User) -> None:
    def furnish(numbers: range) -> None:
        for number in numbers:
            user = make_user(f"member{number}")
            grove = make_grove(user, f"Grove {number}")
            join(grove, owner, "reader")
            put_aside.failed("import", f"i{number}", ValueError("no"), grove=grove)
            PutAside.objects.filter(uid=f"i{number}").update(tries=put_aside.MOST_TRIES)
            spender = get_actor(user, grove).participant
            DailySpending.objects.create(participant=spender, day=today(), spent=NANO)

    def counted() -> dict[str, int]:
        counts = {}
        client = browser(boss)
        for page in PAGES:
            client.get(page)
            with CaptureQueriesContext(connection) as captured:
                assert client.get(page).status_code == 200
            counts[page] = len(captured)
        return counts

    measuring.measure()
    furnish(range(2))
    few = counted()
    furnish(range(2, 12))
    assert counted() == few
    assert max(few.values()) <= 14
