"""`manage.py takeover`: a database of the build before 0.1.0, in which every table belonged to the
app loom, with its rows in the tables of today.

The rows are copied as they are: ids, hashes and instants stay. A backup is made first, and put
back if anything fails. Remove this command when no database of that build is left.
"""

from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.models import Field, Model
from django.utils import timezone

from loom.engine.models import Step
from loom.language.ids import ORDINAL_BITS
from loom.links.commands.counting import recount
from loom.management.commands.backup import dump, load
from loom.notes.models import Mark
from loom.notes.tag_keys import tag_key
from loom.people.models import User
from loom.people.names import skeleton
from loom.trees.chains import Chains
from loom.trees.models import Chain, Node, Tree

LAST = "0134_daily_spending"  # the last migration of that build
BEFORE = "before_"
KEY, NAME, SKELETON = '"id"', '"username"', '"skeleton"'  # columns, as SQL names them


def is_of_the_build_before() -> bool:
    """Whether the database has the tables of the app loom, and not those of today."""
    names = set(connection.introspection.table_names())
    return "loom_node" in names and "trees_node" not in names


def take_over() -> dict[str, int]:
    """Copies all rows into the tables of today, and returns how many each table has. Raises
    CommandError, with the database as it was, if it is of another build."""
    if not is_of_the_build_before():
        raise CommandError("This is no database of the build before 0.1.0: nothing was changed.")
    _demand_last_migration()
    folder = Path(settings.DATA_DIR) / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{timezone.now():%Y%m%dT%H%M%S}.before-0.1.0.dump"
    dump(file)
    try:
        _move_aside()
        call_command("migrate", verbosity=0, interactive=False)
        counts = _copy()
        recount()
        _lay_chains()
        _fill_tag_keys()
    except BaseException:
        _back_to(file)
        raise
    _drop_old()
    return counts


def _demand_last_migration() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM django_migrations WHERE app = 'loom' AND name = %s", [LAST])
        if cursor.fetchone() is None:
            raise CommandError(
                "This database is older than the build before 0.1.0. Start that build once (its"
                " last migration is " + LAST + "), then run this again."
            )


def _old_tables() -> list[str]:
    names = connection.introspection.table_names()
    return sorted(name for name in names if name.startswith("loom_") and "_fts" not in name)


def _move_aside() -> None:
    """Renames the old tables. Their indexes go: names of indexes are unique in a database."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA heddle_before")
            for name in _old_tables():
                cursor.execute(f'ALTER TABLE "{name}" SET SCHEMA heddle_before')
            for name in ("loom_event_guard", "loom_node_guard"):
                cursor.execute(f"ALTER FUNCTION {name}() SET SCHEMA heddle_before")
            _forget(cursor)
        return
    with (
        connection.constraint_checks_disabled(),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(
            "SELECT type, name FROM sqlite_master WHERE tbl_name LIKE 'loom\\_%' ESCAPE '\\'"
            " AND type IN ('trigger', 'index') AND sql IS NOT NULL"
        )
        for kind, name in cursor.fetchall():
            cursor.execute(f'DROP {kind.upper()} "{name}"')
        cursor.execute("DROP TABLE IF EXISTS loom_node_fts")
        for name in _old_tables():
            cursor.execute(f'ALTER TABLE "{name}" RENAME TO "{BEFORE}{name}"')
        _forget(cursor)


def _forget(cursor: Any) -> None:
    """The records of the old migrations, and what Django noted about the models."""
    cursor.execute("DELETE FROM django_migrations WHERE app = 'loom'")
    cursor.execute(
        "DELETE FROM auth_group_permissions WHERE permission_id IN (SELECT p.id FROM"
        " auth_permission p JOIN django_content_type c ON c.id = p.content_type_id"
        " WHERE c.app_label = 'loom')"
    )
    cursor.execute(
        "DELETE FROM auth_permission WHERE content_type_id IN"
        " (SELECT id FROM django_content_type WHERE app_label = 'loom')"
    )
    cursor.execute("DELETE FROM django_content_type WHERE app_label = 'loom'")


def _models() -> list[type[Model]]:
    """Every model of Heddle, with the tables between two models."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if apps.get_app_config(model._meta.app_label).name.startswith(("loom.", "agents"))
    ]


def _old_name(model: type[Model]) -> str:
    table = model._meta.db_table.removeprefix(f"{model._meta.app_label}_")
    if connection.vendor == "postgresql":
        return f'heddle_before."loom_{table}"'
    return f'"{BEFORE}loom_{table}"'


def _columns(name: str) -> set[str]:
    bare = name.rpartition(".")[2].strip('"')
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT to_regclass(%s)", [name])
            if cursor.fetchone()[0] is None:
                return set()
        elif bare not in connection.introspection.table_names(cursor):
            return set()
        cursor.execute(f"SELECT * FROM {name} LIMIT 0")  # noqa: S608
        return {column[0] for column in cursor.description}


def _copy() -> dict[str, int]:
    counts = {}
    with connection.constraint_checks_disabled(), transaction.atomic():
        for model in _models():
            counts[model._meta.db_table] = _copy_table(model)
        connection.check_constraints()
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), _models()):
                cursor.execute(statement)
    return counts


