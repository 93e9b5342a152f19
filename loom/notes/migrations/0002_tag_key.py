"""Tags by their names in any case."""

from typing import Any

from django.db import migrations, models


def _fill(apps: Any, schema_editor: Any) -> None:
    # Folded here: SQLite folds only ASCII letters.
    tags = apps.get_model("notes", "Mark").objects.filter(kind="tag")
    for name in list(tags.order_by().values_list("label", flat=True).distinct()):
        tags.filter(label=name).update(label_key=name.casefold())


class Migration(migrations.Migration):
    dependencies = [
        ("notes", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="mark",
            name="label_key",
            field=models.CharField(blank=True, default="", editable=False, max_length=600),
        ),
        migrations.AddIndex(
            model_name="mark",
            index=models.Index(
                condition=models.Q(("kind", "tag"), ("removed_at__isnull", True)),
                fields=["label_key", "tree"],
                name="mark_tag",
            ),
        ),
        migrations.RunPython(_fill, migrations.RunPython.noop),
    ]
