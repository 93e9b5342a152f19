"""The requests of calls, which repeat whole paths, are stored compressed.

In batches with a transaction each, so that it may be stopped and run again. The format is that
of loom.models.base.PackedJSON of this time.
"""

import gzip
import json

from django.db import migrations, models, transaction

BATCH = 100


def forward(apps, schema_editor):
    Call = apps.get_model("loom", "Call")
    last = 0
    while batch := list(
        Call.objects.filter(pk__gt=last).only("id", "request", "packed").order_by("pk")[:BATCH]
    ):
        last = batch[-1].pk
        for one in batch:
            if one.request:
                one.packed = gzip.compress(json.dumps(one.request).encode(), mtime=0)
        with transaction.atomic():
            Call.objects.bulk_update(batch, ["packed"])


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("loom", "0050_step_quoted")]

    operations = [
        migrations.AddField(
            model_name="call",
            name="packed",
            field=models.BinaryField(db_column="request_packed", default=b""),
        ),
        migrations.RunPython(forward, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(model_name="call", name="request"),
        migrations.RenameField(model_name="call", old_name="packed", new_name="request"),
    ]
