"""The Celery task of claims, which is safe to run twice."""

from celery import shared_task

from loom.claims.commands import checks
from loom.engine.kept_jobs import kept


@shared_task(name="loom.tasks.run_checks")
@kept
def run_checks(item: int) -> None:
    """Runs the checks of a new text that run on save."""
    checks.run_on_save(item)
