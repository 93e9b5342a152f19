"""Storing what checks said."""

from collections.abc import Sequence

from loom.claims.models import CheckResult
from loom.claims.queries.checks import result_bodies
from loom.engine.streams import Writer


def keep_results(writer: Writer, item: str, results: Sequence[CheckResult]) -> None:
    """Stores results in place of earlier ones about the same version, and writes their event.
    `item` as events name it: a local id, or `doc:ID`."""
    CheckResult.objects.bulk_create(
        results,
        update_conflicts=True,
        unique_fields=["item", "rule", "version"],
        update_fields=["outcome", "said", "call_uid", "by", "at"],
    )
    writer.append("check.changed", {"item": item, "results": result_bodies(results)})
