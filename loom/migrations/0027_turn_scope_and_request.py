"""A turn keeps the scope of the key it was asked for with, and the request of its round."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0026_items_required"),
    ]

    operations = [
        migrations.AddField("turn", "scope", models.CharField(default="owner", max_length=8)),
        migrations.AddField("turn", "prepared", models.JSONField(null=True)),
    ]
