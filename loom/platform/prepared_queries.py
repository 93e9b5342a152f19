"""Queries whose SQL is built once, so that each request only pays for running them.

PostgreSQL plans them once for each connection, too: of a row with twelve joined ones, planning took
5.5 ms and reading 0.7 (measured). Django's own queries are planned each time, because it writes
their values into the SQL.

Uses internals of Django 5.2 (`ModelIterable`, the compiler's converters, `_prepare_cursor`)."""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import cache
from typing import Any, Generic, TypeVar

from django.db import connection, transaction
from django.db.models import Expression, Model, QuerySet
from django.db.models.query import ModelIterable, get_related_populators

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


class PreparedQuery(Generic[R]):
    """A queryset of rows or of `values_list`, with `Given` in place of the values. `make` is
    called once for each kind of database. Rows of `select_related` are loaded, as usual. Values
    that change the SQL (a None, a list) are not supported.
    """

    def __init__(self, make: Callable[[], QuerySet[Any, R]]) -> None:
        self._make = make
        self._ready: dict[str, tuple[str, tuple[Any, ...], Reader]] = {}

    def all(self, **given: str | int | datetime) -> list[R]:
        """The rows, in order; one query."""
        prepared = self._ready.get(connection.vendor)
        if prepared is None:
            prepared = self._ready[connection.vendor] = self._build()
        sql, params, reader = prepared
        values = [
            _ready(given[param.name]) if isinstance(param, Given) else param for param in params
        ]
        if connection.vendor == "postgresql":
            return list(reader(_rows_of_server(sql, values)))
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(reader(cursor.fetchall()))

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
        if connection.vendor == "postgresql":
            sql, params = _with_constants(sql, params)
        return sql, tuple(params), reader


def _rows_of_server(sql: str, values: list[Any]) -> list[Row]:
    """The rows of a query that PostgreSQL keeps the plan of: its values are sent beside the SQL,
    and `prepare_threshold` in the settings says from which run on."""
    from django.db.backends.postgresql.base import ServerBindingCursor

    wrapper: Any = connection
    binding: Any = ServerBindingCursor  # for mypy, it takes no connection
    wrapper.ensure_connection()
    with wrapper._prepare_cursor(binding(wrapper.connection)) as cursor:
        cursor.execute(sql, values)
        if wrapper.queries_logged:  # with its values, as every other query is
            from psycopg import ClientCursor

            query = ClientCursor(wrapper.connection).mogrify(sql, values)
            wrapper.queries_log[-1]["sql"] = query
        rows: list[Row] = cursor.fetchall()
        return rows


def _with_constants(sql: str, params: Iterable[Any]) -> tuple[str, list[Given]]:
    """The SQL with its constants written out: only with them does PostgreSQL see that an index of
    some rows holds all that are asked for. What is left are the values that each run provides."""
    from psycopg.sql import Literal

    wrapper: Any = connection
    wrapper.ensure_connection()
    given, words = [], []
    for param in params:
        if isinstance(param, Given):
            given.append(param)
            words.append("%s")
        else:
            words.append(Literal(param).as_string(wrapper.connection).replace("%", "%%"))
    return sql.replace("%%", "%%%%") % tuple(words), given


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
    if isinstance(value, int) and connection.vendor == "postgresql":
        from psycopg.types.numeric import Int8

        # Else its type, and with it the prepared statement, would follow from its size.
        return Int8(value)
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
            row_read = model.from_db(connection.alias, names, row[start:end])
            for populator in populators:
                populator.populate(row, row_read)
            for attribute, place in annotated:
                setattr(row_read, attribute, row[place])
            yield row_read

    return read
