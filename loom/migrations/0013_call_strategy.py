from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0012_probe"),
    ]

    operations = [
        migrations.AddField(
            model_name="call",
            name="strategy",
            field=models.CharField(blank=True, default="", max_length=16),
        ),
    ]
