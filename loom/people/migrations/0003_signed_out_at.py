"""When all browsers of a user were signed out."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("people", "0002_provider_tools"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="signed_out_at",
            field=models.DateTimeField(null=True),
        ),
    ]
