"""Django's settings, derived from config.env. Nothing here reads the environment itself."""

import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONCE

from config import env
from config.bucket import bucket_storage
from config.release import VERSION

ENV = env.read()
BASE_DIR = env.ROOT
SECRET_KEY = ENV.secret
SHORTEST_SECRET = env.SHORTEST_SECRET
DEBUG = ENV.debug

ORIGINS = ENV.origins or ("http://127.0.0.1:8000", "http://localhost:8000")
# In addition to the origins' hosts: programs on this machine connect over loopback.
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ALLOWED_HOSTS = sorted({*(env.host_of(origin) for origin in ORIGINS), *LOOPBACK})
CSRF_TRUSTED_ORIGINS = list(ORIGINS)
CSRF_FAILURE_VIEW = "loom.site.page_requests.permission_denied"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_htmx",
    "csp",
    "channels",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "loom",
    "loom.reading",
    "loom.trees",
    "loom.search",
    "loom.web_search",
    "loom.workspace",
    "loom.turns",
    "loom.notes",
    "loom.links",
    "loom.claims",
    "loom.engine",
    "loom.people",
    "loom.participants",
    "loom.money",
    "loom.transfer",
    "loom.manuscript",
    "loom.ratings",
    "loom.documents",
    "loom.meaning",
    "loom.comparing",
    "loom.choices",
    "loom.exploring",
    "loom.sandboxes",
    "loom.landscape",
    "loom.identities",
    "loom.openid",
    "loom.saml",
    "loom.second_factor",
    "loom.passkeys",
    "loom.operations",
    "agents",
    "agents.gateway",
    "agents.webhooks",
    "agents.oauth",
    "agents.outside_tools",
    "agents.timestamps",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.http.Pages",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "loom.site.page_requests.FormAddresses",
    "loom.platform.handler.Timed",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "libraries": {
                "inbox": "loom.notes.inbox_tag",
                "slots": "loom.site.slots",
                "web": "loom.site.display",
            },
        },
    }
]


def _program() -> str:
    """What this process is: uvicorn, celery, manage…"""
    started = Path(sys.argv[0])
    return started.parent.name if started.stem == "__main__" else started.stem


def _database(url: str) -> dict[str, Any]:
    """Django's entry for `url`; SQLite with WAL, full sync and immediate transactions.

    Measured (8 threads, read then write): WAL alone failed "locked" in 886 of 1,200,
    with immediate transactions and a busy timeout in none.
    """
    entry: dict[str, Any] = dict(dj_database_url.parse(url))
    if entry["ENGINE"].endswith("sqlite3"):
        entry["ENGINE"] = "loom.platform.sqlite3"
        # A new connection reads the schema again: 1.3 ms for each request and task (measured).
        entry["CONN_MAX_AGE"] = None
        entry["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            # What is erased is overwritten in every build of SQLite, as it is in Debian's.
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
            "PRAGMA secure_delete=ON;",
        }
        # Tests need a file too: sockets and threads do not see an in-memory database.
        entry["TEST"] = {"NAME": str(ENV.data / "test.sqlite3")}
    else:
        entry["OPTIONS"] = {
            **entry.get("OPTIONS", {}),  # of the address, such as sslmode
            # Each process has a pool of its own (docs/scaling.md has the arithmetic).
            "pool": {"min_size": 1, "max_size": ENV.database_connections, "timeout": 20},
            # So that `restore` and an operator see who is connected.
            "application_name": f"heddle {_program()}",
            # The planner takes walks in a tree for a thousand times as long as they are: compiling
            # them took 0.95 s of 1.0 for what is above 500 nodes. And it takes a row found by an
            # index for four times as dear as one of many in order, as on a disk that turns: it read
            # all of a table of 13,000 nodes to find 400.
            "options": "-c jit=off -c random_page_cost=1.1",
            # Of the queries in `loom.platform.prepared_queries`, from their second run on.
            "prepare_threshold": 1,
        }
    return entry


DATABASES = {"default": _database(ENV.database_url)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "people.User"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 8},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_URL = "/signin"
LOGIN_REDIRECT_URL = "/"

REDIS_URL = ENV.redis_url
# Redis publishes across its databases, so the name of the database is part of the prefix.
_REDIS_DATABASE = urlsplit(REDIS_URL).path.strip("/") or "0"
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS_URL], "prefix": f"heddle{_REDIS_DATABASE}"},
    }
}
# Seconds in which the broker connects, and in which it answers whoever does not wait for work.
BROKER_S = 2.0
CACHES = {
    "default": {
        "BACKEND": "loom.platform.broker.Cache",
        "LOCATION": REDIS_URL,
        "OPTIONS": {"socket_timeout": BROKER_S, "socket_connect_timeout": BROKER_S},
    }
}
SESSION_ENGINE = "loom.people.sessions"
AUTHENTICATION_BACKENDS = ["loom.people.sessions.Accounts"]
SESSION_COOKIE_AGE = 60 * 60 * 24 * 30
ENDED_SESSION_DAYS = ENV.ended_session_days
RECEIPT_DAYS = ENV.receipt_days
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = all(o.startswith("https://") for o in ORIGINS)
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted (config.asgi); none by default.
PROXIES = ENV.proxies
# Sent over TLS only. A year; not for subdomains, which may belong to somebody else.
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if SESSION_COOKIE_SECURE else 0

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        # The nonce is sent with pages that ask for it: the editor's own style sheet needs it.
        "style-src": ["'self'", NONCE],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "manifest-src": ["'self'"],
        "worker-src": ["'self'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "base-uri": ["'none'"],
    }
}

