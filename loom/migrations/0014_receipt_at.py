"""Old receipts are deleted by their age, which needs an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0013_call_strategy")]

    operations = [
        migrations.AddIndex(
            model_name="receipt",
            index=models.Index(fields=["at"], name="receipt_at"),
        ),
    ]
