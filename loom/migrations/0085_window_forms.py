"""Windows on branches, ranges, trees and hits; how they are shown; and settings of a view."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0055_order_of_siblings"),
    ]

    operations = [
        migrations.AddField(
            model_name="window",
            name="form",
            field=models.CharField(blank=True, max_length=8, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="window",
            name="is_live",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="window",
            name="nodes",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="window",
            name="pad",
            field=models.SmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="window",
            name="parent_number",
            field=models.IntegerField(default=0),
        ),
        migrations.AddField(
            model_name="window",
            name="place",
            field=models.CharField(blank=True, max_length=200, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="window",
            name="query",
            field=models.CharField(blank=True, max_length=500, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="window",
            name="score",
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name="window",
            name="shown_step",
            field=models.IntegerField(default=0),
        ),
        migrations.AddField(
            model_name="window",
            name="via",
            field=models.CharField(blank=True, max_length=40, default=""),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="workspace",
            name="settings",
            field=models.JSONField(default=dict),
        ),
    ]
