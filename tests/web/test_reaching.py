"""A wrong address of the database or broker ends the start within seconds, with a sentence that
says what to look at."""

import errno
import os
import socket
from pathlib import Path

import psycopg
import pytest
import redis
from django.conf import settings
from django.db import OperationalError, connections

from config import env, reaching
from config.env import WrongSetting
from config.settings import _database


def closed_port() -> int:
    """A port at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("DATABASE_URL", "mysql://heddle:KESTREL@db/heddle", "DATABASE_URL is no address"),
        ("DATABASE_URL", "postgres//heddle:KESTREL", "such as @ in a password as %40"),
        (
            "DATABASE_URL",
            "postgresql://heddle:KESTREL@db:port/h",
            "DATABASE_URL is no address",
        ),
        ("REDIS_URL", "127.0.0.1:6379", "REDIS_URL is no address"),
        ("REDIS_URL", "http://:KESTREL@127.0.0.1", "REDIS_URL is no address"),
    ],
)
def test_an_address_that_is_none_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv("HEDDLE_DATA", str(tmp_path))
    monkeypatch.setenv(name, value)
    with pytest.raises(WrongSetting, match=says) as refused:
        env.read()
    assert "KESTREL" not in str(refused.value)


@pytest.mark.parametrize("stored", [b"", b"short\n", b"\xff" * 40])
def test_a_damaged_secret_is_refused_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stored: bytes
) -> None:
    monkeypatch.delenv("HEDDLE_SECRET", raising=False)
    (tmp_path / "secret").write_bytes(stored)
    with pytest.raises(WrongSetting, match=r"secret is damaged: .*Put back the file `secret`"):
        env._secret(tmp_path)
    assert (tmp_path / "secret").read_bytes() == stored


def test_a_disk_that_fills_up_leaves_no_half_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.delenv("HEDDLE_SECRET", raising=False)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(WrongSetting, match="secret can't be read or written: No space left"):
            env._secret(tmp_path)
    assert list(tmp_path.iterdir()) == []
    secret = env._secret(tmp_path)
    assert len(secret) > env.SHORTEST_SECRET and env._secret(tmp_path) == secret
    assert [(file.name, file.stat().st_mode & 0o777) for file in tmp_path.iterdir()] == [
        ("secret", 0o600)
    ]


def test_what_an_address_says_about_tls_is_kept() -> None:
    entry = _database("postgresql://heddle@db/heddle?sslmode=verify-full&sslrootcert=/etc/ca.pem")
    assert entry["OPTIONS"]["sslmode"] == "verify-full"
    assert entry["OPTIONS"]["sslrootcert"] == "/etc/ca.pem"
    assert entry["OPTIONS"]["pool"]["min_size"] == 1


def test_a_postgresql_that_is_away_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    port = closed_port()
    away = _database(f"postgresql://heddle:KESTREL@127.0.0.1:{port}/heddle")
    monkeypatch.setitem(settings.DATABASES, "default", away)
    with pytest.raises(WrongSetting, match=f"127.0.0.1:{port} cannot be reached") as refused:
        reaching._demand_postgresql()
    assert "KESTREL" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            'FATAL:  password authentication failed for user "h"',
            "refuses the name or password",
        ),
        ('FATAL:  database "heddle" does not exist', "createdb -O heddle heddle"),
        ("FATAL:  sorry, too many clients already", "max_connections"),
        ("connection timeout expired", "Look whether it runs"),
    ],
)
def test_why_postgresql_refuses_is_told_apart(words: str, says: str) -> None:
    assert says in reaching._why_postgresql(psycopg.OperationalError(words), "db:5432")


def test_an_sqlite_file_that_cannot_be_opened_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def cannot() -> None:
        raise OperationalError("unable to open database file")

    here = connections["default"]
    monkeypatch.setattr(here, "cursor", cannot)
    monkeypatch.setattr(here, "vendor", "sqlite")
    with pytest.raises(WrongSetting, match=r"unable to open database file.*who owns it"):
        reaching._demand_database()


def test_a_broker_that_is_away_or_refuses_the_password_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reaching._demand_broker()
    monkeypatch.setattr(settings, "REDIS_URL", f"redis://127.0.0.1:{closed_port()}/0")
    with pytest.raises(WrongSetting, match="Redis cannot be reached"):
        reaching._demand_broker()
    monkeypatch.setattr(
        "redis.Redis.ping", lambda *_: (_ for _ in ()).throw(redis.AuthenticationError())
    )
    with pytest.raises(WrongSetting, match="refuses the password"):
        reaching._demand_broker()


@pytest.mark.django_db
def test_what_can_be_reached_is_let_pass() -> None:
    reaching._demand_database()
