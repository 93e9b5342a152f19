"""The environment variables. A wrong value ends the start with a sentence."""

import os
import re
import secrets
from dataclasses import dataclass, field
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SHORTEST_SECRET = 32  # characters
PRIVATE = 0o700  # the data belongs to its owner; a folder that is there keeps its mode


class WrongSetting(SystemExit):
    """Ends the start with one sentence on standard error."""


_ROLES = ("reader", "writer", "owner")


@dataclass(frozen=True)
class OpenId:
    """How people sign in by OpenID Connect; without an issuer they do not."""

    issuer: str = ""
    client: str = ""
    secret: str = ""
    name: str = "your organisation"
    scope: str = "openid profile email"
    groups_claim: str = "groups"
    groups: tuple[tuple[str, str, str], ...] = ()  # group, id of a grove, role
    new: str = "nobody"


@dataclass(frozen=True)
class Saml:
    """How people sign in by SAML; without the metadata of a provider they do not."""

    metadata: str = ""  # XML
    name: str = "your organisation"
    groups_attribute: str = "groups"
    groups: tuple[tuple[str, str, str], ...] = ()  # group, id of a grove, role
    new: str = "nobody"
    key: str = field(default="", repr=False)  # PEM: signs what is asked, opens what is encrypted
    certificate: str = ""  # PEM
    encrypted: bool = False  # whether assertions have to be


@dataclass(frozen=True)
class Bucket:
    """Where images are, if not in the data folder: objects of a storage that speaks S3. Without an
    endpoint it is that of Amazon; without a key the machine has a role, as boto3 finds it."""

    name: str
    prefix: str = ""
    endpoint: str = ""
    region: str = ""
    key: str = ""
    secret: str = ""


@dataclass(frozen=True)
class Env:
    """The environment as values: paths absolute, lists split at commas."""

    data: Path
    secret: str
    origins: tuple[str, ...]
    provider_allow: tuple[str, ...]
    private_addresses: str
    database_url: str
    redis_url: str
    debug: bool
    local_model_url: str
    embedder: str
    env_keys: tuple[str, ...]
    proxies: tuple[str, ...]
    receipt_days: int
    ended_session_days: int
    sockets: int
    sockets_each: int
    database_connections: int
    metrics_key: str
    log_format: str
    traces_url: str
    openid: OpenId = field(default_factory=OpenId)
    saml: Saml = field(default_factory=Saml)
    oauth: bool = False
    mail: "Mail | None" = None
    images: Bucket | None = None
    timestamps: tuple[str, ...] = ()
    timestamp_roots: str = ""


@dataclass(frozen=True)
class Mail:
    """A server that takes e-mail. `tls`: starttls, implicit or none."""

    host: str
    port: int
    user: str
    password: str
    tls: str
    sender: str


def _embedder() -> str:
    """What makes the vectors of texts where a grove names no endpoint."""
    chosen = os.environ.get("HEDDLE_EMBEDDER", "") or "embedded"
    if chosen not in ("embedded", "multilingual"):
        raise WrongSetting(f"HEDDLE_EMBEDDER is embedded or multilingual, not {chosen!r}.")
    return chosen


def _listed(name: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in os.environ.get(name, "").split(",") if part.strip())


def provider_key(variable: str) -> str:
    """The provider's key in this variable of the environment; "" if it is not set."""
    return os.environ.get(variable, "").strip()


def _proxies() -> tuple[str, ...]:
    """`HEDDLE_PROXIES`: addresses or networks whose X-Forwarded-* headers are trusted."""
    named = _listed("HEDDLE_PROXIES")
    for address in named:
        try:
            ip_network(address, strict=False)
        except ValueError:
            raise WrongSetting(
                f"HEDDLE_PROXIES contains {address!r}, which is not an address or network. "
                "Write it as 10.0.0.5 or 10.0.0.0/24."
            ) from None
    return named


def _private_addresses() -> str:
    """`HEDDLE_PRIVATE_ADDRESSES`: who may allow a private address of a model in the pages."""
    given = os.environ.get("HEDDLE_PRIVATE_ADDRESSES", "") or "owners"
    if given == "no":
        return "nobody"
    if given not in ("owners", "operator", "nobody"):
        raise WrongSetting(
            f"HEDDLE_PRIVATE_ADDRESSES={given!r} does not exist. Write owners, operator or nobody."
        )
    return given


def _days(name: str, default: int) -> int:
    """A whole number of days, 1 or more."""
    given = os.environ.get(name, "") or str(default)
    if not (given.isascii() and given.isdigit() and int(given[:6]) >= 1 and len(given) <= 5):
        raise WrongSetting(
            f"{name}={given!r} is not a number of days. Write 1 or more, such as 30."
        )
    return int(given)


