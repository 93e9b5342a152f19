"""What the name of each user looks like, so that two that look alike cannot both be stored."""

import django.db.models.functions
from django.db import migrations, models

from loom.rules.names import skeleton


def forward(apps, schema_editor):
    users = apps.get_model("loom", "User")
    taken = set()
    for user in users.objects.order_by("pk").iterator():
        shape = skeleton(user.username)
        # Names that looked alike before keep working: no skeleton has a blank.
        user.skeleton = f"{shape} {user.pk}" if shape in taken else shape
        taken.add(shape)
        user.save(update_fields=["skeleton"])


class Migration(migrations.Migration):
    dependencies = [("loom", "0134_daily_spending")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="skeleton",
            field=models.CharField(blank=True, default="", editable=False, max_length=450),
        ),
        migrations.RunPython(forward, migrations.RunPython.noop, elidable=True),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(fields=("skeleton",), name="user_skeleton_once"),
        ),
        migrations.AddConstraint(
            model_name="user",
            constraint=models.UniqueConstraint(
                django.db.models.functions.Lower("username"), name="user_name_once"
            ),
        ),
    ]
