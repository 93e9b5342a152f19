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
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="loom.document",
            ),
        ),
        migrations.AddIndex(
            model_name="generation",
            index=models.Index(
                condition=models.Q(("document__isnull", False)),
                fields=["document", "id"],
                name="generation_of_document",
            ),
        ),
    ]
