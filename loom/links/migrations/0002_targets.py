"""Counts the different items that links lead to, besides the links."""

from django.db import migrations, models

# For each count the links that it counts, and of these the ends on the other side.
_FILL = """
    UPDATE links_linkcount SET targets = (
        SELECT COUNT(DISTINCT l.{far}_id) FROM {links}
    ), pruned = (
        SELECT COUNT(DISTINCT l.{far}_id) FROM {links}
        AND (v.version_pruned OR s.pruned)
    ) WHERE outward = ({outward}) AND count > 0
"""
_LINKS = """
    links_link l JOIN trees_tree t ON t.id = l.tree_id
    LEFT JOIN trees_node v ON v.id = l.{far}_id LEFT JOIN trees_node s ON s.id = v.slot_id
    WHERE l.{own}_slot = links_linkcount.slot AND l.type = links_linkcount.type
    AND l.removed_at IS NULL AND t.grove_id = links_linkcount.grove_id
    AND CASE WHEN l.{far}_id < 0 THEN 0 ELSE l.{far}_id >> 32 END = links_linkcount.home
"""


def _filled(own: str, far: str, outward: str) -> migrations.RunSQL:
    links = _LINKS.format(own=own, far=far)
    sql = _FILL.format(far=far, links=links, outward=outward)
    return migrations.RunSQL(sql, migrations.RunSQL.noop)


class Migration(migrations.Migration):
    dependencies = [("links", "0001_initial"), ("trees", "0001_initial")]

    operations = [
        migrations.AddField("linkcount", "targets", models.IntegerField(default=0)),
        _filled("source", "target", "1 = 1"),
        _filled("target", "source", "1 = 0"),
        migrations.RemoveIndex("link", "link_source"),
        migrations.RemoveIndex("link", "link_target"),
        migrations.AddIndex(
            "link",
            models.Index(fields=["source", "target_slot", "type"], name="link_source_pair"),
        ),
        migrations.AddIndex(
            "link",
            models.Index(fields=["target", "source_slot", "type"], name="link_target_pair"),
        ),
    ]
