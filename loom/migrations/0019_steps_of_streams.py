import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0018_texts_stored_once"),
    ]

    operations = [
        migrations.AddField(
            model_name="step",
            name="arguments",
            field=models.JSONField(null=True),
        ),
        migrations.AlterField(
            model_name="step",
            name="workspace",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="steps",
                to="loom.workspace",
            ),
        ),
        migrations.AddConstraint(
            model_name="step",
            constraint=models.UniqueConstraint(
                condition=models.Q(("workspace__isnull", True)),
                fields=("stream", "seq"),
                name="step_of_stream_once",
            ),
        ),
    ]
