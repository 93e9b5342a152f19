from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("loom", "0014_indexes_of_what_goes_on"),
    ]

    operations = [
        migrations.AddField(
            model_name="stream", name="leaves", field=models.BigIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="stream", name="deepest", field=models.IntegerField(null=True)
        ),
    ]
