"""Shared by all rows: opaque public ids, packed JSON, queries whose SQL is built once, and bulk
inserts."""

import gzip
import json
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from operator import itemgetter
from typing import Any, Generic, TypeVar

from django.db import DatabaseError, connection, models, transaction
from django.db.models import Expression, Model, QuerySet
from django.db.models.query import ModelIterable, get_related_populators

ALPHABET = "abcdefghjkmnpqrstvwxyz23456789"


def new_uid() -> str:
    """A fresh opaque id: 16 characters, 78 bits, safe in addresses and file names."""
    return "".join(secrets.choice(ALPHABET) for _ in range(16))


class PublicIdentity(models.Model):
    """A row with a public id. `id` never leaves the program; `uid` is what the API calls id."""

    id = models.BigAutoField(primary_key=True)
    uid = models.CharField(max_length=32, unique=True, default=new_uid, editable=False)

    class Meta:
        abstract = True


class PackedJSON(models.Field):  # type: ignore[type-arg]  # no generics at run time
    """A JSON value that is stored compressed and cannot be queried, for values with long
    repetitive texts. Migrations see a BinaryField."""

    empty_strings_allowed = False

    def get_internal_type(self) -> str:
        """The column of a BinaryField."""
        return "BinaryField"

    def deconstruct(self) -> Any:
        """A BinaryField with an empty default."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BinaryField", args, {**kwargs, "default": b""}

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        """The packed bytes; none for an empty value."""
        packed = gzip.compress(json.dumps(value).encode(), mtime=0) if value else b""
        return connection.Database.Binary(packed)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        """The unpacked value; {} for an empty one."""
        return json.loads(gzip.decompress(bytes(value))) if value else {}


# Queries whose SQL is built once, so that each request only pays for running them.


R = TypeVar("R")
Row = tuple[Any, ...]
Reader = Callable[[Iterable[Row]], Iterator[Any]]


class Given(Expression):
    """A placeholder in a prepared query for a value that each run provides: a text, a whole number
    or an instant."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, tuple[Any, ...]]:
        """A placeholder, with itself as the parameter."""
        return "%s", (self,)


class Prepared(Generic[R]):
    """A queryset of rows or of `values_list`, with `Given` in place of the values. `make` is
    called once for each kind of database. Rows of `select_related` are loaded, as usual. Values
    that change the SQL (a None, a list) are not supported.
    """

    def __init__(self, make: Callable[[], QuerySet[Any, R]]) -> None:
        self._make = make
        self._ready: dict[str, tuple[str, tuple[Any, ...], Reader]] = {}

    def all(self, **given: str | int | datetime) -> list[R]:
        """The rows, in order; one query."""
        found = self._ready.get(connection.vendor)
        if found is None:
            found = self._ready[connection.vendor] = self._build()
        sql, params, reader = found
        values = [_ready(given[one.name]) if isinstance(one, Given) else one for one in params]
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            rows = cursor.fetchall()
        return list(reader(rows))

    def first(self, **given: str | int | datetime) -> R | None:
        """The first row; None if there is none."""
        return next(iter(self.all(**given)), None)

    def _build(self) -> tuple[str, tuple[Any, ...], Reader]:
        queryset = self._make()
        compiler: Any = queryset.query.get_compiler(connection=connection)
        sql, params = compiler.as_sql()
        reader = _plain(compiler)
        # Django itself uses the class to distinguish rows of a model from tuples.
        if issubclass(queryset._iterable_class, ModelIterable):
            reader = _rows_of(compiler)
        return sql, tuple(params), reader


def lock_rows(model: type[Model], **where: str | int) -> None:
    """Locks the rows in which these columns have these values until the end of the transaction,
    in the order of their keys. Read them afterwards, with whatever they are joined to.

    Nothing is joined here, because of PostgreSQL: where a lock was waited for, it compares the new
    row with the rows that were joined before. If the other transaction has changed what the row
    names, such as the position of a workspace, an inner join then finds no row at all, and an outer
    one a row without its other half. SQLite's transactions are immediate: they hold the lock of
    the whole database from their beginning.
    """
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("lock_rows() needs a transaction")
    if connection.vendor != "sqlite":
        sql = _lock_of(model, connection.vendor, tuple(where))
        with connection.cursor() as cursor:
            cursor.execute(sql, list(where.values()))


@cache
def _lock_of(model: type[Model], vendor: str, names: tuple[str, ...]) -> str:
    quote = connection.ops.quote_name
    key = quote(str(model._meta.pk.column))
    fields: list[Any] = [
        model._meta.pk if name == "pk" else model._meta.get_field(name) for name in names
    ]
    where = " AND ".join(f"{quote(str(field.column))} = %s" for field in fields)
    table = quote(model._meta.db_table)
    # Keys never change, so rows that name this one may be added meanwhile.
    return f"SELECT {key} FROM {table} WHERE {where} ORDER BY {key} FOR NO KEY UPDATE"  # noqa: S608


def _ready(value: str | int | datetime) -> Any:
    """The value in the form that the database accepts."""
    if isinstance(value, datetime):
        return connection.ops.adapt_datetimefield_value(value)
    return value


def _plain(compiler: Any) -> Reader:
    """Returns a reader of tuples that converts values which differ between databases."""
    converters = compiler.get_converters([column[0] for column in compiler.select])

    def read(rows: Iterable[Row]) -> Iterator[Any]:
        for row in rows:
            values = list(row)
            for place, (steps, expression) in converters.items():
                for step in steps:
                    values[place] = step(values[place], expression, connection)
            yield tuple(values)

    return read