def _count(name: str, default: int, *, least: int, most: int, of: str) -> int:
    """A whole number between `least` and `most`."""
    given = os.environ.get(name, "") or str(default)
    if not (given.isascii() and given.isdigit() and least <= int(given[:9]) <= most):
        raise WrongSetting(
            f"{name}={given!r} is not a number of {of}. Write {least} to {most}, such as {default}."
        )
    return int(given)


def _metrics_key() -> str:
    """`HEDDLE_METRICS_KEY`: what Prometheus sends to read the figures; "" if nobody may."""
    given = os.environ.get("HEDDLE_METRICS_KEY", "").strip()
    if given and (len(given) < 16 or not given.isascii()):
        raise WrongSetting(
            "HEDDLE_METRICS_KEY is shorter than 16 characters, or has letters with accents. "
            "Use a longer one, such as the output of: openssl rand -hex 16"
        )
    return given


def _log_format() -> str:
    """`HEDDLE_LOG`: how lines of the log are written, `line` or `json`."""
    given = os.environ.get("HEDDLE_LOG", "").strip() or "line"
    if given not in ("line", "json"):
        raise WrongSetting(f"HEDDLE_LOG is line or json, not {given!r}.")
    return given


def _traces_url() -> str:
    """`HEDDLE_TRACES`: the collector that spans are sent to, without a path; "" for none."""
    given = os.environ.get("HEDDLE_TRACES", "").strip().rstrip("/")
    parts = urlsplit(given)
    if given and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path):
        raise WrongSetting(
            "HEDDLE_TRACES is no address of a collector. Write it without a path, such as "
            "http://collector:4318."
        )
    return given


def _switch(name: str) -> bool:
    """Whether a switch is on: `1`, `0` or nothing."""
    given = os.environ.get(name, "").strip()
    if given not in ("", "0", "1"):
        raise WrongSetting(f"{name} is 1 (on) or 0 (off), not {given!r}.")
    return given == "1"


def _openid() -> OpenId:
    """`HEDDLE_OIDC_*`: see docs/operating.md."""
    issuer = os.environ.get("HEDDLE_OIDC_ISSUER", "").strip()
    if not issuer:
        return OpenId()
    if not issuer.startswith(("https://", "http://")):
        raise WrongSetting(f"HEDDLE_OIDC_ISSUER={issuer!r} is no address. Write https://{issuer}.")
    asked = {
        "client": "HEDDLE_OIDC_CLIENT",
        "secret": "HEDDLE_OIDC_SECRET",
        "name": "HEDDLE_OIDC_NAME",
        "scope": "HEDDLE_OIDC_SCOPE",
        "groups_claim": "HEDDLE_OIDC_GROUPS_CLAIM",
    }
    given = {
        name: value
        for name, variable in asked.items()
        if (value := os.environ.get(variable, "").strip())
    }
    if "client" not in given:
        raise WrongSetting("HEDDLE_OIDC_ISSUER needs HEDDLE_OIDC_CLIENT, the id of this client.")
    given["new"] = _who_may_come("HEDDLE_OIDC_NEW")
    return OpenId(issuer=issuer, groups=_roles_of_groups("HEDDLE_OIDC_GROUPS"), **given)


def _who_may_come(name: str) -> str:
    """Who may come from an organisation for the first time."""
    given = os.environ.get(name, "").strip() or "nobody"
    if given not in ("nobody", "groups", "anybody"):
        raise WrongSetting(f"{name}={given!r} does not exist. Write nobody, groups or anybody.")
    return given


def _roles_of_groups(name: str) -> tuple[tuple[str, str, str], ...]:
    """Which role a group of an organisation has in which grove."""
    roles = []
    for entry in _listed(name):
        group, _, target = entry.rpartition("=")
        grove, _, role = target.partition(":")
        if not group or not grove or role not in _ROLES:
            raise WrongSetting(
                f"{name} contains {entry!r}. Write group=id-of-grove:role, with reader,"
                " writer or owner as the role."
            )
        roles.append((group, grove, role))
    return tuple(roles)


