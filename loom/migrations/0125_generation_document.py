"""A generation that makes the summary of a document names it."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0111_summaries_of_documents")]

    operations = [
        migrations.AddField(
            model_name="generation",
            name="document",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="loom.document",
            ),
        ),
    ]
