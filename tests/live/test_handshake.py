"""Who may open a socket: every kind of credential against every kind of stream."""

from typing import Any

import pytest

from loom.access import Actor
from loom.people.models import ApiKey, Grove, Participant, User
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from tests.live.conftest import ORIGIN, Headers, Opener, bearer, cookie, in_db

pytestmark = pytest.mark.django_db(transaction=True)

ORIGINS = [
    (ORIGIN, None),
    (None, 4401),
    ("null", 4401),
    ("", 4401),
    ("http://testserver.evil.example", 4401),
    ("http://sub.testserver", 4401),
    ("https://testserver", 4401),
    ("http://testserver:8001", 4401),
    ("http://evil.example", 4401),
]


async def _outcome(connect: Opener, place: Tree | str, headers: Headers) -> int | None:
    """The closing code, or None if the socket stays open and is greeted."""
    line = await connect(place, headers)
    first = await line.output()
    return int(first["code"]) if first["type"] == "websocket.close" else None


@pytest.mark.parametrize(("origin", "code"), ORIGINS)
async def test_a_cookie_counts_only_from_a_listed_origin(
    connect: Opener, tree: Tree, owner: User, origin: str | None, code: int | None
) -> None:
    headers = await in_db(cookie)(owner, origin)
    assert await _outcome(connect, tree, headers) == code


@pytest.mark.parametrize("origin", [None, "http://evil.example"])
async def test_a_key_needs_no_origin(
    connect: Opener, tree: Tree, owner: User, origin: str | None
) -> None:
    headers = await in_db(bearer)(owner)
    if origin:
        headers = [*headers, (b"origin", origin.encode())]
    assert await _outcome(connect, tree, headers) is None


@pytest.mark.parametrize(
    "given", ["Bearer nonsense", "Bearer ", "Bearer", "Basic key-of-owner-test", "Bearer \udc80"]
)
async def test_a_bad_key_is_not_saved_by_a_good_cookie(
    connect: Opener, tree: Tree, owner: User, given: str
) -> None:
    await in_db(bearer)(owner)
    header = (b"authorization", given.encode(errors="surrogateescape"))
    headers = [header, *await in_db(cookie)(owner)]
    assert await _outcome(connect, tree, headers) == 4401


async def test_a_revoked_key_opens_nothing(connect: Opener, tree: Tree, owner: User) -> None:
    headers = await in_db(bearer)(owner)
    await in_db(ApiKey.objects.update)(revoked_at="2026-01-01T00:00:00Z")
    assert await _outcome(connect, tree, headers) == 4401


async def test_two_origins_are_none(connect: Opener, tree: Tree, owner: User) -> None:
    headers = [*await in_db(cookie)(owner), (b"origin", b"http://evil.example")]
    assert await _outcome(connect, tree, headers) == 4401


@pytest.mark.parametrize("place", ["tree", "grove", "workspace"])
@pytest.mark.parametrize("by", [bearer, cookie])
@pytest.mark.parametrize(
    ("who", "codes"),
    [
        ("owner", (None, None, None)),
        ("writer", (None, None, 4404)),
        ("reader", (None, None, 4404)),
        ("both", (None, None, 4404)),
        ("outsider", (4404, 4404, 4404)),
        ("stranger", (4404, 4404, 4404)),
        ("nobody", (4401, 4401, 4401)),
    ],
)
async def test_members_hear_their_grove_and_only_their_own_workspace(
    request: pytest.FixtureRequest,
    connect: Opener,
    people: dict[str, User],
    places: dict[str, str],
    place: str,
    by: Any,
    who: str,
    codes: tuple[int | None, ...],
) -> None:
    headers = await in_db(by)(people[who]) if who in people else []
    expected = codes[["tree", "grove", "workspace"].index(place)]
    assert await _outcome(connect, places[place], headers) == expected


@pytest.fixture
def people(
    transactional_db: None,
    owner: User,
    writer: User,
    reader: User,
    both: User,
    outsider: User,
    stranger: User,
) -> dict[str, User]:
    """The standing people by name."""
    return {user.username: user for user in (owner, writer, reader, both, outsider, stranger)}


@pytest.fixture
def places(tree: Tree, grove: Grove, actor: Actor) -> dict[str, str]:
    """A path for each kind of stream; the workspace is the owner's."""
    workspace = node_writer.workspace_of(actor.participant, tree)
    return {
        "tree": f"/ws/trees/{tree.uid}",
        "grove": f"/ws/groves/{grove.uid}",
        "workspace": f"/ws/workspaces/{workspace.uid}",
    }


async def test_an_agents_workspace_is_open_to_members(
    connect: Opener, tree: Tree, muse: Participant, people: dict[str, User]
) -> None:
    workspace = await in_db(node_writer.workspace_of)(muse, tree)
    for name, code in (("reader", None), ("outsider", 4404)):
        headers = await in_db(bearer)(people[name])
        assert await _outcome(connect, f"/ws/workspaces/{workspace.uid}", headers) == code


@pytest.mark.parametrize(
    "path", ["/ws/trees/nope", "/ws/", "/ws/trees/", "/ws/users/1", "/", "/ws/trees/a/b"]
)
async def test_what_is_not_there_is_closed_like_what_is_not_yours(
    connect: Opener, owner: User, path: str
) -> None:
    assert await _outcome(connect, path, await in_db(bearer)(owner)) == 4404


async def test_an_erasing_tree_is_not_there(connect: Opener, tree: Tree, owner: User) -> None:
    await in_db(Tree.objects.update)(erasing_at="2026-01-01T00:00:00Z")
    assert await _outcome(connect, tree, await in_db(bearer)(owner)) == 4404


async def test_an_empty_since_is_none(connect: Opener, tree: Tree, owner: User) -> None:
    line = await connect(tree, await in_db(bearer)(owner), since="")
    assert (await line.frame())["type"] != "error"


@pytest.mark.parametrize("since", ["-1", "x", "1.5", "٣", "9" * 30, "1&since=2"])
async def test_a_since_that_is_not_a_number_is_refused_and_closed(
    connect: Opener, tree: Tree, owner: User, since: str
) -> None:
    line = await connect(tree, await in_db(bearer)(owner), since=since)
    frame = await line.frame()
    assert (frame["type"], frame["code"]) == ("error", "INVALID_SYNTAX")
    assert frame["hint"]
    assert await line.closed() == 4400
