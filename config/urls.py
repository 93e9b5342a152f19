"""Addresses of the whole program: each door brings its own."""

from django.urls import include, path

from config.health import healthz
from loom.doors.api.urls import nowhere

urlpatterns = [
    path("healthz", healthz),
    path("", include("loom.doors.web.urls")),
    path("", include("agents.doors.web.urls")),
    path("", include("loom.doors.api.urls")),
    path("api/", include("agents.doors.api.urls")),
    nowhere,
]

handler400 = "loom.doors.web.errors.bad_request"
handler403 = "loom.doors.web.errors.forbidden"
handler404 = "loom.doors.web.errors.not_found"
handler500 = "loom.doors.web.errors.fault"
