"""An index of the windows that were opened from another one, by the turn that opened them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("loom", "0131_document_embeds")]

    operations = [
        migrations.AddIndex(
            model_name="window",
            index=models.Index(
                condition=models.Q(("parent_number__gt", 0)),
                fields=["workspace", "turn_uid"],
                name="window_nested",
            ),
        ),
    ]
