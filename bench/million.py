"""A tree of a million nodes, written in bulk once and kept, to be measured by other benches.

Run: python -m bench.million FOLDER [nodes]

FOLDER becomes the data folder of an installation with one owner and one tree; DATABASE_URL chooses
PostgreSQL. If the tree is there already nothing is written. `open_kept` opens it for a bench.

The shape: a big branch with two thirds of the nodes, 4 paths of 5,000, one place with 5,000
continuations and 20 with 500 (fewer in a small tree), 1 % wordings, 2 % annotations, about 7 %
below a thousand pruned slots, tags and bookmarks. Texts have 335 characters on average, in words
whose frequencies fall as in prose. `harbour` is in every third text, `lamplighter` in one of 2,000,
`zyzzyva` in 7 and `qwertz` in none.
"""

import os
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

from bench.installation import open_broker

TITLE = "Kept for measuring"
COMMON, SOME, RARE, ABSENT = "harbour", "lamplighter", "zyzzyva", "qwertz"
PHRASE = "carried the lamp across the square"
BIG = 2  # the ordinal of the big branch's highest slot
BATCH = 5_000
SYLLABLES = "ba ce di fo gu ha in lo me na or pe qui ra se ti un ver wo yet sta ing ell oth".split()
COLUMNS = (
    "id tree_id local_id kind form text length author_id edited_from_id slot_id parent_slot_id"
    " depth parent_chain pruned_chain parent_hash hash configuration call_uid generation_uid finish"
    " created_at proof_author pruned version_pruned excluded sandbox summary"
).split()


def open_kept(folder: str) -> None:
    """Settings for the kept installation; its database is migrated if it is new."""
    os.environ["HEDDLE_DATA"] = folder
    os.environ["HEDDLE_ORIGINS"] = "http://testserver"
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    open_broker()
    Path(folder).mkdir(parents=True, exist_ok=True)
    if "DATABASE_URL" not in os.environ and not (Path(folder) / "heddle.sqlite3").exists():
        from tests.databases import copy_started_data

        copy_started_data(Path(folder))  # saves 5 s of making its tables
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def sentences(dice: random.Random, many: int) -> list[str]:
    """Sentences of 8 to 20 words; the n-th word of the vocabulary has a frequency of 1/n."""
    vocabulary = list(
        dict.fromkeys("".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(30_000))
    )
    weights = list(accumulate(1 / (place + 3) for place in range(len(vocabulary))))
    texts = []
    for _ in range(many):
        words = dice.choices(vocabulary, cum_weights=weights, k=dice.randint(8, 20))
        if dice.random() < 0.1:
            words.insert(dice.randrange(len(words)), COMMON)
        if dice.random() < 0.0005:
            words.insert(dice.randrange(len(words)), PHRASE)
        texts.append(" ".join(words).capitalize() + ".")
    return texts


