"""Addresses of the reading views, under `api/`."""

from django.urls import path

from loom.doors.api import reading, usage

urlpatterns = [
    path("trees/<str:uid>/nodes", reading.nodes),
    path("trees/<str:uid>/nodes/<str:local_id>", reading.node),
    path("trees/<str:uid>/nodes/<str:local_id>/provenance", reading.provenance),
    path("trees/<str:uid>/path", reading.path),
    path("trees/<str:uid>/skeleton", reading.columns),
    path("trees/<str:uid>/events", reading.events),
    path("trees/<str:uid>/verify", reading.verification),
    path("trees/<str:uid>/usage", usage.of_tree),
    path("trees/<str:uid>/estimate", usage.estimate),
    path("groves/<str:uid>/usage", usage.of_grove),
]
