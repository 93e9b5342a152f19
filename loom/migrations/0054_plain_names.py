"""Plain names: `Turn.answers_below`, `replies` of a round, and what undoes a stop.

The values are changed in batches with a transaction each, so that it may be stopped and run
again: what is done is not found a second time.
"""

from django.db import migrations, transaction
from django.db.models import TextField
from django.db.models.functions import Cast

BATCH = 100


def renamed(rows, field, old, change):
    """Applies `change` to the value of a JSON field where its text holds `old`."""
    rows = rows.annotate(stored=Cast(field, TextField())).filter(stored__contains=old)
    last = 0
    while batch := list(rows.filter(pk__gt=last).only("id", field).order_by("pk")[:BATCH]):
        last = batch[-1].pk
        for one in batch:
            setattr(one, field, [change(value) for value in getattr(one, field)])
        with transaction.atomic():
            rows.model.objects.bulk_update(batch, [field])


def with_replies(kept):
    return {("replies" if key == "told" else key): value for key, value in kept.items()}


def with_stopped(op):
    return {**op, "op": "stopped"} if op.get("op") == "landed" else op


def forward(apps, schema_editor):
    Turn, Step = apps.get_model("loom", "Turn"), apps.get_model("loom", "Step")
    renamed(Turn.objects.all(), "rounds", '"told"', with_replies)
    renamed(Step.objects.filter(inverse__isnull=False), "inverse", '"landed"', with_stopped)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("loom", "0053_node_by_depth")]

    operations = [
        migrations.RenameField("turn", old_name="stands_at", new_name="answers_below"),
        migrations.RunPython(forward, migrations.RunPython.noop, elidable=True),
    ]
