"""The Celery app: its broker, default queue and acknowledgement.

Our own rows (Generation, Import) with lease and heartbeat are authoritative; redelivery by the
broker is only a second safety net, since it comes late (102 s measured with defaults).
"""

import os
from typing import Any

from celery import Celery
from celery.signals import task_postrun, task_prerun, worker_init
from kombu.transport import TRANSPORT_ALIASES

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# The checks of a worker's start import every view, which it never runs: 0.9 s of 2.6 (measured).
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

# Loaded with the first connection. A broker that is lost must not end a worker.
TRANSPORT_ALIASES |= dict.fromkeys(("redis", "rediss"), "loom.platform.lost_broker:Transport")

app = Celery("heddle")
app.set_default()  # in every thread: loom sends tasks by the current app, and imports no config


class _Config:
    task_ignore_result = True
    task_acks_late = True
    worker_prefetch_multiplier = 1
    task_default_queue = "continue"
    worker_hijack_root_logger = False
    broker_connection_retry_on_startup = True
    # Celery would close every connection around every task; `_close_old` closes what Django would.
    CELERY_DB_REUSE_MAX = 1_000_000_000
    broker_transport_options = {
        "visibility_timeout": 3600,
        "unacked_restore_interval": 1,
        "unacked_restore_throttle": 1,
        "socket_keepalive": True,
        "health_check_interval": 10,
    }


app.config_from_object(_Config)


@app.on_configure.connect
def _broker(sender: Celery, **_: object) -> None:
    from django.conf import settings

    sender.conf.update(broker_url=settings.REDIS_URL)


# A statement of a worker that takes longer holds locks and a connection for nothing: the longest,
# such as erasing a large tree, are done in batches.
STATEMENT_S = 15 * 60


@worker_init.connect
def _limit_statements(**_: Any) -> None:
    """Ends statements that take too long, on PostgreSQL."""
    from loom.platform.deadlines import limit_statements

    limit_statements(STATEMENT_S)


@worker_init.connect
def _start_traces(**_: Any) -> None:
    """Sends the spans of this worker, if the operator wants them."""
    from loom.platform.traces import start

    start("worker")


@task_prerun.connect
@task_postrun.connect
def _close_old(**_: Any) -> None:
    """Gives connections back as after a request: one to SQLite is kept (CONN_MAX_AGE)."""
    from django.db import close_old_connections

    close_old_connections()


app.autodiscover_tasks()  # of every installed app
