"""The OpenAPI schema tells the truth: generated requests, good and bad, get what it says."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from rest_framework.test import APIClient

from loom.people.commands import accounts as people
from tests.interfaces.matrix import ROWS
from tests.interfaces.world import (
    kept_world,  # noqa: F401 (a fixture)
    person,
)

pytestmark = pytest.mark.django_db

# What the {uid} of an address is one of, by its first word.
NAMED = {
    "groves": "grove",
    "trees": "tree",
    "participants": "participant",
    "workspaces": "workspace",
    "generations": "generation",
    "calls": "call",
    "imports": "import",
}
# The schema says nothing of its own addresses.
FIRST_WORDS = sorted({row.route.split("/")[0] for row in ROWS} - {"docs", "schema"})


@pytest.fixture(scope="module")
def generated() -> ModuleType:
    """tests/interfaces/generated.py, which takes seconds to load."""
    from tests.interfaces import generated

    return generated


@pytest.fixture
def headers(
    generated: ModuleType, world: dict[str, str], settings: Any
) -> Iterator[dict[str, str]]:
    """The owner's, as an outside program sends them, on the test's own connection."""
    settings.REQUESTS_A_MINUTE = 1_000_000
    app = get_wsgi_application()
    for operation in generated.OPERATIONS:
        operation.app = app
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    owner = person("owner")
    assert owner is not None
    key = people.make_key(owner, "test")[1]
    yield {"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"}
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_the_schema_is_one_that_others_can_read(generated: ModuleType) -> None:
    generated.SCHEMA.validate()
    schema = generated.MADE
    assert schema["openapi"].startswith("3.1")
    operations = [
        operation for methods in schema["paths"].values() for operation in methods.values()
    ]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    assert all(operation["summary"] and operation["tags"] for operation in operations)


def test_the_schema_is_built_once(generated: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    client = APIClient()
    assert client.get("/api/schema/").json() == generated.MADE

    def again(*_: object) -> None:
        raise AssertionError("it was built again")

    monkeypatch.setattr(generated.SchemaGenerator, "parse", again)
    assert client.get("/api/schema/?version=2").json() == generated.MADE


def test_sizes_and_content_types_are_said_as_they_are(generated: ModuleType) -> None:
    paths = generated.MADE["paths"]
    for methods in paths.values():
        for method in methods.values():
            assert "413" in method["responses"]
    export = paths["/api/trees/{uid}/export"]["get"]["responses"]["200"]["content"]
    assert export["application/json"]["schema"]["type"] == "object"
    assert export["text/markdown"]["schema"]["type"] == "string"
    bodies = generated.MADE["components"]["schemas"]
    assert bodies["GroveSent"]["properties"]["name"]["minLength"] == 1
    assert bodies["PasswordSent"]["properties"]["new"]["minLength"] == 8


@pytest.mark.parametrize("first", FIRST_WORDS)
def test_what_is_generated_gets_what_the_schema_says(
    first: str,
    generated: ModuleType,
    world: dict[str, str],
    headers: dict[str, str],
) -> None:
    for operation in generated.OPERATIONS:
        if generated.first_word(operation) == first:
            generated.try_operation(operation, world.get(NAMED.get(first, ""), ""), headers)


def test_each_operation_is_tried(generated: ModuleType) -> None:
    tried = {generated.first_word(operation) for operation in generated.OPERATIONS}
    assert tried == set(FIRST_WORDS)


# What refuses more than half of what its schema allows, and why no schema can tell.
LOOSE = {
    "POST /api/trees/{uid}/commands": "the grammar of lines is docs/commands.md",
    "POST /api/workspaces/{uid}/commands": "likewise",
    "GET /api/steps": "of a workspace or of a turn: OpenAPI has no either-or for queries",
    "GET /api/workspaces/{uid}/context": "a participant is named for a person's workspace only",
    "GET /api/groves/{uid}/search": "by q or by tag, likewise",
    "POST /api/groves/{uid}/saved": "lines of an arrangement are commands",
    "POST /api/pipes": "its lines are commands",
    "PUT /api/groves/{uid}/web-search": "some services need a key, others an address",
    "POST /api/groves/{uid}/tool-servers": "an address that may be called",
    "POST /api/trees/{uid}/images": "bytes that are an image",
    "POST /api/import": "a part with a file name",
}


@pytest.mark.parametrize("first", FIRST_WORDS)
def test_most_of_what_the_schema_allows_is_not_refused(
    first: str, generated: ModuleType, world: dict[str, str], headers: dict[str, str]
) -> None:
    for operation in generated.OPERATIONS:
        if generated.first_word(operation) == first and operation.label not in LOOSE:
            uid = world.get(NAMED.get(first, ""), "")
            refused = generated.refused(operation, uid, headers)
            assert refused <= 3, f"{operation.label} refuses {refused} of 6"


@pytest.mark.parametrize("offset", ["0" * 12 + "9" * 30, "9" * 5_000, "1" + "0" * 10, "-1", "²"])
def test_no_number_in_a_query_is_too_large_to_be_refused(
    offset: str, world: dict[str, str], headers: dict[str, str]
) -> None:
    for address in (f"imports/{world['import']}/parts", f"groves/{world['grove']}/members"):
        for name in ("offset", "limit"):
            answer = APIClient().get(f"/api/{address}?{name}={offset}", headers=headers)
            assert answer.status_code in (200, 400, 429), (address, answer.content)


def test_a_whole_number_may_be_written_with_a_point(
    world: dict[str, str], headers: dict[str, str]
) -> None:
    address = f"/api/groves/{world['grove']}/settings"
    for written, status in (("300.0", 200), ("300.5", 400), ("3e2", 200)):
        body = f'{{"window_lines_max": {written}}}'
        answer = APIClient().patch(address, body, content_type="application/json", headers=headers)
        assert answer.status_code == status, answer.content
    assert answer.json()["values"]["window_lines_max"] == 300


def test_ids_in_queries_have_the_shape_of_ids(generated: ModuleType) -> None:
    asked = [
        parameter
        for methods in generated.MADE["paths"].values()
        for operation in methods.values()
        for parameter in operation.get("parameters", ())
        if parameter["in"] == "query"
        and parameter["name"] in ("tree", "workspace", "turn", "participant")
    ]
    assert len(asked) >= 4
    assert all("A-Za-z0-9" in parameter["schema"]["pattern"] for parameter in asked)
    title = generated.MADE["components"]["schemas"]["DocumentSent"]["properties"]["title"]
    assert (title["minLength"], title["maxLength"]) == (1, 200)
