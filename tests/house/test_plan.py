"""What script/server makes of its words and its environment, without starting anything."""

import re
import socket
from pathlib import Path

import pytest
import yaml

import config.env
from config.supervisor import __main__, processes
from config.supervisor.processes import Options, StartError


def _options(**given: object) -> Options:
    values = {"host": "127.0.0.1", "port": 8000, "data": Path("/data"), "model": True}
    return Options(**{**values, "browser": False, **given})  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def _bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEDDLE_ORIGINS", "HEDDLE_PROVIDER_ALLOW", "DATABASE_URL", "REDIS_URL"):
        monkeypatch.delenv(name, raising=False)


def test_threads_share_two_heaps_unless_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert processes.environment(_options())["MALLOC_ARENA_MAX"] == "2"
    monkeypatch.setenv("MALLOC_ARENA_MAX", "8")
    assert processes.environment(_options())["MALLOC_ARENA_MAX"] == "8"


def test_the_local_models_port_is_allowed_beside_what_was_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEDDLE_PROVIDER_ALLOW", "10.0.0.0/8")
    env = processes.environment(_options())
    address = env["HEDDLE_LOCAL_MODEL_URL"].removeprefix("http://").removesuffix("/v1")
    assert env["HEDDLE_PROVIDER_ALLOW"] == f"10.0.0.0/8,{address}"
    model = next(c for c in processes.children(_options(), env) if c.name == "model")
    assert model.argv[-2:] == ["--port", address.rsplit(":", 1)[1]]


def test_only_listed_variables_reach_the_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = ("AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY", "GROQ_API_KEY", "HTTPS_PROXY")
    for name in secret:
        monkeypatch.setenv(name, "of the operator")
    monkeypatch.setenv("HEDDLE_SECRET", "x" * 40)
    env = processes.environment(_options())
    assert env["HEDDLE_SECRET"] == "x" * 40 and env["PATH"]
    for child in processes.children(_options(), env):
        assert not set(secret) & child.env.keys(), child.name


@pytest.mark.parametrize(
    ("setting", "prepare", "worker"),
    [("", True, False), ("first", True, False), ("none", False, False), ("abc12", True, True)],
)
def test_a_providers_key_reaches_only_who_may_use_it(
    setting: str, prepare: bool, worker: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of the operator")
    monkeypatch.setenv("HEDDLE_ENV_KEYS", setting)
    env = processes.environment(_options())
    assert ("OPENAI_API_KEY" in processes.with_provider_keys(env)) is prepare
    having = {c.name for c in processes.children(_options(), env) if "OPENAI_API_KEY" in c.env}
    assert having == ({"worker"} if worker else set())


def test_without_the_model_nothing_is_allowed_or_started() -> None:
    env = processes.environment(_options(model=False))
    assert "HEDDLE_PROVIDER_ALLOW" not in env
    assert [c.name for c in processes.children(_options(model=False), env)] == ["web", "worker"]


def test_on_loopback_only_this_machine_is_an_origin() -> None:
    env = processes.environment(_options(port=8123))
    assert env["HEDDLE_ORIGINS"] == "http://127.0.0.1:8123,http://localhost:8123"
    assert list(processes.origins_lines(_options(), env)) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "2001:db8::7", "::"])
def test_another_host_says_which_origins_are_accepted(host: str) -> None:
    given = _options(host=host)
    env = processes.environment(given)
    text = "\n".join(processes.origins_lines(given, env))
    assert "HEDDLE_ORIGINS" in text
    assert "http://127.0.0.1:8000" in text
    assert "0.0.0.0" not in text
    assert "[::]" not in text
    if host in ("192.0.2.7", "2001:db8::7"):
        assert given.url in text


def test_origins_that_are_given_are_the_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_ORIGINS", "https://loom.example.org")
    env = processes.environment(_options())
    assert env["HEDDLE_ORIGINS"] == "https://loom.example.org"


def test_an_empty_address_of_a_database_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere/0")
    env = processes.environment(_options())
    assert "DATABASE_URL" not in env
    assert env["REDIS_URL"] == "redis://elsewhere/0"


@pytest.mark.parametrize("port", ["-1", "70000"])
def test_a_port_that_is_none_is_refused_in_a_sentence(port: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="cannot listen"):
        processes.read(["--port", port, "--data", str(tmp_path)])


def test_a_data_folder_that_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match="t be created"):
        processes.read(["--port", "0", "--data", str(tmp_path / "file" / "data")])


def test_a_relative_folder_is_relative_to_the_caller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_STARTED_IN", str(tmp_path))
    given = processes.read(["--port", "0", "--data", "mine"])
    assert given.data == (tmp_path / "mine").resolve()
    assert given.data.stat().st_mode & 0o077 == 0


def test_a_data_folder_that_a_command_makes_is_its_owners_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_DATA", str(tmp_path / "fresh" / "data"))
    assert config.env.read().data.stat().st_mode & 0o077 == 0


def test_a_command_in_another_shell_finds_the_embedded_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_DATA", str(tmp_path))
    assert config.env.read().redis_url == "redis://127.0.0.1:6379/0"
    __main__._configure(tmp_path / "broker", 4711, "word")
    assert config.env.read().redis_url == "redis://:word@127.0.0.1:4711/0"


def test_a_free_port_is_looked_for_below_those_of_outgoing_connections() -> None:
    for host in ("127.0.0.1", "0.0.0.0"):
        assert processes.free_port(host, 0) in processes.FREE_PORTS
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", processes.free_port("127.0.0.1", 0)))
        taken.listen(1)
        with pytest.raises(StartError, match="is taken"):
            processes.free_port("127.0.0.1", taken.getsockname()[1])


def test_the_compose_file_gives_nothing_away() -> None:
    text = (config.env.ROOT / "docker-compose.yml").read_text()
    services = yaml.safe_load(text)["services"]
    for name, service in services.items():
        assert service.get("build") or "@sha256:" in service["image"], name
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"]), name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert name == "proxy" or "ports" not in service, name
    assert "inspect ping" in str(services["worker"]["healthcheck"]["test"])
    assert services["postgres"]["networks"] == services["redis"]["networks"] == ["back"]
    # Every password is one that script/secrets has made: without it nothing starts.
    secrets = re.findall(r"\$\{(\w*(?:PASSWORD|SECRET)\w*)([^}]*)\}", text)
    script = (config.env.ROOT / "script" / "secrets").read_text()
    # But those that a provider of identities and a storage of objects make themselves.
    theirs = {"HEDDLE_OIDC_SECRET", "HEDDLE_IMAGES_SECRET"}
    assert all(rest in ("", ":-") for name, rest in secrets if name in theirs)
    secrets = [secret for secret in secrets if secret[0] not in theirs]
    assert secrets and all(rest.startswith(":?") for _, rest in secrets)
    assert all(f'echo "{name}=$(random)"' in script for name, _ in secrets)
    built = (config.env.ROOT / "Dockerfile").read_text()
    assert all("@sha256:" in line for line in re.findall(r"^FROM (.*)", built, re.MULTILINE))