STATIC_URL = "/static/"
STATICFILES_DIRS = [
    ("dist", BASE_DIR / "static" / "dist"),
    ("img", BASE_DIR / "static" / "img"),
    ("pictures", BASE_DIR / "docs" / "pictures"),
]
STATIC_ROOT = ENV.data / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# The bucket of images (loom.trees.image_files); "": they are in the data folder.
IMAGES_BUCKET = ENV.images.name if ENV.images else ""
if ENV.images:
    STORAGES["images"] = bucket_storage(ENV.images)
WHITENOISE_USE_FINDERS = True
# Files are found when they are requested: what is built while the server runs is served at once and
# whole. Remembered lengths would cut a longer file off (docs/decisions/2026-11-25-static-files.md).
WHITENOISE_AUTOREFRESH = True

USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
USE_I18N = True
# Files that the operator puts beside the data come before those of the program.
LOCALE_PATHS = [ENV.data / "locale", BASE_DIR / "locale"]
LANGUAGES = env.languages(*LOCALE_PATHS)
# Renders what an event changed on a page; sockets send it to clients that asked for it.
DRAWING = "loom.reading.pages.live_parts.parts_for"

# Bodies are bounded by our interfaces (docs/model.md §14.3): JSON 8 MiB, import files 512 MiB to
# disk.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_TEMP_DIR = None

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "loom.site.api_requests.Bearer",
        "loom.site.api_requests.Cookie",
    ],
    "DEFAULT_PERMISSION_CLASSES": [
        "rest_framework.permissions.IsAuthenticated",
        "loom.site.api_requests.KeyMayChange",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["loom.site.api_requests.BoundedJSON"],
    "DEFAULT_SCHEMA_CLASS": "loom.site.schema.Schema",
    "EXCEPTION_HANDLER": "loom.site.api_errors.answer",
    "DEFAULT_THROTTLE_CLASSES": ["loom.site.api_requests.PerKey"],
    "URL_FORMAT_OVERRIDE": None,  # `format` is a parameter of our own (export)
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "DEFAULT_METADATA_CLASS": None,  # OPTIONS is 405 like any other method that is not there
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Heddle",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",  # whose schemas are those that pydantic writes
    "DESCRIPTION": "People and language models write together in one branching tree.",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],  # it contains no data of users
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": ["loom.site.schema.short_names", "loom.site.schema.with_errors"],
}

# Sockets and streams of events of one web process; connections beyond them, for requests, are
# config.http's ROOM.
SOCKETS = ENV.sockets
SOCKETS_EACH = ENV.sockets_each  # of one account
# Requests of one web process that run at the same time. More would not be faster, as a process
# computes on one core; on PostgreSQL each needs a connection, and sockets need some too.
IS_SQLITE = DATABASES["default"]["ENGINE"] == "loom.platform.sqlite3"
REQUEST_THREADS = 64 if IS_SQLITE else ENV.database_connections - 6
OPENID = ENV.openid
SAML = ENV.saml
OAUTH = ENV.oauth  # whether programs may ask people for access in their browsers
# E-mail about mentions, if the operator named a server; without one nobody is asked for an address.
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
EMAIL_TIMEOUT = 10  # seconds
MAIL_FROM = ENV.mail.sender if ENV.mail else ""
if ENV.mail:
    EMAIL_HOST, EMAIL_PORT = ENV.mail.host, ENV.mail.port
    EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = ENV.mail.user, ENV.mail.password
    EMAIL_USE_TLS, EMAIL_USE_SSL = ENV.mail.tls == "starttls", ENV.mail.tls == "implicit"
METRICS_KEY = ENV.metrics_key  # of GET /metrics; "": there is none
# Requests a minute for one API key or session (docs/model.md §14.3, Limits).
REQUESTS_A_MINUTE = 1200
PROVIDER_ALLOW = ENV.provider_allow
PRIVATE_ADDRESSES = ENV.private_addresses  # who may allow others in the pages
TIMESTAMPS = ENV.timestamps  # addresses of authorities; (): texts get no time stamps
TIMESTAMP_ROOTS = ENV.timestamp_roots  # a file of certificates; "": those that browsers trust
LOCAL_MODEL_URL = ENV.local_model_url
EMBEDDER = ENV.embedder  # "embedded", or "multilingual" with its package
# Which participants may use a provider's key of the environment: ids, or "first" (the Analyst
# of the first start alone) or "none".
ENV_KEYS = ENV.env_keys
PROVIDER_KEY = env.provider_key  # read when it is used, so that it is never stored
DATA_DIR = ENV.data

TRACES_URL = ENV.traces_url  # of a collector; "": no spans are made
LOG_FORMAT = ENV.log_format  # "line", or "json" with a line for each request
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "config.logs.MaskingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        },
        "json": {"()": "config.logs.TextlessFormatter"},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "json" if LOG_FORMAT == "json" else "line",
        }
    },
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        "heddle": {"level": "INFO"},
        "httpx": {"level": "WARNING"},
        # uvicorn has set handlers of its own by now.
        "uvicorn": {"level": "WARNING", "handlers": ["stderr"], "propagate": False},
        "uvicorn.error": {"level": "WARNING", "handlers": [], "propagate": True},
    },
}
