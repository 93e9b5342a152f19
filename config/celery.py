"""The Celery app: its broker, default queue and acknowledgement.

Our own rows (Generation, Import) with lease and heartbeat are authoritative; redelivery by the
broker is only a second safety net, since it comes late (102 s measured with defaults).
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("heddle")


class _Config:
    task_ignore_result = True
    task_acks_late = True
    worker_prefetch_multiplier = 1
    task_default_queue = "continue"
    worker_hijack_root_logger = False
    broker_connection_retry_on_startup = True
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


app.autodiscover_tasks(["loom", "agents"])
