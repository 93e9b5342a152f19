"""An index of the nodes that documents embed, filled from their newest revisions."""

import re

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F

AT_ONCE = 200  # documents
MOST_EMBEDS = 100
EMBED = re.compile(r"!\[\[([^\[\]\n]{1,300})\]\]")
WORD = re.compile(r"[A-Za-z0-9]+")
LETTERS, DIGITS = "abcdefghjkmnpqrstvwxyz", "23456789"


def fill(apps, schema_editor):
    """Stores the ids that the embeds of each newest revision name."""
    revisions = apps.get_model("loom", "Revision")
    embeds = apps.get_model("loom", "DocumentEmbed")
    newest = revisions.objects.filter(number=F("document__revision"), content__text__contains="![[")
    last = 0
    while True:
        rows = newest.filter(document_id__gt=last).order_by("document_id")
        found = list(rows.values_list("document_id", "content__text")[:AT_ONCE])
        if not found:
            return
        made = [embeds(document_id=key, name=name) for key, text in found for name in ids_in(text)]
        embeds.objects.bulk_create(made, ignore_conflicts=True)
        last = found[-1][0]


def ids_in(text):
    """The local ids that the first embeds of a text name."""
    written = list(dict.fromkeys(one.strip() for one in EMBED.findall(text)))[:MOST_EMBEDS]
    words = (word.lower() for one in written for word in WORD.findall(one))
    return list(dict.fromkeys(word for word in words if is_id(word)))


def is_id(word):
    """Whether a word has the form of a local id: letters and digits in turn."""
    kinds = (DIGITS if place % 2 else LETTERS for place in range(len(word)))
    return 4 <= len(word) <= 8 and all(one in kind for one, kind in zip(word, kinds, strict=True))


class Migration(migrations.Migration):
    dependencies = [("loom", "0130_web_search")]

    operations = [
        migrations.CreateModel(
            name="DocumentEmbed",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.CharField(max_length=8)),
                (
                    "document",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="embeds",
                        to="loom.document",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["name", "document"], name="document_embed_name")],
                "constraints": [
                    models.UniqueConstraint(fields=("document", "name"), name="document_embed_once")
                ],
            },
        ),
        migrations.RunPython(fill, migrations.RunPython.noop, elidable=False),
    ]
