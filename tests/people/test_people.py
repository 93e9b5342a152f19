"""Users, one-time links and keys."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import connection
from django.http import HttpResponse
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import Grove, Participant, SigninLink, User
from tests.people.conftest import AtOnce

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    "name", ["", "a b", "a\n", "ада\u2028", "a/b", "x" * 81, "a\0", "\ud800", "<b>", "a\u3164"]
)
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(CommandError) as refused:
        people.make_user(name)
    assert refused.value.code in ("INVALID_SYNTAX", "LIMIT_EXCEEDED")
    assert not User.objects.exists()


def test_a_name_is_taken_whatever_its_case() -> None:
    people.make_user("Ada")
    with pytest.raises(CommandError, match="taken"):
        people.make_user("aDA")


@pytest.mark.parametrize("password", ["short", "password1", "12345678", "adalovelace"])
def test_a_weak_password_is_refused(password: str) -> None:
    with pytest.raises(CommandError) as refused:
        people.make_user("adalovelace", password)
    assert refused.value.code == "INVALID_SYNTAX"


def test_a_user_without_a_password_comes_in_by_links_only() -> None:
    user = people.make_user("ada")
    assert not user.has_usable_password()
    assert people.redeem_signin(people.make_signin_link(user)) == user


def test_a_link_works_once_and_for_a_day() -> None:
    user = people.make_user("ada")
    secret = people.make_signin_link(user)
    assert secret not in str(SigninLink.objects.values())
    people.redeem_signin(secret)
    late = people.make_signin_link(user)
    SigninLink.objects.filter(used_at=None).update(expires_at=timezone.now() - timedelta(seconds=1))
    barred = people.make_signin_link(user)
    for spent in (secret, late, "nonsense", ""):
        with pytest.raises(CommandError) as refused:
            people.redeem_signin(spent)
        assert refused.value.code == "NOT_FOUND"
    User.objects.update(is_active=False)
    with pytest.raises(CommandError):
        people.redeem_signin(barred)


def test_a_link_ends_when_its_user_changes_the_password(rf: RequestFactory) -> None:
    ada, ben = people.make_user("ada", "ivory-tower-9"), people.make_user("ben")
    link, others = people.make_signin_link(ada), people.make_signin_link(ben)
    request = rf.post("/")
    SessionMiddleware(lambda _: HttpResponse())(request)
    with pytest.raises(CommandError):
        people.change_password(request, ada, old="wrong", new="glade-of-birches")
    assert people.find_signin_link(link) is not None
    people.change_password(request, ada, old="ivory-tower-9", new="glade-of-birches")
    with pytest.raises(CommandError):
        people.redeem_signin(link)
    assert people.redeem_signin(others) == ben
    left = people.make_signin_link(ada)
    people.end_other_sessions(request, ada)
    assert people.find_signin_link(left) is None


def test_two_browsers_cannot_use_one_link(at_once: AtOnce) -> None:
    user = people.make_user("ada")
    for _ in range(5):
        secret = people.make_signin_link(user)
        outcomes = at_once(*[lambda s=secret: people.redeem_signin(s)] * 3)
        assert sorted(map(str, outcomes)) == ["NOT_FOUND", "NOT_FOUND", "ada"]


@pytest.mark.parametrize("name", ["", " ", "a\0", "x" * 81])
def test_a_key_has_a_name(name: str, owner: User) -> None:
    with pytest.raises(CommandError):
        people.make_key(owner, name)


@pytest.mark.parametrize("name", ["оwner", "ＯＷＮＥＲ", "0wner"])
def test_no_user_is_called_like_another(owner: User, name: str) -> None:
    with pytest.raises(CommandError) as refused:
        people.make_user(name)
    assert refused.value.code == "CONFLICT"


def test_a_shown_name_is_seen_whole(owner: User) -> None:
    with pytest.raises(CommandError):
        people.show_as(owner, name="Ada\u202e")
    people.show_as(owner, name="")
    assert owner.display_name == ""


def test_a_shown_name_is_that_in_all_groves_with_a_number_where_it_is_taken(
    grove: Grove, owner: User, writer: User
) -> None:
    other = groves.make_grove(writer, "Another")
    groves.show_as(writer, name="Owner")
    seen = {
        participant.grove: participant.name
        for participant in Participant.objects.filter(user=writer)
    }
    assert seen == {grove: "Owner 2", other: "Owner"}
    groves.show_as(writer, theme="dark")
    groves.show_as(writer, name="")
    assert set(Participant.objects.filter(user=writer).values_list("name", flat=True)) == {"writer"}
    last = Event.objects.filter(stream__name=f"grove:{grove.uid}").latest("seq")
    assert (last.kind, last.payload["member"]["name"]) == ("member.changed", "writer")


def test_who_enters_with_a_name_that_looks_like_another_has_a_number(
    grove: Grove, owner: User
) -> None:
    user = people.make_user("newcomer", display_name="Оwner")
    assert groves.join(grove, user, "writer").participant.name == "Оwner 2"


def test_two_who_sign_up_at_once_with_names_that_look_alike_are_one_too_many(
    monkeypatch: pytest.MonkeyPatch, db: None
) -> None:
    people.make_user("mario")
    like = people._like
    refused = []
    for name in ("mаrio", "Mario", "rnario"):  # a Cyrillic а, a capital, r and n
        # The first signs up between the check of the second and its write.
        monkeypatch.setattr(people, "_like", _blind_once(like))
        with pytest.raises(CommandError) as caught:
            people.make_user(name)
        refused.append((caught.value.code, caught.value.message))
    assert refused == [("CONFLICT", "The name mario is taken.")] * 3
    assert User.objects.count() == 1


def _blind_once(like: Callable[[str], str | None]) -> Callable[[str], str | None]:
    answers = iter([lambda _: None, like])

    def blind(name: str) -> str | None:
        return next(answers)(name)

    return blind


def test_signing_up_reads_no_list_of_names(db: None) -> None:
    seen = []
    for many in (2, 40):
        for number in range(many):
            people.make_user(f"person-{many}-{chr(97 + number % 26)}{number}x")
        with CaptureQueriesContext(connection) as queries:
            people.make_user(f"newcomer-{many}")
        sql = [query["sql"] for query in queries if query["sql"].startswith("SELECT")]
        assert all("WHERE" in query and "LIMIT 1" in query for query in sql)
        seen.append(len(sql))
    assert seen[0] == seen[1]
