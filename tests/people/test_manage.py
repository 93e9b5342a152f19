"""What manage.py does for whoever runs a Heddle."""

import errno
import io
import json
import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from rest_framework.test import APIClient

from config import health
from config.release import VERSION
from config.supervisor.__main__ import locked
from config.supervisor.processes import StartError
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.management import shell
from loom.management.alone import alone
from loom.management.commands import backup, restore
from loom.participants.provider_keys import open_sealed
from loom.people.models import Grove, Membership, Participant, SigninLink, User
from loom.trees.models import Node, Tree
from tests.triggers import triggers_aside

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]


def output_of(*words: str, **options: Any) -> list[str]:
    """The lines that a command prints."""
    out = io.StringIO()
    call_command(*words, stdout=out, **options)
    return out.getvalue().splitlines()


def test_the_checks_of_django_find_nothing() -> None:
    call_command("check", fail_level="WARNING")


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    settings.DATA_DIR = tmp_path


def test_a_key_is_alone_on_the_last_line(owner: User) -> None:
    key = output_of("apikey", "OWNER", "laptop")[-1]
    client = APIClient()
    assert client.get("/api/me", HTTP_AUTHORIZATION=f"Bearer {key}").json()["user"] == "owner"
    less = output_of("apikey", "owner", "desk", scope="read", days=2)[-1]
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {less}")
    assert client.patch("/api/settings", {"theme": "dark"}).status_code == 403
    with pytest.raises(CommandError, match="nobody"):
        output_of("apikey", "nobody", "laptop")
    with pytest.raises(CommandError, match="days"):
        output_of("apikey", "owner", "laptop", days=-1)
    with pytest.raises(CommandError):
        output_of("apikey", "owner", "")


