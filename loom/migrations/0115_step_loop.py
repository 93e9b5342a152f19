"""Steps of turns say whether they repeat what was done before."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0110_provider_auth")]

    operations = [
        migrations.AddField(
            model_name="step", name="loop", field=models.CharField(max_length=10, null=True)
        ),
    ]
