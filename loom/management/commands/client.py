"""`manage.py client`: writes the parts of the Python client that follow from something else."""

import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from drf_spectacular.generators import SchemaGenerator
from rest_framework.utils.encoders import JSONEncoder

from loom.text.client_source import types_of, without_asyncio

SOURCE = Path(settings.BASE_DIR) / "clients" / "python" / "src" / "heddle_client"


class Command(BaseCommand):
    """Writes `types.py` from the schema of the API, and `client.py` from `async_client.py`."""

    help = "Writes the types and the client without asyncio of clients/python."

    def handle(self, *args: Any, **options: Any) -> None:
        """Writes both files."""
        generated = SchemaGenerator().get_schema(public=True)  # type: ignore[no-untyped-call]
        schema = json.loads(json.dumps(generated, cls=JSONEncoder))
        (SOURCE / "types.py").write_text(types_of(schema))
        asynchronous = (SOURCE / "async_client.py").read_text()
        (SOURCE / "client.py").write_text(without_asyncio(asynchronous))
