"""The counts of links (`LinkCount`), kept in the transaction that adds or removes a link."""

from collections.abc import Mapping

from django.db import connection
from django.db.models import F

from loom.language import ids
from loom.links.models import Link, LinkCount

_ADD = """
    INSERT INTO links_linkcount (slot, type, outward, grove_id, home, count, last)
    VALUES (%s, %s, %s, %s, %s, 1, %s)
    ON CONFLICT (slot, type, outward, grove_id, home)
    DO UPDATE SET count = links_linkcount.count + 1, last = excluded.last
"""
# All of them anew, for links that came as rows.
_SLOT = "COALESCE((SELECT n.slot_id FROM trees_node n WHERE n.id = links_link.{0}_id), {0}_id)"
_RECOUNT = """
    INSERT INTO links_linkcount (slot, type, outward, grove_id, home, count, last)
    SELECT l.{0}_slot, l.type, {1}, t.grove_id,
        CASE WHEN l.{2}_id < 0 THEN 0 ELSE l.{2}_id >> 32 END, COUNT(*), MAX(l.id)
    FROM links_link l JOIN trees_tree t ON t.id = l.tree_id
    WHERE l.removed_at IS NULL GROUP BY 1, 2, 4, 5
"""


def count_added(link: Link, grove: int) -> None:
    """Counts a link that was added or restored; `grove` is the row id of that of its tree. In a
    fixed order, so that two commands of different trees cannot wait for each other."""
    with connection.cursor() as cursor:
        for slot, outward, far in _sides(link):
            home = ids.home_of(far)
            cursor.execute(_ADD, [slot, link.type, outward, grove, home, link.pk])


def count_removed(link: Link, grove: int) -> None:
    """Counts a link less that was removed."""
    for slot, outward, far in _sides(link):
        key = {"slot": slot, "type": link.type, "outward": outward}
        rows = LinkCount.objects.filter(**key, grove=grove, home=ids.home_of(far), count__gt=0)
        rows.update(count=F("count") - 1)
        if rows.filter(last=link.pk).exists():
            rows.update(last=_another(link, outward=outward))


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
