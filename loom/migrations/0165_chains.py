"""Slots belong to chains, so that what hides one is found without walking to the root.

Trees that exist are laid in chains in the order in which their nodes were made, as
`loom.rules.chains` does it.
"""

from django.db import migrations, models


def lay(apps, schema_editor):
    Node, Chain = apps.get_model("loom", "Node"), apps.get_model("loom", "Chain")
    for tree in apps.get_model("loom", "Tree").objects.order_by("id").values_list("id", flat=True):
        rows = Node.objects.filter(tree=tree, kind="text").order_by("id")
        columns = ("id", "slot_id", "parent_slot_id", "depth", "pruned")
        above, own, tails, pruned, named = {}, {}, {}, set(), []
        for node, slot, parent, depth, is_pruned in rows.values_list(*columns).iterator():
            if parent is None:
                continue
            if is_pruned and node == slot:
                pruned.add(node)
            if node != slot:
                named.append((above[slot], node))
                continue
            if parent not in own:
                chain = above.get(parent)
                if chain is None or tails[chain] != depth - 2:
                    chain = parent
                own[parent], tails[chain] = chain, depth - 1
            above[node] = own[parent]
            named.append((above[node], node))
        hiding = [(own[slot], slot) for slot in pruned if slot in own]
        for column, values in (("parent_chain", named), ("pruned_chain", hiding)):
            with schema_editor.connection.cursor() as cursor:
                sql = f"UPDATE loom_node SET {column} = %s WHERE id = %s"  # noqa: S608
                cursor.executemany(sql, values)
        made = [Chain(id=key, tail=tail) for key, tail in tails.items()]
        Chain.objects.bulk_create(made, batch_size=500)


class Migration(migrations.Migration):
    dependencies = [("loom", "0134_daily_spending")]

    operations = [
        migrations.CreateModel(
            name="Chain",
            fields=[
                ("id", models.BigIntegerField(primary_key=True, serialize=False)),
                ("tail", models.IntegerField()),
            ],
        ),
        migrations.AddField(
            model_name="node", name="parent_chain", field=models.BigIntegerField(null=True)
        ),
        migrations.AddField(
            model_name="node", name="pruned_chain", field=models.BigIntegerField(null=True)
        ),
        migrations.AddIndex(
            model_name="node",
            index=models.Index(
                condition=models.Q(("pruned_chain__isnull", False)),
                fields=["pruned_chain", "depth"],
                name="node_hides",
            ),
        ),
        migrations.AddField(
            model_name="stream", name="unmeasured", field=models.BigIntegerField(null=True)
        ),
        migrations.RunPython(lay, migrations.RunPython.noop),
    ]
