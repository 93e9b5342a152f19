"""What a member has spent on a day is called so."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0133_indexes_of_sweeping")]

    operations = [
        migrations.RenameModel(old_name="Purse", new_name="DailySpending"),
        migrations.AlterField(
            model_name="dailyspending",
            name="participant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="daily_spending",
                to="loom.participant",
            ),
        ),
    ]
