"""Requests that are generated from the OpenAPI schema, and what their answers are held against.

Imported by the tests of test_schema.py as they run: to load Schemathesis and to build the schema
takes seconds, which every process of a run would spend before its first test.
"""

import json
from typing import Any

import schemathesis
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as examples
from rest_framework.utils.encoders import JSONEncoder
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.thorough import THOROUGH


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
MADE = json.loads(
    json.dumps(SchemaGenerator().get_schema(public=True), cls=JSONEncoder)  # type: ignore[no-untyped-call]
)
SCHEMA = schemathesis.openapi.from_dict(MADE)
OPERATIONS: list[Any] = [loaded.ok() for loaded in SCHEMA.get_all_operations()]  # type: ignore[union-attr]


EXAMPLES = examples(
    max_examples=6 if THOROUGH else 2,
    deadline=None,
    phases=(Phase.generate,),  # a failure is told as it is: shrinking takes a minute
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
FEW = examples(EXAMPLES, max_examples=6)


def first_word(operation: Any) -> str:
    """The first word of an address under /api/."""
    return str(operation.path.removeprefix("/api/").split("/")[0])


def try_operation(operation: Any, uid: str, headers: dict[str, str]) -> None:
    """Sends good and bad requests of an operation, and checks each answer."""
    checks = CHECKS[2:] if operation.label in LESS_CHECKED else CHECKS

    def check(case: Any) -> None:
        if "uid" in case.path_parameters and uid:
            case.path_parameters["uid"] = uid
        case.call_and_validate(checks=checks, headers=headers)

    for mode in GenerationMode:
        cases = operation.as_strategy(generation_mode=mode)
        EXAMPLES(given(case=cases)(check))()


def refused(operation: Any, uid: str, headers: dict[str, str]) -> int:
    """How many of six good requests of an operation are refused as bad ones."""
    count = 0

    def check(case: Any) -> None:
        nonlocal count
        if "uid" in case.path_parameters and uid:
            case.path_parameters["uid"] = uid
        count += case.call(headers=headers).status_code in (400, 413)

    FEW(given(case=operation.as_strategy(generation_mode=GenerationMode.POSITIVE))(check))()
    return count
