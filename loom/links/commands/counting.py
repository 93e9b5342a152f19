"""The counts of links (`LinkCount`), kept in the transaction that adds or removes a link, or that
prunes or restores one of its ends."""

from collections.abc import Mapping

from django.db import connection
from django.db.models import F

from loom.language import ids
from loom.links.models import Link, LinkCount
from loom.trees.commands.node_writer import when_flagged
from loom.trees.models import Node

_ADD = """
    INSERT INTO links_linkcount (slot, type, outward, grove_id, home, count, targets, pruned, last)
    VALUES (%s, %s, %s, %s, %s, 1, %s, %s, %s)
    ON CONFLICT (slot, type, outward, grove_id, home)
    DO UPDATE SET count = links_linkcount.count + 1,
        targets = links_linkcount.targets + excluded.targets,
        pruned = links_linkcount.pruned + excluded.pruned, last = excluded.last
"""
# How many items were pruned or restored, as the counts of the other side of their links have them.
_FLAGGED = """
    UPDATE links_linkcount SET pruned = links_linkcount.pruned + (%s) * seen.many FROM (
        SELECT l.{own}_slot AS slot, l.type AS type, t.grove_id AS grove_id,
            COUNT(DISTINCT v.id) AS many
        FROM links_link l JOIN trees_tree t ON t.id = l.tree_id
        JOIN trees_node v ON v.id = l.{far}_id
        WHERE l.{far}_slot = %s AND l.removed_at IS NULL AND {changed} GROUP BY 1, 2, 3
    ) AS seen
    WHERE links_linkcount.slot = seen.slot AND links_linkcount.type = seen.type
    AND links_linkcount.grove_id = seen.grove_id AND links_linkcount.home = %s
    AND links_linkcount.outward = {outward}
"""
# All of them again, for links that came as rows.
_SLOT = "COALESCE((SELECT n.slot_id FROM trees_node n WHERE n.id = links_link.{0}_id), {0}_id)"
_RECOUNT = """
    INSERT INTO links_linkcount (slot, type, outward, grove_id, home, count, targets, pruned, last)
    SELECT l.{0}_slot, l.type, {1}, t.grove_id,
        CASE WHEN l.{2}_id < 0 THEN 0 ELSE l.{2}_id >> 32 END, COUNT(*),
        COUNT(DISTINCT l.{2}_id),
        COUNT(DISTINCT CASE WHEN v.version_pruned OR s.pruned THEN l.{2}_id END), MAX(l.id)
    FROM links_link l JOIN trees_tree t ON t.id = l.tree_id
    LEFT JOIN trees_node v ON v.id = l.{2}_id LEFT JOIN trees_node s ON s.id = v.slot_id
    WHERE l.removed_at IS NULL GROUP BY 1, 2, 4, 5
"""


def count_added(link: Link, grove: int) -> None:
    """Counts a link that was added or restored; `grove` is the row id of that of its tree. In a
    fixed order, so that two commands of different trees cannot wait for each other."""
    pruned = _pruned_ends(link)
    with connection.cursor() as cursor:
        for slot, outward, far in _sides(link):
            new = 0 if _is_linked_twice(link, outward=outward) else 1
            gone = new if far in pruned else 0
            home = ids.home_of(far)
            cursor.execute(_ADD, [slot, link.type, outward, grove, home, new, gone, link.pk])


def count_removed(link: Link, grove: int) -> None:
    """Counts a link less that was removed."""
    pruned = _pruned_ends(link)
    for slot, outward, far in _sides(link):
        key = {"slot": slot, "type": link.type, "outward": outward}
        rows = LinkCount.objects.filter(**key, grove=grove, home=ids.home_of(far), count__gt=0)
        lost = 0 if _is_linked_twice(link, outward=outward) else 1
        gone = lost if far in pruned else 0
        changed = {"targets": F("targets") - lost, "pruned": F("pruned") - gone}
        rows.update(count=F("count") - 1, **changed)
        if rows.filter(last=link.pk).exists():
            rows.update(last=_another(link, outward=outward))


def _is_linked_twice(link: Link, *, outward: bool) -> bool:
    """Whether another link of the same type leads from that side to the same item. Asked once the
    ends are locked."""
    own, far = ("source_slot", "target") if outward else ("target_slot", "source")
    same = {own: getattr(link, own), f"{far}_id": getattr(link, f"{far}_id")}
    rows = Link.objects.filter(**same, type=link.type, removed_at__isnull=True)
    return rows.exclude(pk=link.pk).exists()


def _pruned_ends(link: Link) -> set[int]:
    """Those ends of a link that are pruned nodes. Their slots are locked in the order of their ids,
    so that whoever prunes one in another tree counts this link, or is seen here."""
    slots = sorted({link.source_slot, link.target_slot})
    locked = Node.objects.select_for_update(no_key=True).filter(pk__in=slots).order_by("pk")
    hidden = {pk for pk, is_pruned in locked.values_list("pk", "pruned") if is_pruned}
    ends = {link.source_id: link.source_slot, link.target_id: link.target_slot}
    reworded = Node.objects.filter(pk__in=ends, version_pruned=True).values_list("pk", flat=True)
    return {*reworded, *(end for end, slot in ends.items() if slot in hidden)}


@when_flagged
def count_flagged(row: Node, name: str, value: bool) -> None:
    """Counts the links to a place or wording that was pruned or restored: those that were not
    pruned for the other reason. One statement for each direction, however many they are."""
    if name == "pruned":
        changed, own = "NOT v.version_pruned", []
    elif name == "version_pruned" and not row.slot.pruned:
        changed, own = "l.{far}_id = %s", [row.pk]
    else:
        return
    with connection.cursor() as cursor:
        for near, far, outward in (("source", "target", "1 = 1"), ("target", "source", "1 = 0")):
            only = changed.format(far=far)
            sql = _FLAGGED.format(own=near, far=far, outward=f"({outward})", changed=only)
            cursor.execute(sql, [1 if value else -1, row.slot_id, *own, row.tree_id])


def _sides(link: Link) -> list[tuple[int, bool, int]]:
    """(place, outward, the other end) of both ends, by place."""
    both = [(link.source_slot, True, link.target_id), (link.target_slot, False, link.source_id)]
    return sorted(both)


def _another(link: Link, *, outward: bool) -> int:
    """The newest other link of the same type from that side to an item of the same tree."""
    own, other, far = (
        ("source_slot", "target", link.target_id)
        if outward
        else ("target_slot", "source", link.source_id)
    )
    rows = Link.objects.filter(**{own: getattr(link, own)}, type=link.type, removed_at=None)
    rows = rows.filter(**_of_home(other, ids.home_of(far))).exclude(pk=link.pk)
    return rows.order_by("-id").values_list("id", flat=True).first() or 0


def _of_home(end: str, home: int) -> Mapping[str, int]:
    if not home:
        return {f"{end}__lt": 0}
    first, last = ids.ids_in(home)
    return {f"{end}__gte": first, f"{end}__lte": last}


def recount() -> None:
    """Finds the places of all links and counts them, for rows that were copied."""
    with connection.cursor() as cursor:
        slots = ", ".join(f"{end}_slot = {_SLOT.format(end)}" for end in ("source", "target"))
        cursor.execute(f"UPDATE links_link SET {slots}")  # noqa: S608
        cursor.execute("DELETE FROM links_linkcount")
        for own, far, outward in (("source", "target", "1 = 1"), ("target", "source", "1 = 0")):
            cursor.execute(_RECOUNT.format(own, outward, far))
