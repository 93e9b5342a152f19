from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0052_turns_stored_once")]

    operations = [
        migrations.AddField(
            model_name="tree",
            name="memory",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="tree",
            name="author_note",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="tree",
            name="note_depth",
            field=models.IntegerField(default=3),
        ),
        migrations.AddField(
            model_name="tree",
            name="lore_scan",
            field=models.IntegerField(default=2000),
        ),
        migrations.AddField(
            model_name="tree",
            name="lore_budget",
            field=models.IntegerField(default=1000),
        ),
    ]
