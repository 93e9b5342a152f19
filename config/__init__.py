"""Settings, addresses and processes: the only place that knows both loom and agents."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
