"""Steps name the nodes whose texts their replies show, in place of a copy of them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0095_tasks")]

    operations = [
        migrations.AddField(model_name="step", name="quoted", field=models.JSONField(null=True)),
    ]
