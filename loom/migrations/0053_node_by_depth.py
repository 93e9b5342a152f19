"""Texts are found by their depth, so that pruning one measures no whole tree."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0065_documents")]

    operations = [
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                fields=["tree", "depth", "id"],
                condition=models.Q(kind="text", pruned=False, slot=models.F("id")),
                name="node_by_depth",
            ),
        ),
    ]