def _saml() -> Saml:
    """`HEDDLE_SAML_*`: see docs/operating.md."""
    path = os.environ.get("HEDDLE_SAML_METADATA", "").strip()
    if not path:
        return Saml()
    if find_spec("onelogin") is None:
        raise WrongSetting(
            "HEDDLE_SAML_METADATA needs the packages of requirements-saml.txt: "
            ".venv/bin/pip install --require-hashes -r requirements-saml.txt"
        )
    try:
        metadata = Path(path).read_text()
    except (OSError, ValueError) as error:
        raise WrongSetting(f"HEDDLE_SAML_METADATA={path} can't be read: {error}.") from None
    if "IDPSSODescriptor" not in metadata or "X509Certificate" not in metadata:
        raise WrongSetting(
            f"HEDDLE_SAML_METADATA={path} is no metadata of a SAML provider. Save the XML that the"
            " provider shows as its metadata, with its certificate."
        )
    asked = {"name": "HEDDLE_SAML_NAME", "groups_attribute": "HEDDLE_SAML_GROUPS_ATTRIBUTE"}
    given: dict[str, Any] = {
        name: value
        for name, variable in asked.items()
        if (value := os.environ.get(variable, "").strip())
    }
    return Saml(
        metadata=metadata,
        groups=_roles_of_groups("HEDDLE_SAML_GROUPS"),
        new=_who_may_come("HEDDLE_SAML_NEW"),
        **given,
        **_saml_key(),
    )


def _saml_key() -> dict[str, Any]:
    """`HEDDLE_SAML_KEY` and `HEDDLE_SAML_CERTIFICATE`, two files that belong together, and
    `HEDDLE_SAML_ENCRYPTED`."""
    key, certificate = (
        os.environ.get(name, "").strip() for name in ("HEDDLE_SAML_KEY", "HEDDLE_SAML_CERTIFICATE")
    )
    encrypted = _switch("HEDDLE_SAML_ENCRYPTED")
    if bool(key) != bool(certificate):
        raise WrongSetting("Set HEDDLE_SAML_KEY and HEDDLE_SAML_CERTIFICATE, or neither of them.")
    if encrypted and not key:
        raise WrongSetting(
            "HEDDLE_SAML_ENCRYPTED needs HEDDLE_SAML_KEY and HEDDLE_SAML_CERTIFICATE, as what is"
            " encrypted is encrypted for them."
        )
    if not key:
        return {}
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from cryptography.x509 import load_pem_x509_certificate

    try:
        secret, public = Path(key).read_text(), Path(certificate).read_text()
        opened = load_pem_private_key(secret.encode(), None)
        fits = opened.public_key() == load_pem_x509_certificate(public.encode()).public_key()
    except OSError as error:
        raise WrongSetting(
            f"{error.filename} (HEDDLE_SAML_KEY or HEDDLE_SAML_CERTIFICATE) can't be read:"
            f" {error.strerror}."
        ) from None
    except (ValueError, TypeError):
        fits = False
    if not fits or not isinstance(opened, RSAPrivateKey):
        raise WrongSetting(
            "HEDDLE_SAML_KEY and HEDDLE_SAML_CERTIFICATE are not an RSA key without a password and"
            " its certificate, as PEM. Make both with: openssl req -x509 -newkey rsa:3072 -nodes"
            " -days 3650 -subj /CN=heddle -keyout saml.key -out saml.crt"
        )
    return {"key": secret, "certificate": public, "encrypted": encrypted}


_MAIL_TLS = {"smtp": "starttls", "smtps": "implicit", "smtp+plain": "none"}
_MAIL_PORTS = {"starttls": 587, "implicit": 465, "none": 25}


def _mail() -> Mail | None:
    """`HEDDLE_MAIL_URL` and `HEDDLE_MAIL_FROM`: the server that takes e-mail, None without one."""
    given, sender = (
        os.environ.get(name, "").strip() for name in ("HEDDLE_MAIL_URL", "HEDDLE_MAIL_FROM")
    )
    if not given:
        return None
    try:
        url = urlsplit(given)
        port = url.port
    except ValueError:
        url, port = urlsplit(""), None
    if url.scheme not in _MAIL_TLS or not url.hostname:
        raise WrongSetting(
            "HEDDLE_MAIL_URL is no address of a mail server. Write it as "
            "smtp://name:password@mail.example.org:587 (STARTTLS), smtps://… (TLS from the start) "
            "or smtp+plain://… (a relay on your own network)."
        )
    if "@" not in sender:
        raise WrongSetting(
            "HEDDLE_MAIL_FROM is no address. Write who mails are from, such as "
            "Heddle <heddle@example.org>."
        )
    tls = _MAIL_TLS[url.scheme]
    return Mail(
        host=url.hostname,
        port=port or _MAIL_PORTS[tls],
        user=unquote(url.username or ""),
        password=unquote(url.password or ""),
        tls=tls,
        sender=sender,
    )


