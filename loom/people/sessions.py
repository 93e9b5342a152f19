"""Who sends a request: their session and their account, by queries whose SQL is built once. Django
builds both for each request, which was a quarter of what a small one took (measured)."""

from types import SimpleNamespace
from typing import Any, cast

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.backends import ModelBackend
from django.contrib.sessions.backends import db
from django.http import HttpRequest, parse_cookie
from django.utils import timezone

from loom.people.commands import accounts as people
from loom.people.models import User
from loom.platform.prepared_queries import Given, PreparedQuery

_data = PreparedQuery(
    lambda: (
        db.SessionStore.get_model_class()
        .objects.filter(session_key=Given("key"), expire_date__gt=Given("now"))
        .values_list("session_data")
    )
)
_account = PreparedQuery(lambda: User.objects.filter(pk=Given("pk")))


class SessionStore(db.SessionStore):
    """Django's sessions in the database."""

    def load(self) -> dict[str, Any]:
        """What the session holds; nothing if it is over or unknown."""
        row = _data.first(key=self.session_key or "", now=timezone.now())
        if row is None:
            self._session_key = None
            return {}
        held: dict[str, Any] = self.decode(row[0])
        return held


def signed_in_by(cookies: str) -> tuple[User, SessionStore] | None:
    """Who has signed in with these cookies (a header), and their session; None if nobody has."""
    session = SessionStore(parse_cookie(cookies).get(settings.SESSION_COOKIE_NAME, ""))
    user = get_user(cast(HttpRequest, SimpleNamespace(session=session)))
    return (user, session) if isinstance(user, User) and user.is_active else None


class Accounts(ModelBackend):
    """Django's way to sign in with a name and a password."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **others: Any,
    ) -> User | None:
        """The user of that name, whatever its case, if the password is theirs; else None. An
        unknown name asks the same queries and hashes a password as well, so that the time of an
        answer does not tell who has an account."""
        known = people.find_user(username or "", active=False)
        name = known.username if known is not None else username
        user = super().authenticate(request, username=name, password=password, **others)
        return user if isinstance(user, User) else None

    def get_user(self, user_id: int) -> User | None:
        """The account of a session; None if it is gone or may not sign in."""
        user = _account.first(pk=user_id)
        return user if user is not None and self.user_can_authenticate(user) else None
