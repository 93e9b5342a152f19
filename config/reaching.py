"""Whether the database and the broker that the environment names can be reached, asked once before
anything waits for them: without an answer within seconds, one sentence that says what to look at.
"""

import os
import sqlite3
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connection

from config.env import WrongSetting

PATIENCE_S = 5
_WRONG_PASSWORD = ("28P01", "28000")  # of PostgreSQL, as those below
_NO_DATABASE = "3D000"
_TOO_MANY = "53300"


def demand_reachable() -> None:
    """Raises WrongSetting with the sentence to show if one of both cannot be used. The broker is
    asked only where it is named, as the tables can be brought up to date without one."""
    _demand_database()
    if os.environ.get("REDIS_URL"):
        _demand_broker()


def _demand_database() -> None:
    if connection.vendor == "postgresql":
        _demand_postgresql()
        return
    try:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA user_version")
    except (DatabaseError, sqlite3.Error) as error:
        raise WrongSetting(
            f"The database {settings.DATABASES['default']['NAME']} can't be used: {error}. Look at"
            " who owns it and its folder, whether that is writable, and at the free disk space."
        ) from None


def _demand_postgresql() -> None:
    import psycopg

    given = settings.DATABASES["default"]
    at = f"{given['HOST'] or 'the local socket'}:{given['PORT'] or 5432}"
    # The pool of the process would try again and again for longer than anybody waits.
    wanted = {
        "host": given["HOST"],
        "port": given["PORT"],
        "user": given["USER"],
        "password": given["PASSWORD"],
        "dbname": given["NAME"],
    }
    asked: dict[str, Any] = {name: str(value) for name, value in wanted.items() if value}
    more = given["OPTIONS"].items()
    asked.update({name: value for name, value in more if name not in ("pool", "options")})
    try:
        psycopg.connect(**asked, connect_timeout=PATIENCE_S).close()
    except psycopg.Error as error:
        raise WrongSetting(_why_postgresql(error, at)) from None


def _why_postgresql(error: Exception, at: str) -> str:
    words, code = " ".join(str(error).split()), getattr(error, "sqlstate", None)
    if code in _WRONG_PASSWORD or "password authentication failed" in words:
        return f"PostgreSQL at {at} refuses the name or password. Look at DATABASE_URL."
    if code == _NO_DATABASE or "does not exist" in words:
        return (
            f"PostgreSQL at {at} has no database or user of that name. Make them, or change"
            " DATABASE_URL: sudo -u postgres createuser -P heddle; sudo -u postgres createdb -O"
            " heddle heddle"
        )
    if code == _TOO_MANY or "too many clients" in words or "remaining connection slots" in words:
        return (
            f"PostgreSQL at {at} has no connection left. Raise its max_connections, or lower"
            " HEDDLE_DATABASE_CONNECTIONS; docs/scaling.md has the arithmetic."
        )
    return (
        f"PostgreSQL at {at} cannot be reached: {words[:200]}. Look whether it runs, and at the"
        " host and port in DATABASE_URL."
    )


def _demand_broker() -> None:
    try:
        with redis.Redis.from_url(
            settings.REDIS_URL, socket_timeout=PATIENCE_S, socket_connect_timeout=PATIENCE_S
        ) as line:
            line.ping()
    except redis.AuthenticationError:
        raise WrongSetting("Redis refuses the password. Look at REDIS_URL.") from None
    except redis.RedisError as error:
        raise WrongSetting(
            f"Redis cannot be reached: {str(error)[:200]} Look whether it runs, and at the host and"
            " port in REDIS_URL."
        ) from None
