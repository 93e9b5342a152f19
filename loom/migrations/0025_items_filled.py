"""Makes an item of each address that a mark, link, source or step has, and points there.

In batches with a transaction each, so that it may be stopped and run again: what is done is not
found a second time. The form of an address and of an item's id are those of this time. A row whose
address is none is deleted, which nothing could show.
"""

import re

from django.db import migrations, transaction

BATCH = 500
ORDINAL_BITS = 32
ADDRESS = re.compile(r"[nt][0-9]{1,18}")


def item_id(address):
    """`n4294967297` is the node of that id, `t1` the tree of that id; None for anything else."""
    if not isinstance(address, str) or not ADDRESS.fullmatch(address):
        return None
    number = int(address[1:])
    return number if address[0] == "n" else number << ORDINAL_BITS


def make(apps, ids):
    Item = apps.get_model("loom", "Item")
    rows = []
    for one in sorted(ids):
        is_node = one % (1 << ORDINAL_BITS) != 0
        kind, node = ("node", one) if is_node else ("tree", None)
        rows.append(Item(id=one, kind=kind, tree_id=one >> ORDINAL_BITS, node_id=node))
    Item.objects.bulk_create(rows, ignore_conflicts=True)


def point(apps, name, ends):
    Model = apps.get_model("loom", name)
    rows = Model.objects.filter(**{f"{ends[0]}__isnull": True}).order_by("pk")
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        last = batch[-1].pk
        found = {one.pk: [item_id(getattr(one, f"{end}_address")) for end in ends] for one in batch}
        good = [one for one in batch if None not in found[one.pk]]
        for one in good:
            for end, key in zip(ends, found[one.pk], strict=True):
                setattr(one, f"{end}_id", key)
        with transaction.atomic():
            make(apps, {key for one in good for key in found[one.pk]})
            Model.objects.bulk_update(good, ends)
            bad = [one.pk for one in batch if None in found[one.pk]]
            Model.objects.filter(pk__in=bad).delete()


def steps(apps):
    Step, StepItem = apps.get_model("loom", "Step"), apps.get_model("loom", "StepItem")
    last = 0
    rows = Step.objects.order_by("pk").values_list("pk", "items")
    while batch := list(rows.filter(pk__gt=last)[:BATCH]):
        last = batch[-1][0]
        done = set(
            StepItem.objects.filter(step__in=[pk for pk, _ in batch]).values_list("step", flat=True)
        )
        made = []
        for pk, items in batch:
            found = [key for one in items if (key := item_id(one)) is not None]
            if pk not in done:
                made += [
                    StepItem(step_id=pk, item_id=key, place=place)
                    for place, key in enumerate(found)
                ]
        with transaction.atomic():
            make(apps, {one.item_id for one in made})
            StepItem.objects.bulk_create(made)


def forward(apps, schema_editor):
    point(apps, "NodeSource", ["item"])
    point(apps, "Mark", ["item"])
    point(apps, "Link", ["source", "target"])
    steps(apps)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("loom", "0024_items")]

    operations = [migrations.RunPython(forward, migrations.RunPython.noop)]