def _rows_of(compiler: Any) -> Reader:
    """Reads rows of the model, as Django's own ModelIterable does."""
    model: type[Model] = compiler.klass_info["model"]
    places = compiler.klass_info["select_fields"]
    start, end = places[0], places[-1] + 1
    names = [column[0].target.attname for column in compiler.select[start:end]]
    related: Any = get_related_populators
    populators = related(compiler.klass_info, compiler.select, connection.alias)
    annotated = compiler.annotation_col_map.items()
    plain = _plain(compiler)

    def read(rows: Iterable[Row]) -> Iterator[Any]:
        for row in plain(rows):
            made = model.from_db(connection.alias, names, row[start:end])
            for populator in populators:
                populator.populate(row, made)
            for attribute, place in annotated:
                setattr(made, attribute, row[place])
            yield made

    return read


# New rows by a statement whose SQL is built once. Django builds an expression for each value each
# time, which takes four times as long as storing it (measured with 1,000 nodes).


Convert = Callable[[Any], Any]
M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class _Insert:
    """The statement for new rows of a model, with or without keys of their own."""

    sql: str
    returning: str
    key: str
    stamped: tuple[Any, ...]
    read: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    converts: tuple[tuple[int, Convert], ...]

    def values(self, row: Mapping[str, Any]) -> list[Any]:
        """The values of a row, as the database takes them."""
        found = list(self.read(row))
        for place, convert in self.converts:
            if found[place] is not None:
                found[place] = convert(found[place])
        return found


@cache
def _insert_of(model: type[Model], vendor: str, is_keyed: bool) -> _Insert:
    key = model._meta.pk
    fields = [one for one in model._meta.local_concrete_fields if is_keyed or not one.primary_key]
    quote = connection.ops.quote_name
    names = ", ".join(quote(str(one.column)) for one in fields)
    table = quote(model._meta.db_table)
    return _Insert(
        f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(fields))})",  # noqa: S608
        "" if is_keyed else f" RETURNING {quote(str(key.column))}",
        str(key.attname),
        tuple(
            one
            for one in fields
            if getattr(one, "auto_now_add", False) or getattr(one, "is_computed", False)
        ),
        itemgetter(*(one.attname for one in fields)),
        tuple((place, done) for place, one in enumerate(fields) if (done := _converter(one))),
    )


def insert_row(row: M) -> M:
    """Stores a new row, sets its key if it has none, and returns it. Like `save`, but without
    signals and `auto_now`."""
    insert = _insert_of(type(row), connection.vendor, row.pk is not None)
    for one in insert.stamped:
        one.pre_save(row, True)
    with connection.cursor() as cursor:
        cursor.execute(insert.sql + insert.returning, insert.values(vars(row)))
        if insert.returning:
            setattr(row, insert.key, cursor.fetchone()[0])
    row._state.adding = False
    row._state.db = connection.alias
    return row


def insert_rows(model: type[Model], rows: Sequence[Mapping[str, Any]]) -> None:
    """Stores new rows, given as the values of all their columns by attribute (`vars` of an
    instance works). The database sets a key that is None; nothing else is computed."""
    if not rows:
        return
    key = model._meta.pk
    insert = _insert_of(model, connection.vendor, rows[0].get(key.attname) is not None)
    with connection.cursor() as cursor:
        cursor.executemany(insert.sql, [insert.values(row) for row in rows])


@cache
def _update_of(model: type[Model], vendor: str, names: tuple[str, ...]) -> tuple[str, Any]:
    fields: list[Any] = [model._meta.get_field(name) for name in names]
    quote = connection.ops.quote_name
    sets = ", ".join(f"{quote(str(one.column))} = %s" for one in fields)
    sql = (
        f"UPDATE {quote(model._meta.db_table)} SET {sets} "  # noqa: S608
        f"WHERE {quote(str(model._meta.pk.column))} = %s"
    )
    return sql, [(one.attname, _converter(one)) for one in fields]


def update_row(row: Model, *names: str) -> None:
    """Stores these fields of a row, like `save(update_fields=…)`, but without signals and
    `auto_now`. Raises DatabaseError if the row no longer exists."""
    sql, fields = _update_of(type(row), connection.vendor, names)
    values = []
    for attribute, convert in fields:
        value = getattr(row, attribute)
        values.append(value if convert is None or value is None else convert(value))
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, row.pk])
        if not cursor.rowcount:
            raise DatabaseError(f"{row._meta.label} {row.pk} is gone")


def _converter(field: Any) -> Convert | None:
    """The function that prepares a value for the database, for fields that need one."""
    if isinstance(field, models.JSONField):
        return lambda value: connection.ops.adapt_json_value(value, field.encoder)
    if isinstance(field, models.DateTimeField):
        return connection.ops.adapt_datetimefield_value
    if field.__class__ in _PLAIN or isinstance(field, models.ForeignKey):
        return None
    return lambda value: field.get_db_prep_save(value, connection)


_PLAIN = {
    *(models.CharField, models.TextField, models.BooleanField),
    *(models.IntegerField, models.BigIntegerField, models.BigAutoField),
}


def today() -> date:
    """The current day (UTC), for counting money."""
    return datetime.now(UTC).date()
