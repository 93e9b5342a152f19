"""What the sweeper of a worker looks for: each feature registers its part."""

from config.celery import app
from loom.engine import sweeps

PARTS = {
    "agents.gateway.recording.sweep",
    "agents.gateway.unrecorded.forget_old",
    "agents.oauth.commands.sweep",
    "agents.outside_tools.calls.sweep_tool_calls",
    "agents.timestamps.tasks.want_stamps",
    "agents.webhooks.tasks.sweep_beside",
    "loom.documents.log.settle_forgotten",
    "loom.engine.kept_jobs.send_again",
    "loom.tasks.erase_forgotten",
    "loom.meaning.tasks.want_indexes",
    "loom.exploring.tasks.look_for_unfinished",
    "loom.choices.commands.delete_old",
    "loom.landscape.tasks.look_for_forgotten",
    "loom.operations.tasks.measure_daily",
    "loom.sandboxes.commands.discard_ended",
    "loom.operations.tasks.trim_hourly",
    "loom.notes.mention_mails.mail_unseen",
    "loom.transfer.importing.sweep",
    "loom.trees.erasing.empty_log_again",
    "loom.web_search.commands.sweep",
}


def test_a_worker_looks_for_the_unfinished_work_of_every_feature() -> None:
    app.loader.import_default_modules()  # as a worker does when it starts
    assert {f"{part.__module__}.{part.__name__}" for part in sweeps.every()} == PARTS
