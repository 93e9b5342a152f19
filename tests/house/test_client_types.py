"""The parts of the Python client that follow from something else are what is checked in."""

import json
from pathlib import Path

from drf_spectacular.generators import SchemaGenerator
from rest_framework.utils.encoders import JSONEncoder

from heddle_client import types
from loom.text.client_source import types_of, without_asyncio
from tests.house.sources import ROOT

SOURCE = Path(ROOT) / "clients" / "python" / "src" / "heddle_client"
FRESH = "run: manage.py client"


def test_the_types_are_those_of_the_schema() -> None:
    generated = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
    schema = json.loads(json.dumps(generated, cls=JSONEncoder))
    assert (SOURCE / "types.py").read_text() == types_of(schema), FRESH
    assert set(types.Turn.__annotations__) > {"as", "status"}  # a word of Python itself


def test_both_clients_have_the_same_methods() -> None:
    written = without_asyncio((SOURCE / "async_client.py").read_text())
    assert (SOURCE / "client.py").read_text() == written, FRESH
    code = written.split('"""', 2)[2]
    assert "async " not in code and "await " not in code
