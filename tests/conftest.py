"""Fixtures for all tests: people with fixed roles, small trees, and API clients."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.utils import translation
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.engine import announcements, streams
from loom.engine.event_kinds import demand_payload
from loom.engine.streams import Writer
from loom.people.models import Grove, Membership, Participant, User
from loom.platform.broker import broker
from loom.platform.inserts import insert_row
from loom.trees.commands import trees
from loom.trees.models import Tree
from tests.databases import drop_test_database, make_test_database
from tests.patience import PATIENCE_S
from tests.thorough import tries
from tests.triggers import _flush_without_triggers  # noqa: F401 (a fixture for all)
from tests.two_groves import two_groves  # noqa: F401 (a fixture for all)

# A busy machine may draw examples slowly; that is not a failure.
hypothesis_settings.register_profile(
    "heddle",
    max_examples=tries(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
hypothesis_settings.load_profile("heddle")


# Files with tests that take seconds each, or that one process runs in one go.
LONG = (
    "test_bad_requests test_dry_run test_equal_counts test_explorations test_exploring "
    "test_injection test_litellm test_litellm_connections test_matrix test_readme test_schema "
    "test_seen_by_others test_stalls test_turns test_two_groves test_two_sizes test_waiting "
    "test_windows test_workspace"
).split()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts tests that start processes and wait for them first, so that other tests run in the
    meantime: the random kills, then other tests marked `kill`; then slow tests, so that no process
    ends much later than the others."""

    def place(item: pytest.Item) -> tuple[int, str]:
        if item.get_closest_marker("kill"):
            is_random = item.path.name == "test_random_kills.py"
            return (0 if is_random else 1, item.path.parent.name)
        is_long = item.path.parent.name == "machines" or item.path.stem in LONG
        return (2 if is_long else 3, "")

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """Excludes modules and tests from garbage collection, because they live until the end of the
    run."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _quick_passwords() -> None:
    """Uses a fast password hash: the slow one would take half of the whole run."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _own_language() -> Iterator[None]:
    """A test that reads in German leaves no German to the next one."""
    yield
    translation.deactivate()


@pytest.fixture(scope="session", autouse=True)
def _checked_events() -> Iterator[None]:
    """Every event that a test writes says what its kind declares."""
    append = Writer.append

    def checked(self: Writer, kind: str, payload: dict[str, Any]) -> int:
        seq = append(self, kind, payload)
        if not self.is_dry:
            demand_payload(kind, payload)
        return seq

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Writer, "append", checked)
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient_sender() -> None:
    """A broker that is slow on a busy machine must not count as down."""
    announcements.SEND_S = PATIENCE_S


@pytest.fixture(scope="session")
def django_db_setup(
    request: pytest.FixtureRequest,
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: Any,
) -> Iterator[None]:
    """Gives this process its own database, a copy of a migrated one, instead of pytest-django's."""
    # Without pytest's cache (`-p no:cacheprovider`): a folder for temporary files.
    cache_of_pytest: Any = getattr(request.config, "cache", None)
    folder = Path(gettempdir(), f"heddle-database-{os.getuid()}")
    if cache_of_pytest is not None:
        folder = Path(cache_of_pytest.mkdir("heddle-database"))
    folder.mkdir(mode=0o700, exist_ok=True)
    name = str(connection.settings_dict["NAME"])
    with django_db_blocker.unblock():
        make_test_database(connection, folder)
    yield
    with django_db_blocker.unblock():
        drop_test_database(connection, name)


def make_user(name: str, **fields: Any) -> User:
    """A user with the password `name`-password."""
    user = User(username=name, **fields)
    user.set_password(f"{name}-password")
    return insert_row(user)


def join(grove: Grove, user: User, role: str) -> Participant:
    """Makes `user` a member of `grove`, without events."""
    person = Participant(grove=grove, kind="human", name=user.username.title(), user=user)
    insert_row(person)
    insert_row(Membership(grove=grove, user=user, participant=person, role=role))
    return person


@pytest.fixture
def grove(db: None) -> Grove:
    """A grove without members."""
    new_grove = insert_row(Grove(name="The grove"))
    streams.open_stream(new_grove)
    return new_grove


def _standing(role: str) -> Callable[[Grove], User]:
    def person(grove: Grove) -> User:
        user = make_user(role)
        join(grove, user, role)
        return user

    return person


owner = pytest.fixture(_standing("owner"), name="owner")
writer = pytest.fixture(_standing("writer"), name="writer")
reader = pytest.fixture(_standing("reader"), name="reader")


@pytest.fixture
def both(grove: Grove) -> User:
    """A writer of the grove who also writes in another one."""
    user = make_user("both")
    join(grove, user, "writer")
    other = Grove.objects.create(name="Elsewhere")
    streams.open_stream(other)
    join(other, user, "writer")
    return user


@pytest.fixture
def outsider(both: User) -> User:
    """The owner of another grove, which shares one member with the grove of the test."""
    user = make_user("outsider")
    join(Grove.objects.get(name="Elsewhere"), user, "owner")
    return user


@pytest.fixture
def stranger(db: None) -> User:
    """A user who can sign in and belongs to no grove."""
    return make_user("stranger")


@pytest.fixture
def actor(owner: User, grove: Grove) -> Actor:
    """The owner, as an actor in the grove."""
    return get_actor(owner, grove)


@pytest.fixture
def muse(grove: Grove) -> Participant:
    """A model participant that is only sent text."""
    return Participant.objects.create(
        grove=grove, kind="model", name="Muse", model_ref="local:smollm2", max_tokens=60
    )


@pytest.fixture
def tree(actor: Actor) -> Tree:
    """An empty dialogue tree made by the owner."""
    return trees.new_tree(actor, title="Marie")


@pytest.fixture
def buffer(actor: Actor) -> Tree:
    """An empty buffer tree made by the owner."""
    return trees.new_tree(actor, title="The house", mode="buffer")


@pytest.fixture
def api() -> Callable[..., APIClient]:
    """A client signed in as a user (None: nobody)."""

    def client(user: User | None = None) -> APIClient:
        client = APIClient()
        if user is not None:
            client.force_login(user)
        return client

    return client


@pytest.fixture
def broker_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker has just not answered, and is not asked again in this test."""
    monkeypatch.setattr(broker, "_is_away", True)
    monkeypatch.setattr(broker, "_until", float("inf"))


@pytest.fixture(autouse=True)
def _clean_cache(request: pytest.FixtureRequest) -> Iterator[None]:
    """Rate limits and the like must not leak from test to test, nor that a broker was away."""
    broker.answered()
    yield
    broker.answered()
    asked = {"db", "transactional_db"} & set(request.fixturenames)
    if asked or request.node.get_closest_marker("django_db"):
        cache.clear()