@pytest.mark.parametrize("words", [("apikey", "owner", "k"), ("adduser", "ada"), ("signin", "a")])
def test_an_empty_data_folder_is_reported_with_what_to_do(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    env = {"HEDDLE_DATA": str(tmp_path), "PATH": os.environ["PATH"]}
    python = shutil.which("python3", path="/usr/bin:/usr/local/bin") or sys.executable
    command = [python, "manage.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"There is no Heddle data in {tmp_path} yet." in done.stderr
    assert "Traceback" not in done.stderr


def test_a_user_is_made_with_a_link_that_works_once(grove: Grove) -> None:
    link = output_of("adduser", "ada", grove=grove.name.upper(), role="reader")[-1]
    assert link.startswith("http://testserver/signin/")
    assert Membership.objects.get().role == "reader"
    client = APIClient()
    secret = link.removeprefix("http://testserver")
    assert client.post(secret).status_code == 302
    assert client.get("/api/me").json()["user"] == "ada"
    assert APIClient().post(secret).status_code == 404
    again = output_of("signin", "ADA")[-1]
    output_of("adduser", "bob")
    assert Membership.objects.get(user__username="bob").role == "owner"
    assert again != link and APIClient().post(again.removeprefix("http://testserver"))


def test_a_user_that_cannot_be_is_not_half_made(grove: Grove) -> None:
    for words in (("adduser", "a b"), ("adduser", "ada", "--grove", "Nowhere")):
        with pytest.raises(CommandError):
            output_of(*words)
    output_of("adduser", "ada")
    with pytest.raises(CommandError, match="taken"):
        output_of("adduser", "Ada")
    with pytest.raises(CommandError):
        output_of("signin", "nobody")
    assert User.objects.count() == 1


def test_a_first_start_makes_what_one_begins_with() -> None:
    link = output_of("firststart")[-1]
    owner = User.objects.get(username="owner")
    grove = Grove.objects.get()
    actor = get_actor(owner, grove)
    assert (grove.name, actor.role, owner.is_operator) == ("First grove", "owner", True)
    models = {
        participant.name: participant for participant in grove.participants.filter(kind="model")
    }
    assert set(models) == {"Muse", "Analyst"}
    assert (models["Muse"].model_ref, models["Muse"].permissions) == ("local:smollm2", [])
    assert "loom_aware" in models["Analyst"].permissions
    tree = Tree.objects.get()
    assert tree.nodes.filter(kind="text").count() > 5
    assert tree.nodes.filter(kind="annotation").exists()
    client = APIClient()
    assert client.post(link.removeprefix("http://testserver")).status_code == 302
    assert client.get(f"/api/trees/{tree.uid}/verify").json()["status"] == "valid"


def test_a_second_start_changes_nothing_but_the_link() -> None:
    first = output_of("firststart")
    rows = (Event.objects.count(), Participant.objects.count())
    second = output_of("firststart")
    assert (Event.objects.count(), Participant.objects.count()) == rows
    assert second[-1] != first[-1]
    APIClient().post(second[-1].removeprefix("http://testserver"))
    assert "/signin/" in output_of("firststart")[-1]
    owner = User.objects.get()
    owner.set_password("a password to come in with")
    owner.save()
    assert output_of("firststart") == ["Sign in at http://testserver/signin"]
    assert SigninLink.objects.count() == 3


def test_somebody_called_owner_becomes_the_operator() -> None:
    output_of("adduser", "owner")
    output_of("firststart")
    assert User.objects.get().is_operator


@pytest.mark.parametrize(
    ("name", "ref"), [("OPENAI_API_KEY", "openai:"), ("ANTHROPIC_API_KEY", "anthropic:")]
)
def test_the_analyst_takes_the_first_key_of_the_environment(
    name: str, ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "sk-found")
    output_of("firststart")
    analyst = Participant.objects.get(name="Analyst")
    assert analyst.model_ref.startswith(ref)
    assert open_sealed(analyst.sealed_key, analyst.base_url) == "sk-found"


def test_no_key_of_the_environment_is_taken_where_the_setting_says_none(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-found")
    settings.ENV_KEYS = ("none",)
    output_of("firststart")
    assert Participant.objects.get(name="Analyst").sealed_key == ""


def test_every_tree_is_verified_and_a_broken_node_is_named(
    actor: Actor, tree: Tree, buffer: Tree
) -> None:
    execute_line(actor, tree, Request('respond root "a"'))
    lines = output_of("verify")
    assert lines[0] == f"{tree.uid} Marie: valid, 2 nodes, 0 calls"
    assert lines[-1] == "2 trees checked, 0 broken."
    assert output_of("verify", "marie")[-1] == "1 trees checked, 0 broken."
    root = tree.nodes.get(parent_slot__isnull=True)
    broken = tree.nodes.exclude(pk=root.pk).get()
    with triggers_aside(connection), connection.cursor() as cursor:
        cursor.execute("UPDATE trees_node SET hash = %s WHERE id = %s", ["0" * 64, broken.pk])
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("verify", tree.uid, stdout=out)
    assert ended.value.code == 1
    assert f"  {broken.local_id}: " in out.getvalue()
    with pytest.raises(CommandError, match="no tree"):
        output_of("verify", "Nowhere")


def test_a_full_disk_is_reported(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    client = APIClient()
    monkeypatch.setattr(health.worker, "state", lambda: "ok")
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["disk"]) == (200, "ok")
    assert answer.json()["version"] == VERSION
    assert answer.json()["reasons"] == {}
    monkeypatch.setattr(health, "LEAST_FREE_BYTES", 2**62)
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["ok"], answer.json()["disk"]) == (503, False, "full")
    assert answer.json()["reasons"]["disk"].startswith("Less than ")
    monkeypatch.setattr(health, "LEAST_FREE_BYTES", 0)
    settings.DATA_DIR = tmp_path / "not there"
    answer = client.get("/healthz")
    assert answer.json()["disk"] == "full"
    assert answer.json()["reasons"] == {"disk": "The data folder cannot be written."}


def test_each_part_that_is_down_has_its_reason(
    db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise OperationalError("connection to secret-host failed")

    monkeypatch.setattr(health, "_database", fails)
    settings.REDIS_URL = "redis://:secret-word@127.0.0.1:1/0"
    settings.LOCAL_MODEL_URL = "http://127.0.0.1:1/v1"
    answer = APIClient().get("/healthz")
    assert (answer.status_code, answer.json()["put_aside"]) == (503, None)
    assert answer.json()["reasons"] == {
        "database": "The database does not respond.",
        "broker": "The broker cannot be reached.",
        "worker": "The worker cannot be asked while the broker is down.",
        "model": "The local model cannot be reached.",
    }


def test_links_lead_to_where_it_was_started_last(settings: Any, owner: User) -> None:
    settings.ORIGINS = ["http://127.0.0.1:8123"]
    shell.keep_address()
    settings.ORIGINS = ["http://127.0.0.1:8000"]
    settings.ENV = type("Env", (), {"origins": ()})
    assert output_of("signin", "owner")[-1].startswith("http://127.0.0.1:8123/signin/")


@pytest.mark.django_db(transaction=True)
def test_a_backup_names_the_migrations_of_all_apps(tree: Tree) -> None:
    own = {
        f"{app}.{name}"
        for app, name in MigrationLoader(None).disk_migrations
        if apps.get_app_config(app).name.startswith(("loom.", "agents"))
    }
    assert {name.partition(".")[0] for name in own} >= {"trees", "gateway", "webhooks"}
    assert {*backup.applied()} == own


@pytest.mark.django_db(transaction=True)
def test_a_backup_brings_everything_back(
    actor: Actor, tree: Tree, tmp_path: Path, settings: Any
) -> None:
    execute_line(actor, tree, Request('respond "before →\u00e9🙂"'))
    (tmp_path / "secret").write_text("another secret")
    file = tmp_path / "one.backup"
    output_of("backup", str(file))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    execute_line(actor, tree, Request('respond "after"'))
    events = Event.objects.count()
    lines = output_of("restore", str(file))
    assert set(Node.objects.values_list("text", flat=True)) == {"", "before →é🙂"}
    assert Event.objects.count() < events
    assert (tmp_path / "secret").read_text() == settings.SECRET_KEY
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    # What was there before can be had again.
    output_of("restore", lines[0].split()[-1])
    assert Node.objects.filter(text="after").exists()
    execute_line(actor, tree, Request('respond "and on"'))


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_backup_leaves_what_is_no_ordinary_file(tree: Tree, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ""):
        with pytest.raises(CommandError, match="is no ordinary file"):
            output_of("backup", str(tmp_path / name))
    assert (tmp_path / "pipe").is_fifo()
    (tmp_path / "latest").symlink_to(tmp_path / "one.backup")
    output_of("backup", str(tmp_path / "latest"))
    assert (tmp_path / "latest").is_symlink() and (tmp_path / "one.backup").stat().st_size


@pytest.mark.django_db
def test_a_backup_of_another_version_is_refused(tree: Tree) -> None:
    about: dict[str, object] = {"heddle": backup.FORMAT, "database": "sqlite"}
    about["migrations"] = [*backup.applied(), "trees.0999_more"]
    with pytest.raises(CommandError, match="from a newer version"):
        restore._demand_fitting(about)
    about["migrations"] = ["no_such_app.0001_initial", "trees.0001_initial"]
    with pytest.raises(CommandError, match=r"from another version of Heddle \(no_such_app"):
        restore._demand_fitting(about)


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_backup_is_restored_on_a_new_machine(
    actor: Actor, tree: Tree, tmp_path: Path, settings: Any
) -> None:
    execute_line(actor, tree, Request('respond "carried over"'))
    output_of("backup", str(tmp_path / "one.backup"))
    env = {"HEDDLE_DATA": str(tmp_path / "new"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "manage.py", "restore", str(tmp_path / "one.backup")]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Restored. Start Heddle again.\n"), done.stderr
    with closing(sqlite3.connect(tmp_path / "new" / "heddle.sqlite3")) as rows:
        texts = {text for (text,) in rows.execute("SELECT text FROM trees_node")}
    assert texts == {"", "carried over"}
    assert (tmp_path / "new" / "secret").read_text() == settings.SECRET_KEY


@pytest.mark.django_db(transaction=True)
def test_what_is_not_a_backup_changes_nothing(actor: Actor, tree: Tree, tmp_path: Path) -> None:
    good = tmp_path / "good.backup"
    output_of("backup", str(good))
    (tmp_path / "text").write_text("nothing")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "half").write_bytes(good.read_bytes()[:5000])
    with tarfile.open(tmp_path / "other", "w") as tar:
        tar.add(tmp_path / "text", "../../outside")
    _rewritten(good, tmp_path / "newer", migrations=["loom.9999_later"])
    _rewritten(good, tmp_path / "foreign", database="oracle")
    _rewritten(good, tmp_path / "unknown", heddle=99)
    for name in ("text", "empty", "half", "other", "newer", "foreign", "unknown", "missing"):
        with pytest.raises(CommandError):
            output_of("restore", str(tmp_path / name))
    assert Tree.objects.count() == 1
    assert not (tmp_path / "secret").exists()
    assert not (tmp_path.parent / "outside").exists()


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_backup_with_other_pages_is_restored(
    actor: Actor, tree: Tree, tmp_path: Path, settings: Any
) -> None:
    execute_line(actor, tree, Request('respond "in small pages"'))
    output_of("backup", str(tmp_path / "one.backup"))
    with tarfile.open(tmp_path / "one.backup") as tar:
        (tmp_path / "database").write_bytes(tar.extractfile("database").read())  # type: ignore[union-attr]
    with closing(sqlite3.connect(tmp_path / "database")) as old:
        size = old.execute("PRAGMA page_size").fetchone()[0]
        other = 4096 if size != 4096 else 8192
        old.executescript(f"PRAGMA journal_mode=DELETE; PRAGMA page_size={other}; VACUUM")
        assert old.execute("PRAGMA page_size").fetchone()[0] == other
    small = tmp_path / "small.backup"
    members = {"database": (tmp_path / "database").read_bytes()}
    _with_members(tmp_path / "one.backup", small, members)
    execute_line(actor, tree, Request('respond "later"'))
    output_of("restore", str(small))
    assert set(Node.objects.values_list("text", flat=True)) == {"", "in small pages"}
    execute_line(actor, tree, Request('respond "and on"'))
    env = {"HEDDLE_DATA": str(tmp_path / "new"), "PATH": os.environ["PATH"]}
    command = [sys.executable, "manage.py", "restore", str(small)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "Restored. Start Heddle again.\n"), done.stderr
    with closing(sqlite3.connect(tmp_path / "new" / "heddle.sqlite3")) as rows:
        texts = {text for (text,) in rows.execute("SELECT text FROM trees_node")}
        pragmas = ("page_size", "auto_vacuum", "journal_mode")
        state = [rows.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas]
    assert texts == {"", "in small pages"}
    assert state == [8192, 2, "wal"]


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_backup_with_a_bad_part_changes_nothing(actor: Actor, tree: Tree, tmp_path: Path) -> None:
    good = tmp_path / "good.backup"
    output_of("backup", str(good))
    with closing(sqlite3.connect(tmp_path / "foreign")) as foreign:
        foreign.execute("CREATE TABLE recipes (name)")
        foreign.commit()
    bad: list[tuple[dict[str, bytes], str]] = [
        ({"database": b""}, "empty, or is not one of Heddle"),
        ({"database": (tmp_path / "foreign").read_bytes()}, "empty, or is not one of Heddle"),
        ({"database": b"no database at all" * 100}, "damaged"),
        ({"secret": b""}, "The secret in this backup is damaged"),
        ({"secret": b"\xff" * 40}, "The secret in this backup is damaged"),
    ]
    for members, says in bad:
        _with_members(good, tmp_path / "bad.backup", members)
        with pytest.raises(CommandError, match=says):
            output_of("restore", str(tmp_path / "bad.backup"))
    assert Tree.objects.count() == 1
    assert not (tmp_path / "secret").exists()
    assert not (tmp_path / "backups").exists()


def _with_members(good: Path, to: Path, members: dict[str, bytes]) -> None:
    """A backup with other bytes in some of its members."""
    with tarfile.open(good) as old, tarfile.open(to, "w") as new:
        for member in old.getmembers():
            content = old.extractfile(member).read()  # type: ignore[union-attr]
            content = members.get(member.name, content)
            member.size = len(content)
            new.addfile(member, io.BytesIO(content))


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_a_command_on_a_disk_that_takes_nothing_ends_with_a_sentence(
    owner: User, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = 1")
        try:
            with pytest.raises(CommandError, match="The database can't be used: attempt to write"):
                output_of("adduser", "ada")
        finally:
            cursor.execute("PRAGMA query_only = 0")

    def read_only(*_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), "/data/heddle.sqlite3-next")

    monkeypatch.setattr("loom.management.commands.verify.verify_tree", read_only)
    with pytest.raises(CommandError, match="-next can't be used: Read-only file system"):
        output_of("verify")


def _rewritten(good: Path, to: Path, **about: Any) -> None:
    """A backup that says something else about itself."""
    with tarfile.open(good) as old, tarfile.open(to, "w") as new:
        for member in old.getmembers():
            content = old.extractfile(member).read()  # type: ignore[union-attr]
            if member.name == "heddle.json":
                content = json.dumps({**json.loads(content), **about}).encode()
                member.size = len(content)
            new.addfile(member, io.BytesIO(content))


def test_a_backup_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, db: None) -> None:
    with pytest.raises(CommandError, match="can't be written"):
        output_of("backup", str(tmp_path / "no" / "such" / "folder"))
    assert list(tmp_path.iterdir()) == []


def test_a_backup_on_a_full_disk_is_refused_and_leaves_the_old_one(
    tmp_path: Path, db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(to: Path) -> None:
        to.write_bytes(b"half of it")
        raise sqlite3.OperationalError("database or disk is full")

    (tmp_path / "old.backup").write_text("whole")
    monkeypatch.setattr(backup, "dump", full)
    with pytest.raises(CommandError, match="can't be written: database or disk is full"):
        output_of("backup", str(tmp_path / "old.backup"))
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [
        ("old.backup", "whole")
    ]


@pytest.mark.django_db(transaction=True)
def test_two_backups_to_one_file_at_once_are_both_whole(
    actor: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, pack = tmp_path / "one.backup", backup._pack

    def meanwhile(part: Path, dumped: Path) -> None:
        monkeypatch.setattr(backup, "_pack", pack)
        output_of("backup", str(file))
        pack(part, dumped)

    monkeypatch.setattr(backup, "_pack", meanwhile)
    output_of("backup", str(file))
    with tarfile.open(file) as tar:
        assert backup.DATABASE in tar.getnames()
    assert list(tmp_path.glob("*.part")) == []


def test_what_a_killed_backup_left_is_removed_a_day_later(tmp_path: Path) -> None:
    old, new = (tmp_path / f"one.backup.{name}.part" for name in ("aa", "bb"))
    for part in (old, new):
        part.write_bytes(b"half")
    os.utime(old, (0, 0))
    backup._remove_old_parts(tmp_path / "one.backup")
    assert (old.exists(), new.exists()) == (False, True)


@pytest.mark.parametrize("given", ["nan", "inf", "-1", "soon"])
@pytest.mark.parametrize("command", ["export", "watch"])
def test_an_interval_is_a_number_of_seconds(command: str, given: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="--every"):
        call_command(command, str(tmp_path), f"--every={given}")


@pytest.mark.django_db
def test_a_role_is_one_in_a_grove(grove: Grove) -> None:
    with pytest.raises(CommandError, match="name it with --grove"):
        output_of("adduser", "bob", "--role", "reader")
    assert not User.objects.filter(username="bob").exists()


def test_nothing_is_restored_under_a_running_heddle(tmp_path: Path) -> None:
    import fcntl

    file = tmp_path / "one.backup"
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(CommandError, match="running"):
            output_of("restore", str(file))


@pytest.mark.django_db(transaction=True)
def test_nothing_else_is_started_while_a_backup_is_restored(
    actor: Actor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "one.backup"
    output_of("backup", str(file))
    refused: list[str] = []

    def meanwhile(*args: object) -> None:
        with pytest.raises(StartError) as start, locked(tmp_path):
            pass
        with pytest.raises(CommandError) as again:
            output_of("restore", str(file))
        refused.extend((str(start.value), str(again.value)))

    monkeypatch.setattr(restore.Command, "_restore", meanwhile)
    output_of("restore", str(file))
    assert "A backup is being restored" in refused[0]
    assert refused[1] == "A restore is running. Wait until it has ended."
    with locked(tmp_path):
        pass


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_process_that_has_asked_nothing_yet_is_well() -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # of PostgreSQL
    health._database()


@pytest.mark.postgres
def test_a_preparation_waits_until_a_restore_has_ended() -> None:
    given = connection.get_connection_params()
    words = {name: given[name] for name in ("dbname", "host", "port", "user") if name in given}
    with psycopg.connect(**words) as other, alone():
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
        assert other.execute(held).fetchone() == (1,)
    with psycopg.connect(**words) as other:
        assert other.execute(held).fetchone() == (0,)


@pytest.mark.postgres
def test_nothing_is_restored_while_a_worker_elsewhere_is_connected(tmp_path: Path) -> None:
    given = connection.get_connection_params()
    words = {name: given[name] for name in ("dbname", "host", "port", "user") if name in given}
    with (
        psycopg.connect(**words, application_name="heddle celery"),
        pytest.raises(CommandError, match=r"running on this database \(celery\)"),
    ):
        output_of("restore", str(tmp_path / "one.backup"))


def test_a_database_without_a_connection_left_is_told_from_one_that_is_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused = type("TooManyConnections", (Exception,), {"sqlstate": "53300"})()
    error = OperationalError("FATAL: sorry, too many clients already")
    error.__cause__ = refused
    assert health._why_database(error) == "The database has no connection left."
    pool = type("PoolTimeout", (Exception,), {"__module__": "psycopg_pool"})()
    no_connection = "This process found no free connection to the database."
    assert health._why_database(pool) == no_connection
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        monkeypatch.setitem(connection.settings_dict, "PORT", server.getsockname()[1])
        assert health._why_database(pool) == no_connection
    assert health._why_database(pool) == "The database does not respond."
