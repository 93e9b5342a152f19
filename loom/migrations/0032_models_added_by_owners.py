from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0027_turn_scope_and_request")]

    operations = [
        migrations.AddField(
            model_name="participant",
            name="allow_private",
            field=models.BooleanField(default=False),
        ),
        migrations.AlterField(
            model_name="participant",
            name="context_limit",
            field=models.IntegerField(default=32768),
        ),
    ]
