"""What holds the code together: layers of imports, locks, migrations, documents."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from graphlib import CycleError, TopologicalSorter
from io import StringIO
from pathlib import Path
from urllib.parse import urlsplit

import grimp
import pytest
import yaml
from django.core.management import call_command

from tests.house.sources import ROOT, files, text_of

PINNED = r":\d+\.\d+[^@]*@sha256:[0-9a-f]{64}$"  # an image, by its version and its digest


def _asked(name: str) -> set[str]:
    """The packages that a .in file asks for, in the spelling of the index."""
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    return {
        re.split(r"[\[<>=!~ ;]", line)[0].lower() for line in lines if line and line[0] not in "-"
    }


def _wanted() -> set[str]:
    packages = json.loads((ROOT / "package.json").read_text())
    python = (
        "requirements.in",
        "requirements-dev.in",
        "requirements-model.in",
        "requirements-multilingual.in",
        "requirements-saml.in",
        "requirements-uv.in",
    )
    return {
        *(package for name in python for package in _asked(name)),
        *packages.get("dependencies", {}),
        *packages.get("devDependencies", {}),
    }


def test_every_dependency_has_its_reason_and_nothing_else_has() -> None:
    """Rows of docs/dependencies.md: | `name` | reason |."""
    rows = (ROOT / "docs" / "dependencies.md").read_text().splitlines()
    matches = [re.match(r"\| `([^`]+)` \| (.+) \|$", row) for row in rows]
    reasons = {match[1].lower(): match[2] for match in matches if match}
    assert reasons.keys() == _wanted()
    assert all(len(reason.split()) >= 2 for reason in reasons.values())


@pytest.mark.parametrize(
    "name",
    [
        "requirements",
        "requirements-dev",
        "requirements-model",
        "requirements-multilingual",
        "requirements-saml",
        "requirements-uv",
    ],
)
def test_the_locks_hold_what_is_asked_with_hashes(name: str) -> None:
    lock = (ROOT / f"{name}.txt").read_text()
    pinned = {match.lower() for match in re.findall(r"^([A-Za-z0-9_.-]+)==", lock, re.MULTILINE)}
    spelled = {re.sub(r"[-_.]+", "-", package) for package in _asked(f"{name}.in")}
    assert spelled <= {re.sub(r"[-_.]+", "-", package) for package in pinned}
    assert lock.count("--hash=sha256:") >= len(pinned)


def test_the_npm_lock_matches_what_is_asked() -> None:
    asked = json.loads((ROOT / "package.json").read_text())
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"][""]
    for kind in ("dependencies", "devDependencies"):
        assert asked.get(kind, {}) == locked.get(kind, {})
        assert all(version[0].isdigit() for version in asked.get(kind, {}).values())


def test_imports_keep_to_the_layers() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_each_module_has_a_layer() -> None:
    """Layers inside a package are exhaustive: a new module without one is refused."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layered = [contract for contract in settings["contracts"] if "containers" in contract]
    assert all(contract["exhaustive"] for contract in layered)
    assert {"agents", "config"} <= {name for contract in layered for name in contract["containers"]}


@pytest.mark.django_db
def test_no_migration_is_missing() -> None:
    out = StringIO()
    try:
        call_command("makemigrations", check=True, dry_run=True, stdout=out)
    except SystemExit:
        pytest.fail(f"run manage.py makemigrations:\n{out.getvalue()}")


def test_migrations_import_no_code_of_the_program() -> None:
    """Besides the maker of ids, a default that Django itself writes by its name."""
    migrations = [
        path.name
        for path in files(".py")
        if "migrations" in path.parts
        and re.search(
            r"^\s*(from|import) (?!loom\.engine\.fields$)(loom|agents|config)\b",
            text_of(path),
            re.MULTILINE,
        )
    ]
    assert not migrations


def test_the_readme_names_only_commands_that_are_there() -> None:
    text = (ROOT / "README.md").read_text()
    for script in set(re.findall(r"\bscript/([a-z]+)\b", text)):
        assert (ROOT / "script" / script).is_file(), script
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_compose_file_starts_what_a_shared_installation_needs() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert services.keys() == {"prepare", "web", "worker", "model", "proxy", "postgres", "redis"}
    for name in ("prepare", "web", "worker"):
        environment = services[name]["environment"]
        assert environment["DATABASE_URL"].startswith("postgresql://")
        assert environment["REDIS_URL"].startswith("redis://")
        # What the model is asked at is what may be called.
        asked = urlsplit(environment["HEDDLE_LOCAL_MODEL_URL"])
        assert environment["HEDDLE_PROVIDER_ALLOW"].startswith(f"{asked.netloc},")
        assert services["model"]["command"][-1] == str(asked.port)
    # Several web processes share the proxy's address, so none may take a port of its own.
    assert "ports" not in services["web"]
    assert "container_name" not in services["web"]


def test_the_compose_file_has_no_password_of_its_own_and_gives_no_process_more_than_it_needs() -> (
    None
):
    text = (ROOT / "docker-compose.yml").read_text()
    for name in ("HEDDLE_SECRET", "POSTGRES_PASSWORD", "REDIS_PASSWORD"):
        assert re.findall(rf"\$\{{{name}:?(.)", text)
        assert set(re.findall(rf"\$\{{{name}:?(.)", text)) == {"?"}, name
    services = yaml.safe_load(text)["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"] and service["read_only"] is True, name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["image"] == "heddle" or re.search(PINNED, service["image"]), name
    assert "healthcheck" in services["worker"]
    proxy = services["proxy"]["networks"]["front"]["ipv4_address"]
    assert services["web"]["environment"]["HEDDLE_PROXIES"] == proxy
    bases = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert len(bases) == 2 and all(re.search(PINNED, base) for base in bases)


def test_the_passwords_are_written_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    (tmp_path / "script").mkdir()
    script = tmp_path / "script" / "secrets"
    shutil.copy(ROOT / "script" / "secrets", script)
    run = partial(subprocess.run, [str(script)], capture_output=True, text=True, check=False)
    assert run().returncode == 0
    file = tmp_path / ".env"
    written = file.read_text()
    values = dict(line.split("=") for line in written.splitlines())
    assert set(values) == {"HEDDLE_SECRET", "POSTGRES_PASSWORD", "REDIS_PASSWORD"}
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in values.values())
    assert len(set(values.values())) == 3 and file.stat().st_mode & 0o077 == 0
    assert run().returncode == 1 and file.read_text() == written


def test_the_licence_is_whole() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


# Modules that import each other, if only inside a function. The list only shrinks.
CIRCLES = [
    {"loom.language.lines", "loom.language.near_misses"},
]


def test_no_other_modules_import_each_other_in_a_circle() -> None:
    graph = grimp.build_graph("config", "loom", "agents", exclude_type_checking_imports=True)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    for circle in CIRCLES:  # which would hide others that pass through them
        assert all(imports[module] & circle for module in circle), f"{circle} is no circle any more"
    order = TopologicalSorter(
        {
            module: {to for to in imported if {module, to} not in CIRCLES}
            for module, imported in imports.items()
        }
    )
    try:
        order.prepare()
    except CycleError as circle:
        pytest.fail(" → ".join(circle.args[1]))
