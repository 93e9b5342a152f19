"""Steps that hid windows for lack of room are marked, and found by an index."""

from django.db import migrations, models


def mark(apps, schema_editor):
    steps = apps.get_model("loom", "Step").objects
    found = steps.filter(canonical__startswith="→ hide ", turn_place="")
    found.filter(because__endswith="lines in windows").update(evicts=True)


class Migration(migrations.Migration):
    dependencies = [("loom", "0165_chains")]

    operations = [
        migrations.AddField(
            model_name="step", name="evicts", field=models.BooleanField(default=False)
        ),
        migrations.RunPython(mark, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="step",
            index=models.Index(
                fields=["workspace", "seq"],
                condition=models.Q(("evicts", True)),
                name="step_evicts",
            ),
        ),
    ]