def shape(dice: random.Random, count: int) -> list[int]:
    """The ordinal of the parent of each ordinal from 2 on (index 0: of 2); 1 is the root."""
    big, small = [BIG], [1]
    parents = [1]
    small_part = min(5_000, count // 20)
    plan: list[int] = []  # parents that are given; the rest are drawn
    at = 3
    for _ in range(4):  # deep paths
        plan.append(dice.choice(small))
        plan += range(at + len(plan) - 1, at + len(plan) - 1 + small_part - 1)
    for many in (small_part, *[small_part // 10] * 20):
        plan += [BIG] * many
    for parent in plan:
        parents.append(parent)
    ordinal = BIG + len(plan) + 1
    small += range(3, 3 + 4 * small_part, 7)
    while ordinal <= count:
        group = big if dice.random() < 0.68 else small
        last = group[-1]
        parents.append(last if dice.random() < 0.6 else dice.choice(group))
        group.append(ordinal)
        ordinal += 1
    return parents[: count - 1]


def pruned_of(dice: random.Random, parents: Sequence[int]) -> set[int]:
    """Slots to prune, with about 7 % of all below them; never the big branch."""
    sizes = [1] * (len(parents) + 2)
    for ordinal in range(len(parents) + 1, 1, -1):
        sizes[parents[ordinal - 2]] += sizes[ordinal]
    chosen: set[int] = set()
    left = len(parents) * 7 // 100
    while left > 0 and len(chosen) < max(10, len(parents) // 900):
        ordinal = dice.randrange(BIG + 1, len(parents) + 2)
        if ordinal not in chosen and sizes[ordinal] <= max(20, len(parents) // 100):
            chosen.add(ordinal)
            left -= sizes[ordinal]
    return chosen


def local_ids(dice: random.Random, count: int) -> list[str]:
    """So many different local ids."""
    from loom.language import ids

    space = ids.space(ids.length_for(count))
    length = ids.length_for(count)
    names = []
    for number in dice.sample(range(space), count):
        name, left = "", number
        for place in range(length):
            signs = ids.DIGITS if place % 2 else ids.LETTERS
            left, sign = divmod(left, len(signs))
            name += signs[sign]
        names.append(name)
    return names


def rows(tree: Any, root: str, count: int, author: int) -> Iterator[tuple[Any, ...]]:
    """The rows of all nodes but the root, of which the local id is given, in COLUMNS. Also lays the
    chains, on `tree.laid`. Asks the database nothing: PostgreSQL copies meanwhile."""
    from django.db import connection
    from django.utils import timezone

    from loom.language.ids import ORDINAL_BITS
    from loom.trees.chains import Chains

    dice = random.Random(7)
    texts = sentences(dice, 40_000)
    parents = shape(dice, count)
    pruned = pruned_of(dice, parents)
    # The root's was drawn before, and is one of them now and then.
    names = [name for name in local_ids(dice, count + 1) if name != root]
    base = tree.pk << ORDINAL_BITS
    laid = tree.laid = Chains()
    depths = [0, 0]
    for parent in parents:
        depths.append(depths[parent] + 1)
    kinds = ["text"] * (count + 1)
    versions: dict[int, int] = {}
    is_inner = bytearray(count + 2)
    for parent in parents:
        is_inner[parent] = 1
    for ordinal in range(BIG + 1, count + 1):
        if not is_inner[ordinal] and ordinal not in pruned:
            drawn = dice.random()
            if drawn < 0.04:
                kinds[ordinal] = "annotation"
            elif drawn < 0.06 and parents[ordinal - 2] > BIG and ordinal > 100:
                versions[ordinal] = parents[ordinal - 2]
    above: dict[int, int] = {}
    for ordinal, parent in enumerate(parents, 2):
        if kinds[ordinal] == "text" and ordinal not in versions:
            above[ordinal] = laid.add(ordinal, parent, depth=depths[ordinal])
    start = timezone.now() - timedelta(days=300)
    # The bulk of rows goes past Django's fields.
    stored = connection.ops.adapt_datetimefield_value
    for ordinal, parent in enumerate(parents, 2):
        words = [
            texts[int(dice.random() * len(texts))] for _ in range(dice.choice((2, 3, 3, 4, 5)))
        ]
        if dice.random() < 0.0005:
            words.append(f"The {SOME} went home.")
        if ordinal % (count // 7) == 11:
            words.append(f"A {RARE} sat there.")
        text = " ".join(words)
        slot, depth, over = ordinal, depths[ordinal], parent
        if ordinal in versions:
            slot = versions[ordinal]
            depth, over = depths[slot], parents[slot - 2]
        is_text = kinds[ordinal] == "text" and ordinal not in versions
        own = laid.own(ordinal) if is_text else 0
        yield (
            base + ordinal,
            tree.pk,
            names[ordinal - 1],
            kinds[ordinal],
            "note" if kinds[ordinal] == "annotation" else "",
            text,
            len(text),
            author,
            base + slot if ordinal in versions else None,
            base + slot,
            base + over,
            depth,
            base + above[ordinal] if is_text else None,
            base + own if own and ordinal in pruned else None,
            "",
            f"{ordinal:064d}",
            "",
            "",
            "",
            "complete",
            stored(start + timedelta(seconds=20 * ordinal)),
            "",
            ordinal in pruned,
            False,
            False,
            False,
            "",
        )


def copy_into_postgres(table_rows: Iterator[tuple[Any, ...]]) -> None:
    """Writes the rows of the nodes, and then their indexes."""
    from django.db import connection, transaction

    from loom.platform.bulk_loading import indexed_afterwards

    copying = f"COPY trees_node ({', '.join(COLUMNS)}) FROM STDIN"
    with (
        transaction.atomic(),
        connection.cursor() as cursor,
        indexed_afterwards(cursor, ["trees_node"]),
        cursor.copy(copying) as copy,
    ):
        for row in table_rows:
            copy.write_row(row)


def insert_into_sqlite(table_rows: Iterator[tuple[Any, ...]]) -> None:
    """Writes the rows of the nodes, and then their indexes."""
    from django.db import connection, transaction

    marks = ", ".join(["%s"] * len(COLUMNS))
    insert = f"INSERT INTO trees_node ({', '.join(COLUMNS)}) VALUES ({marks})"
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA cache_size = -400000")
        cursor.execute("PRAGMA foreign_keys = OFF")
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT type, name, sql FROM sqlite_master WHERE tbl_name = 'trees_node'"
            " AND (type = 'index' AND sql IS NOT NULL OR name = 'trees_node_fts_insert')"
        )
        later = cursor.fetchall()
        for kind, name, _ in later:
            cursor.execute(f"DROP {kind} {name}")
        while batch := list(islice(table_rows, BATCH)):
            cursor.executemany(insert, batch)
        for _, _, sql in later:
            cursor.execute(sql)
        cursor.execute(
            "INSERT INTO trees_node_fts(rowid, text) SELECT id, text FROM trees_node ORDER BY id"
        )
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA foreign_keys = ON")


def write(count: int) -> None:
    """Makes the owner and the tree."""
    from django.db import connection

    from bench.trees import make_owner
    from loom.engine.models import Stream
    from loom.language.ids import ORDINAL_BITS
    from loom.trees.commands import trees
    from loom.trees.models import Chain, Tree
    from loom.trees.queries.lookup import root_of
    from loom.trees.queries.outline import measured

    actor = make_owner("bench")
    tree: Any = trees.new_tree(actor, title="being written")
    table_rows = rows(tree, root_of(tree).local_id, count, actor.participant.pk)
    if connection.vendor == "postgresql":
        copy_into_postgres(table_rows)
    else:
        insert_into_sqlite(table_rows)
    base = tree.pk << ORDINAL_BITS
    chains = [Chain(id=base + first, tail=tail) for first, tail in tree.laid.tails.items()]
    Chain.objects.bulk_create(chains, batch_size=1000)
    settle()
    leaves, deepest = measured(tree.pk)
    sizes = {"items": count, "leaves": leaves, "deepest": deepest}
    Stream.objects.filter(name=f"tree:{tree.uid}").update(**sizes)
    mark(actor, tree, count)
    settle()
    Tree.objects.filter(pk=tree.pk).update(title=TITLE)


def settle() -> None:
    """Statistics for the planner, as a running installation has them."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE" if connection.vendor == "postgresql" else "ANALYZE")


def mark(actor: Any, tree: Any, count: int) -> None:
    """3,000 tags and 1,000 bookmarks (fewer in a small tree)."""
    from django.utils import timezone

    from loom.language.ids import ORDINAL_BITS
    from loom.notes.models import Mark
    from loom.trees.models import Item

    dice = random.Random(11)
    base = tree.pk << ORDINAL_BITS
    chosen = [base + ordinal for ordinal in dice.sample(range(3, count), min(4_000, count // 250))]
    Item.objects.bulk_create(
        [Item(id=pk, kind="node", tree_id=tree.pk, node_id=pk) for pk in chosen], batch_size=500
    )
    marks = [
        Mark(
            tree=tree,
            item_id=pk,
            participant=actor.participant,
            kind="bookmark" if place % 4 == 0 else "tag",
            label="" if place % 4 == 0 else dice.choice(("motive", "place", "voice")),
            at=timezone.now(),
        )
        for place, pk in enumerate(chosen)
    ]
    Mark.objects.bulk_create(marks, batch_size=500)


def kept() -> tuple[Any, Any]:
    """(owner, tree) of the open installation."""
    from loom.access import get_actor
    from loom.people.models import Grove, User
    from loom.trees.models import Tree

    actor = get_actor(User.objects.get(username="bench"), Grove.objects.get(name="bench"))
    return actor, Tree.objects.select_related("grove").get(title=TITLE)


def make(folder: str, count: int) -> None:
    """Writes the tree unless it is there."""
    open_kept(folder)
    from loom.trees.models import Tree

    if not Tree.objects.filter(title=TITLE).exists():
        write(count)


if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
