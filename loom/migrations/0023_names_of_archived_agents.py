"""The name of an archived agent may be used again; a person's name stays theirs."""

from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0022_sizes_of_trees"),
    ]

    operations = [
        migrations.RemoveConstraint(model_name="participant", name="participant_name_once"),
        migrations.AddConstraint(
            model_name="participant",
            constraint=models.UniqueConstraint(
                F("grove"),
                Lower("name"),
                condition=Q(archived_at__isnull=True) | Q(kind="human"),
                name="participant_name_once",
            ),
        ),
    ]
