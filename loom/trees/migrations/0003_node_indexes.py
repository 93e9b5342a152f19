"""What is asked of the first versions of slots in a form of which PostgreSQL guesses the number."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0001_initial"),
        ("trees", "0002_search_and_guard"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="node",
            name="node_seen_below",
        ),
        migrations.RemoveIndex(
            model_name="node",
            name="node_by_depth",
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                models.F("parent_slot"),
                models.F("kind"),
                models.Func(
                    "place",
                    "id",
                    output_field=models.BigIntegerField(),
                    template="COALESCE(%(expressions)s & 4294967295 << 20)",
                ),
                models.F("id"),
                condition=models.Q(("pruned", False), ("slot__gte", models.F("id"))),
                name="node_seen_below",
            ),
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                condition=models.Q(
                    ("kind", "text"), ("pruned", False), ("slot__gte", models.F("id"))
                ),
                fields=["tree", "depth", "id"],
                name="node_by_depth",
            ),
        ),
    ]
