"""Marks the nodes that files brought, as later imports do by themselves: `imported` is {} where
nothing more was kept of them."""

from django.db import migrations

BATCH = 2_000


def mark(apps, schema_editor):
    """Goes through the imports that ended; each node up to the last one that came with it."""
    Import, Event = apps.get_model("loom", "Import"), apps.get_model("loom", "Event")
    rows = Import.objects.filter(status="done", tree__isnull=False)
    for tree_id, uid in rows.values_list("tree_id", "tree__uid").order_by("id").iterator():
        events = Event.objects.filter(stream__name=f"tree:{uid}").order_by("-seq")
        ended = events.filter(kind="import.finished").values_list("seq", flat=True).first()
        if ended is None:
            continue
        came = events.filter(kind="node.added", seq__lt=ended)
        last = came.values_list("payload", flat=True).first()
        if last is not None:
            _mark_up_to(apps, tree_id, last["node"]["id"])


def _mark_up_to(apps, tree_id, local_id):
    Node = apps.get_model("loom", "Node")
    nodes = Node.objects.filter(tree_id=tree_id).order_by("id")
    last = nodes.filter(local_id=local_id).values_list("id", flat=True).first()
    if last is None:
        return
    after = 0
    while True:
        page = nodes.filter(id__gt=after, id__lte=last).values_list("id", flat=True)[:BATCH]
        ids = list(page)
        if not ids:
            return
        Node.objects.filter(id__in=ids, imported__isnull=True).update(imported={})
        after = ids[-1]


class Migration(migrations.Migration):
    # Each batch is a transaction of its own.
    atomic = False

    dependencies = [
        ("loom", "0015_search_without_positions"),
    ]

    operations = [
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