_IMAGES = (
    "HEDDLE_IMAGES",
    "HEDDLE_IMAGES_ENDPOINT",
    "HEDDLE_IMAGES_REGION",
    "HEDDLE_IMAGES_KEY",
    "HEDDLE_IMAGES_SECRET",
)
_BUCKET = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/([A-Za-z0-9._/-]*))?")


def _images() -> Bucket | None:
    """`HEDDLE_IMAGES=s3://bucket/prefix` and what belongs to it; None: the data folder."""
    given, endpoint, region, key, secret = (os.environ.get(name, "").strip() for name in _IMAGES)
    if not given:
        return None
    match = _BUCKET.fullmatch(given)
    if match is None:
        raise WrongSetting(
            "HEDDLE_IMAGES is no bucket. Write s3://bucket or s3://bucket/prefix, or leave it out "
            "to keep images in the data folder."
        )
    if endpoint and urlsplit(endpoint).scheme not in ("http", "https"):
        raise WrongSetting(
            "HEDDLE_IMAGES_ENDPOINT is no address. Write it as https://storage.example.org."
        )
    if bool(key) != bool(secret):
        raise WrongSetting("Set HEDDLE_IMAGES_KEY and HEDDLE_IMAGES_SECRET, or neither of them.")
    return Bucket(match[1], (match[2] or "").strip("/"), endpoint, region, key, secret)


def _timestamps() -> tuple[str, ...]:
    """`HEDDLE_TIMESTAMPS`: addresses of authorities for time stamps, in the order in which they are
    asked."""
    addresses = _listed("HEDDLE_TIMESTAMPS")
    for address in addresses:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise WrongSetting(
                f"HEDDLE_TIMESTAMPS contains {address!r}, which is no address of an authority. "
                "Write it as https://tsa.example.org/tsr, several separated by commas."
            )
    return addresses


def _timestamp_roots() -> str:
    """`HEDDLE_TIMESTAMP_ROOTS`: a file with the certificates to which time stamps must lead."""
    given = os.environ.get("HEDDLE_TIMESTAMP_ROOTS", "").strip()
    if not given:
        return ""
    from cryptography.x509 import load_pem_x509_certificates

    try:
        load_pem_x509_certificates(Path(given).read_bytes())
    except OSError as error:
        raise WrongSetting(
            f"{given} (HEDDLE_TIMESTAMP_ROOTS) can't be read: {error.strerror}."
        ) from None
    except ValueError:
        raise WrongSetting(
            f"{given} (HEDDLE_TIMESTAMP_ROOTS) has no certificates. It must be a file of them in "
            "PEM, those that the authority publishes."
        ) from None
    return given


def host_of(origin: str) -> str:
    """The host of an origin as a Host header has it, without the port."""
    host = urlsplit(origin).hostname or ""
    return f"[{host}]" if ":" in host else host


def _secret(data: Path) -> str:
    """`HEDDLE_SECRET`, else the file `secret` in the data folder, created with mode 0600."""
    given = os.environ.get("HEDDLE_SECRET", "")
    if given:
        if len(given) < SHORTEST_SECRET:
            raise WrongSetting(
                f"HEDDLE_SECRET is shorter than {SHORTEST_SECRET} characters. Use a longer one."
            )
        return given
    file = data / "secret"
    try:
        if not file.exists():
            _write_secret(file)
        stored = file.read_text().strip()
    except UnicodeDecodeError:
        stored = ""
    except OSError as error:
        raise WrongSetting(
            f"{file} can't be read or written: {error.strerror}. Look who owns the folder, and "
            "whether its disk is full."
        ) from None
    if len(stored) < SHORTEST_SECRET:
        raise WrongSetting(
            f"{file} is damaged: it is shorter than {SHORTEST_SECRET} characters, or no text. Put "
            "back the file `secret` of a backup. If there is none, delete the file: a new one is "
            "written, everybody is signed out, and the keys of providers have to be entered again."
        )
    return stored


