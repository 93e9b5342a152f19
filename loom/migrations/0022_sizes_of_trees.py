from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0021_indexes_of_open_work"),
    ]

    operations = [
        migrations.AddField(
            model_name="stream", name="leaves", field=models.BigIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="stream", name="deepest", field=models.IntegerField(null=True)
        ),
    ]
