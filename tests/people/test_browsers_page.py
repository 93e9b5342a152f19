"""The browsers that somebody is signed in with, on the page about access: listed and ended."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from loom.people.models import User, UserSession

pytestmark = pytest.mark.django_db


def signed_in(user: User, agent: str = "Firefox/140.0 (X11; Linux)") -> Client:
    """A browser in which somebody has entered their password."""
    client = Client(HTTP_USER_AGENT=agent)
    given = {"username": user.username, "password": f"{user.username}-password"}
    assert client.post("/signin", given).status_code == 302
    return client


def is_in(client: Client) -> bool:
    """Whether the browser is signed in."""
    return client.get("/settings").status_code == 200


def test_all_others_are_signed_out_at_once(owner: User, writer: User) -> None:
    here, *others = [signed_in(owner) for _ in range(3)]
    stranger = signed_in(writer)
    page = here.get("/settings/access").content.decode()
    assert page.count("Firefox on Linux") == 3 and "Sign out everywhere else" in page
    answer = here.post("/settings/end-other-sessions", follow=True).content.decode()
    assert "You are signed in with this browser only." in answer
    assert "Sign out everywhere else" not in answer
    assert [is_in(client) for client in (here, *others, stranger)] == [True, False, False, True]
    assert UserSession.objects.filter(user=owner).count() == 1


def test_a_session_that_is_over_is_not_listed(owner: User) -> None:
    here = signed_in(owner)
    signed_in(owner, "Chrome/140.0 (X11; Linux)")
    assert "Chrome on Linux" in here.get("/settings/access").content.decode()
    over = UserSession.objects.get(agent__startswith="Chrome").session_key
    past = timezone.now() - timedelta(days=1)
    Session.objects.filter(session_key=over).update(expire_date=past)
    assert "Chrome on Linux" not in here.get("/settings/access").content.decode()
