"""What a person has agreed to: a tool as its server described it then. Described otherwise, it is
another tool, and the person is asked again."""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from agents.outside_tools.models import AllowedTool, ToolConsent
from loom.people.models import Participant


def agreed_by(person: Participant, rows: Iterable[AllowedTool]) -> set[int]:
    """Those of the allowed tools that `person` has agreed to as they are now, by row id."""
    fingerprints = {row.pk: row.tool.fingerprint for row in rows}
    known = ToolConsent.objects.filter(allowed__in=fingerprints, person=person)
    pairs = known.values_list("allowed", "fingerprint")
    return {key for key, fingerprint in pairs if fingerprints[key] == fingerprint}


def fingerprint_of(url: str, name: str, description: str, schema: dict[str, Any]) -> str:
    """The SHA-256 of what a tool does according to its server."""
    stated = [url, name, description, schema]
    return hashlib.sha256(json.dumps(stated, sort_keys=True).encode()).hexdigest()
