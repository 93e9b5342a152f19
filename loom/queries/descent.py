"""What hangs below a slot: bounded walks downward by one recursive query."""

from django.db import connection

from loom.queries.rows import walked

_BELOW = """
    WITH RECURSIVE down(id, depth) AS (
        SELECT id, depth FROM loom_node WHERE id = %s
        UNION ALL
        SELECT n.id, n.depth FROM down
        JOIN loom_node n ON n.parent_slot_id = down.id AND n.slot_id = n.id
            AND n.depth > down.depth
        WHERE {condition} AND {walked}
    ) SELECT {columns} FROM down WHERE id <> %s
"""


def count_below(slot_id: int) -> int:
    """How many text slots hang below the slot and are not hidden by a prune further down."""
    sql = _BELOW.format(
        condition="n.kind = 'text' AND NOT n.pruned", columns="COUNT(*)", walked=walked("down.id")
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [slot_id, slot_id])
        return int(cursor.fetchone()[0])


def slots_below_all(slot_id: int) -> list[int]:
    """The ids of all slots below, of every kind, pruned ones too."""
    sql = _BELOW.format(condition="1 = 1", columns="id", walked=walked("down.id"))
    with connection.cursor() as cursor:
        cursor.execute(sql, [slot_id, slot_id])
        return [row[0] for row in cursor.fetchall()]
