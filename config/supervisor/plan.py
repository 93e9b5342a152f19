"""Which processes there are, and what environment they get."""

import os
import socket
import sys
from collections.abc import Iterator

from config.supervisor.keeper import Child
from config.supervisor.options import LOOPBACK, Options, free_port


def _origins(options: Options) -> list[str]:
    """The addresses under which a browser on this network can reach the host and port."""
    hosts = ["127.0.0.1", "localhost"]
    if options.host not in LOOPBACK:
        name = socket.gethostname()
        hosts += [options.host, name, f"{name}.local", *_addresses(name)]
    elif options.host not in hosts:
        hosts.append(options.host)
    known = dict.fromkeys(h for h in hosts if h not in ("0.0.0.0", "::", ""))  # noqa: S104
    return [f"http://{f'[{h}]' if ':' in h else h}:{options.port}" for h in known]


def _addresses(name: str) -> list[str]:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [str(entry[4][0]) for entry in found if "%" not in str(entry[4][0])]


# The only variables that child processes get. Anything else that is set in the shell, such as
# keys of providers and clouds, could be sent to an address that a user names.
PASSED_ON = frozenset(
    (
        *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ"),
        *("TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"),
        *("VIRTUAL_ENV", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "OMP_NUM_THREADS"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "DJANGO_SETTINGS_MODULE"),
        *("DATABASE_URL", "REDIS_URL"),
    )
)
PASSED_ON_PREFIXES = ("HEDDLE_", "LC_", "PYTHON")
# Keys of providers that are known by name. They reach two processes: the preparation, where
# the first start gives its Analyst one, and the worker, where HEDDLE_ENV_KEYS names a
# participant that uses one.
PROVIDER_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


def environment(options: Options) -> dict[str, str]:
    """The children's environment: what may be passed on, and what the options add to it."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)
    }
    env.pop("HEDDLE_STARTED_IN", None)
    for name in ("DATABASE_URL", "REDIS_URL"):
        if not env.get(name):
            env.pop(name, None)
    env["HEDDLE_DATA"] = str(options.data)
    env["PYTHONUNBUFFERED"] = "1"
    if not env.get("HEDDLE_ORIGINS"):
        env["HEDDLE_ORIGINS"] = ",".join(_origins(options))
    if options.model:
        address = f"127.0.0.1:{free_port('127.0.0.1', 0)}"
        env["HEDDLE_LOCAL_MODEL_URL"] = f"http://{address}/v1"
        allowed = [env.get("HEDDLE_PROVIDER_ALLOW", ""), address]
        env["HEDDLE_PROVIDER_ALLOW"] = ",".join(part for part in allowed if part)
    return env


def with_provider_keys(env: dict[str, str]) -> dict[str, str]:
    """The environment with the keys of known providers; without them for HEDDLE_ENV_KEYS=none."""
    if env.get("HEDDLE_ENV_KEYS", "").strip() == "none":
        return env
    return env | {name: os.environ[name] for name in PROVIDER_KEYS if os.environ.get(name)}


def _worker_environment(env: dict[str, str]) -> dict[str, str]:
    """The worker's environment: with providers' keys only where participants are named."""
    named = env.get("HEDDLE_ENV_KEYS", "").strip() not in ("", "first", "none")
    return with_provider_keys(env) if named else env


def origins_lines(options: Options, env: dict[str, str]) -> Iterator[str]:
    """What to say about origins: only where others than this machine may come."""
    if options.host in LOOPBACK:
        return
    yield "Browsers may come from these addresses (set HEDDLE_ORIGINS to change them):"
    for origin in env["HEDDLE_ORIGINS"].split(","):
        yield f"  {origin.strip()}"


def children(options: Options, env: dict[str, str]) -> list[Child]:
    """The processes besides the broker, in order of start."""
    python = sys.executable

    def child(name: str, *words: str) -> Child:
        own = _worker_environment(env) if name == "worker" else env
        return Child(name, [python, *words], own, options.logs / f"{name}.log")

    found = [
        child(
            "web",
            *("-m", "uvicorn", "config.asgi:application"),
            *("--host", options.host, "--port", str(options.port)),
            *("--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "3"),
            # config.asgi reads X-Forwarded-*, and believes only those whom HEDDLE_PROXIES names.
            "--no-proxy-headers",
            *("--http", "config.http:Limited", "--timeout-keep-alive", "15"),
            # A client's frame holds at most a working buffer. Compressing each frame for
            # each socket anew would cost more than it saves; a proxy may do it.
            *("--ws-max-size", "524288", "--ws-per-message-deflate", "false"),
            *("--lifespan", "on"),
        ),
        child(
            "worker",
            *("-m", "celery", "-q", "-A", "config", "worker", "--pool=threads", "--concurrency=32"),
            *("-Q", "continue,turns,summaries,transfer", "--loglevel=WARNING"),
            *("--without-gossip", "--without-mingle"),
        ),
    ]
    if options.model:
        port = env["HEDDLE_LOCAL_MODEL_URL"].rsplit(":", 1)[1].split("/")[0]
        found.insert(0, child("model", "-m", "agents.providers.local_server", "--port", port))
    return found
