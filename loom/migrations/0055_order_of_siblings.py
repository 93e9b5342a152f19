"""Siblings in the order in which they were begun: what was newest when a candidate was asked for, and
where its node is. Both are null for what was there before, which is in the order of ids."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0054_plain_names"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="node",
            name="node_seen_below",
        ),
        migrations.AddField(
            model_name="generation",
            name="after",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="node",
            name="place",
            field=models.BigIntegerField(null=True),
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
                condition=models.Q(("pruned", False), ("slot", models.F("id"))),
                name="node_seen_below",
            ),
        ),
    ]
