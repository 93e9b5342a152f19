"""The OpenAPI schema tells the truth: generated requests, good and bad, get what it says."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as examples
from rest_framework.test import APIClient
from rest_framework.utils.encoders import JSONEncoder
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from loom.people.commands import accounts as people
from tests.interfaces.world import (
    kept_world,  # noqa: F401 (a fixture)
    person,
)
from tests.thorough import THOROUGH

pytestmark = pytest.mark.django_db


def refuses_bad_bodies(context: Any, response: Any, case: Any) -> None:
    """A body that breaks the schema is refused; 413 and 429 say so as well as 400."""
    body = case.meta.components.get(ParameterLocation.BODY)
    if body is not None and body.mode is GenerationMode.NEGATIVE:
        assert 400 <= response.status_code < 500, response.content


CHECKS = [
    not_a_server_error,
    response_schema_conformance,
    refuses_bad_bodies,
    status_code_conformance,
    content_type_conformance,
]
# A file is described by its type only; and without a model for summaries there are none (503).
LESS_CHECKED = ("GET /api/trees/{uid}/export", "POST /api/trees/{uid}/summaries")
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
MADE = json.loads(
    json.dumps(SchemaGenerator().get_schema(public=True), cls=JSONEncoder)  # type: ignore[no-untyped-call]
)
SCHEMA = schemathesis.openapi.from_dict(MADE)
OPERATIONS: list[Any] = [found.ok() for found in SCHEMA.get_all_operations()]  # type: ignore[union-attr]


EXAMPLES = examples(
    max_examples=6 if THOROUGH else 2,
    deadline=None,
    phases=(Phase.generate,),  # a failure is told as it is: shrinking takes a minute
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def headers(world: dict[str, str], settings: Any) -> Iterator[dict[str, str]]:
    """The owner's, as an outside program sends them, on the test's own connection."""
    settings.REQUESTS_A_MINUTE = 1_000_000
    app = get_wsgi_application()
    for operation in OPERATIONS:
        operation.app = app
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    owner = person("owner")
    assert owner is not None
    key = people.make_key(owner, "test")[1]
    yield {"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"}
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_the_schema_is_one_that_others_can_read() -> None:
    SCHEMA.validate()
    assert MADE["openapi"].startswith("3.1")
    operations = [one for methods in MADE["paths"].values() for one in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    assert all(operation["summary"] and operation["tags"] for operation in operations)


def test_the_schema_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    client = APIClient()
    assert client.get("/api/schema/").json() == MADE

    def again(*_: object) -> None:
        raise AssertionError("it was built again")

    monkeypatch.setattr(SchemaGenerator, "parse", again)
    assert client.get("/api/schema/?version=2").json() == MADE


def test_sizes_and_content_types_are_said_as_they_are() -> None:
    paths = MADE["paths"]
    for methods in paths.values():
        for method in methods.values():
            assert "413" in method["responses"]
    export = paths["/api/trees/{uid}/export"]["get"]["responses"]["200"]["content"]
    assert export["application/json"]["schema"]["type"] == "object"
    assert export["text/markdown"]["schema"]["type"] == "string"
    bodies = MADE["components"]["schemas"]
    assert bodies["GroveSent"]["properties"]["name"]["minLength"] == 1
    assert bodies["PasswordSent"]["properties"]["new"]["minLength"] == 8


def _first(operation: Any) -> str:
    return str(operation.path.removeprefix("/api/").split("/")[0])


@pytest.mark.parametrize("first", sorted({_first(one) for one in OPERATIONS}))
def test_what_is_generated_gets_what_the_schema_says(
    first: str,
    world: dict[str, str],
    headers: dict[str, str],
) -> None:
    for operation in OPERATIONS:
        if _first(operation) == first:
            _try(operation, world.get(NAMED.get(first, ""), ""), headers)


def _try(operation: Any, uid: str, headers: dict[str, str]) -> None:
    checks = CHECKS[2:] if operation.label in LESS_CHECKED else CHECKS

    def one(case: Any) -> None:
        if "uid" in case.path_parameters and uid:
            case.path_parameters["uid"] = uid
        case.call_and_validate(checks=checks, headers=headers)

    for mode in GenerationMode:
        cases = operation.as_strategy(generation_mode=mode)
        EXAMPLES(given(case=cases)(one))()


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
FEW = examples(EXAMPLES, max_examples=6)


@pytest.mark.parametrize("first", sorted({_first(one) for one in OPERATIONS}))
def test_most_of_what_the_schema_allows_is_not_refused(
    first: str, world: dict[str, str], headers: dict[str, str]
) -> None:
    for operation in OPERATIONS:
        if _first(operation) == first and operation.label not in LOOSE:
            refused = _refused(operation, world.get(NAMED.get(first, ""), ""), headers)
            assert refused <= 3, f"{operation.label} refuses {refused} of 6"


def _refused(operation: Any, uid: str, headers: dict[str, str]) -> int:
    count = 0

    def one(case: Any) -> None:
        nonlocal count
        if "uid" in case.path_parameters and uid:
            case.path_parameters["uid"] = uid
        count += case.call(headers=headers).status_code in (400, 413)

    FEW(given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))(one))()
    return count


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


def test_ids_in_queries_have_the_shape_of_ids() -> None:
    asked = [
        one
        for methods in MADE["paths"].values()
        for operation in methods.values()
        for one in operation.get("parameters", ())
        if one["in"] == "query" and one["name"] in ("tree", "workspace", "turn", "participant")
    ]
    assert len(asked) >= 4
    assert all("A-Za-z0-9" in one["schema"]["pattern"] for one in asked)
    title = MADE["components"]["schemas"]["DocumentSent"]["properties"]["title"]
    assert (title["minLength"], title["maxLength"]) == (1, 200)
