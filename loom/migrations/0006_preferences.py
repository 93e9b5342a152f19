from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0005_money_and_lanes"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="preferences",
            field=models.JSONField(default=dict),
        ),
    ]
