"""Addresses of the whole program: each door brings its own."""

from django.urls import include, path

urlpatterns = [
    path("", include("loom.doors.web.urls")),
    path("", include("agents.doors.web.urls")),
    path("", include("loom.doors.api.urls")),
    path("api/", include("agents.doors.api.urls")),
]
