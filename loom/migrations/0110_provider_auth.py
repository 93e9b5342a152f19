"""How a participant's key is sent: as a bearer token, as basic authentication, or not at all."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0097_versions_of_links"),
    ]

    operations = [
        migrations.AddField(
            model_name="participant",
            name="auth",
            field=models.CharField(default="bearer", max_length=8),
        ),
    ]