def _copy_table(model: type[Model]) -> int:
    old = _old_name(model)
    known = _columns(old)
    if not known:  # a table that is new
        return 0
    names, values, given = [], [], []
    for field in model._meta.local_concrete_fields:
        column = str(field.column)
        names.append(f'"{column}"')
        if column in known:
            values.append(f'"{column}"')
        elif column == "about" and "document_id" in known:
            values.append('-"document_id"')  # the item of the document (loom.language.ids)
        else:
            values.append("%s")
            given.append(_default(field))
    table = model._meta.db_table
    if model is User:
        _copy_users(names, values, given, old)
        return User.objects.count()
    with connection.cursor() as cursor:
        cursor.execute(
            f'INSERT INTO "{table}" ({", ".join(names)}) SELECT {", ".join(values)} FROM {old}',  # noqa: S608
            given,
        )
        cursor.execute(f'SELECT (SELECT COUNT(*) FROM "{table}"), (SELECT COUNT(*) FROM {old})')  # noqa: S608
        new_count, old_count = cursor.fetchone()
    if new_count != old_count:
        raise CommandError(f"{table} has {new_count} rows of {old_count}: nothing was changed.")
    return int(new_count)


def _copy_users(names: list[str], values: list[str], given: list[Any], old: str) -> None:
    """The skeleton of a name is unique: names that looked alike before keep working, as no
    skeleton has a blank."""
    taken: set[str] = set()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(values)} FROM {old} ORDER BY id", given)  # noqa: S608
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        for row in rows:
            shape = skeleton(row[NAME])
            row[SKELETON] = f"{shape} {row[KEY]}" if shape in taken else shape
            taken.add(shape)
            marks = ", ".join(["%s"] * len(names))
            cursor.execute(
                f"INSERT INTO {User._meta.db_table} ({', '.join(names)}) VALUES ({marks})",  # noqa: S608
                list(row.values()),
            )


def _fill_tag_keys() -> None:
    tags = Mark.objects.filter(kind="tag")
    for name in list(tags.order_by().values_list("label", flat=True).distinct()):
        tags.filter(label=name).update(label_key=tag_key(name))


def _lay_chains() -> None:
    """The chains of slots, by which what hides one is found (`loom.trees.chains`), in the order in
    which nodes were made; and the marks of steps that hid windows for lack of room."""
    for tree in Tree.objects.order_by("id").values_list("id", flat=True):
        rows = Node.objects.filter(tree=tree, kind="text").order_by("id")
        home = tree << ORDINAL_BITS
        laid = Chains()
        above: list[tuple[int, int]] = []
        pruned: list[int] = []
        columns = ("id", "slot_id", "parent_slot_id", "depth", "pruned")
        for node, slot, parent, depth, is_pruned in rows.values_list(*columns).iterator():
            if parent is None:
                continue
            if node != slot:
                above.append((home + laid.above(slot - home), node))
                continue
            above.append((home + laid.add(node - home, parent - home, depth=depth), node))
            if is_pruned:
                pruned.append(slot)
        hiding = [(home + own, slot) for slot in pruned if (own := laid.own(slot - home))]
        with connection.cursor() as cursor:
            cursor.executemany("UPDATE trees_node SET parent_chain = %s WHERE id = %s", above)
            cursor.executemany("UPDATE trees_node SET pruned_chain = %s WHERE id = %s", hiding)
        Chain.objects.bulk_create(
            [Chain(id=home + key, tail=tail) for key, tail in laid.tails.items()], batch_size=500
        )
    evictions = Step.objects.filter(canonical__startswith="→ hide ", turn_place="")
    evictions.filter(because__endswith="lines in windows").update(evicts=True)


def _default(field: "Field[Any, Any]") -> Any:
    """What a column that the old table did not have holds for its rows."""
    return field.get_db_prep_save(field.get_default(), connection)


def _back_to(file: Path) -> None:
    """The database as it was dumped."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP SCHEMA IF EXISTS heddle_before CASCADE")
            names = connection.introspection.table_names()
            ours = {model._meta.db_table for model in _models()}
            for name in sorted(ours & set(names)):
                cursor.execute(f'DROP TABLE "{name}" CASCADE')
            for name in ("engine_event_guard", "trees_node_guard"):
                cursor.execute(f"DROP FUNCTION IF EXISTS {name}() CASCADE")
    load(file)


def _drop_old() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("DROP SCHEMA heddle_before CASCADE")
            return
        names = connection.introspection.table_names(cursor)
        with connection.constraint_checks_disabled():
            for name in names:
                if name.startswith(f"{BEFORE}loom_"):
                    cursor.execute(f'DROP TABLE "{name}"')
        cursor.execute("VACUUM")


class Command(BaseCommand):
    """Takes over a database of the build before 0.1.0."""

    help = "Copies a database of the build before 0.1.0 into the tables of today."
    requires_migrations_checks = False

    def add_arguments(self, parser: CommandParser) -> None:
        """None."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints how many rows were taken over."""
        counts = take_over()
        rows = sum(counts.values())
        self.stdout.write(f"{rows:,} rows of {len(counts)} tables were taken over.")