def _write_secret(file: Path) -> None:
    """Writes a new secret beside the file and gives it its name once it is whole on disk: a full
    disk leaves none. Of two processes that start at the same time, the first one wins."""
    file.parent.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    part = file.with_name(f"secret-{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as out:
            out.write(secrets.token_urlsafe(48))
            out.flush()
            os.fsync(out.fileno())
        _name(part, file)
    finally:
        part.unlink(missing_ok=True)


def _name(part: Path, file: Path) -> None:
    """Gives a file its name, unless another process was first: a link, unlike a rename, never
    replaces what that one has read. Where a file system has no links it is renamed."""
    try:
        os.link(part, file)
    except FileExistsError:
        pass
    except OSError:
        if not file.exists():
            part.replace(file)


def _has_scheme(given: str, *schemes: str) -> bool:
    """Whether this is an address of one of these kinds, with a port that is a number."""
    try:
        parts = urlsplit(given)
        return parts.scheme in schemes and (parts.port or 1) > 0
    except ValueError:
        return False


def _database_url(data: Path) -> str:
    """`DATABASE_URL`: PostgreSQL, or an SQLite file; by default the one in the data folder."""
    given = os.environ.get("DATABASE_URL", "").strip()
    if given and not _has_scheme(given, "postgres", "postgresql", "sqlite"):
        # (It may have a password, so it is not repeated.)
        raise WrongSetting(
            "DATABASE_URL is no address of a database that Heddle knows. Write"
            " postgresql://name:password@host:5432/database, with signs such as @ in a password"
            " as %40, or leave it out to use SQLite."
        )
    return given or f"sqlite:///{data / 'heddle.sqlite3'}"


def _redis_url(data: Path) -> str:
    """`REDIS_URL`; by default the embedded broker of the data folder."""
    given = os.environ.get("REDIS_URL", "").strip()
    if given and not _has_scheme(given, "redis", "rediss", "unix"):
        raise WrongSetting(
            "REDIS_URL is no address of Redis. Write redis://:password@host:6379/0, or rediss://…"
            " for TLS, or leave it out to use the embedded broker."
        )
    return given or _broker(data)


def _broker(data: Path) -> str:
    """The embedded broker of a Heddle that runs on this data folder, for commands typed in another
    shell; else the usual address of Redis."""
    try:
        lines = (data / "broker" / "broker.conf").read_text().splitlines()
    except OSError:
        return "redis://127.0.0.1:6379/0"
    directives = dict(line.split(" ", 1) for line in lines if " " in line)
    return f"redis://:{directives['requirepass']}@127.0.0.1:{directives['port']}/0"


def read() -> Env:
    """The environment of this process. Raises WrongSetting with the sentence to show."""
    data = Path(os.environ.get("HEDDLE_DATA", "") or ROOT / "var").resolve()
    try:
        data.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
    except OSError as error:
        raise WrongSetting(f"HEDDLE_DATA={data} can't be created: {error.strerror}.") from error
    for origin in _listed("HEDDLE_ORIGINS"):
        if "://" not in origin:
            raise WrongSetting(
                f"HEDDLE_ORIGINS contains {origin!r}, which has no scheme. Write https://{origin}."
            )
    return Env(
        data=data,
        secret=_secret(data),
        origins=_listed("HEDDLE_ORIGINS"),
        provider_allow=_listed("HEDDLE_PROVIDER_ALLOW"),
        private_addresses=_private_addresses(),
        database_url=_database_url(data),
        redis_url=_redis_url(data),
        debug=os.environ.get("HEDDLE_DEBUG", "") == "1",
        local_model_url=os.environ.get("HEDDLE_LOCAL_MODEL_URL", ""),
        embedder=_embedder(),
        env_keys=_listed("HEDDLE_ENV_KEYS") or ("first",),
        proxies=_proxies(),
        receipt_days=_days("HEDDLE_RECEIPT_DAYS", 30),
        ended_session_days=_days("HEDDLE_ENDED_SESSION_DAYS", 1),
        sockets=_count("HEDDLE_SOCKETS", 600, least=1, most=10_000, of="sockets"),
        sockets_each=_count("HEDDLE_SOCKETS_EACH", 100, least=1, most=10_000, of="sockets"),
        metrics_key=_metrics_key(),
        log_format=_log_format(),
        traces_url=_traces_url(),
        openid=_openid(),
        saml=_saml(),
        oauth=_switch("HEDDLE_OAUTH"),
        mail=_mail(),
        images=_images(),
        timestamps=_timestamps(),
        timestamp_roots=_timestamp_roots(),
        database_connections=_count(
            "HEDDLE_DATABASE_CONNECTIONS", 20, least=8, most=100, of="connections"
        ),
    )


ENGLISH = ("en", "English")


def languages(*folders: Path) -> list[tuple[str, str]]:
    """Code and name of each language with a `django.mo` in one of the folders."""
    from django.conf.locale import LANG_INFO

    codes = {
        catalogue.parent.parent.name.replace("_", "-").lower()
        for folder in folders
        for catalogue in folder.glob("*/LC_MESSAGES/django.mo")
    }
    names = {code: str(LANG_INFO.get(code, {}).get("name_local", code)) for code in codes}
    return [ENGLISH, *sorted((code, name) for code, name in names.items() if code != "en")]
