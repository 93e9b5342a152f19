"""Addresses of the whole program: each interface has its own urls.py."""

from django.urls import include, path

from config.health import healthz
from loom.api.urls import nowhere

urlpatterns = [
    path("healthz", healthz),
    path("", include("loom.web.urls")),
    path("", include("loom.api.urls")),
    path("api/", include("agents.api.urls")),
    nowhere,
]

handler400 = "loom.web.pages.bad_request"
handler403 = "loom.web.pages.forbidden"
handler404 = "loom.web.pages.not_found"
handler500 = "loom.web.pages.fault"
