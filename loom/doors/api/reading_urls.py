"""Addresses of the reading views, under `api/`."""

from django.urls import path

from loom.doors.api import reading, usage

urlpatterns = [
    path("trees/<id:uid>/nodes", reading.nodes),
    path("trees/<id:uid>/nodes/<id:local_id>", reading.node),
    path("trees/<id:uid>/nodes/<id:local_id>/provenance", reading.provenance),
    path("trees/<id:uid>/path", reading.path),
    path("trees/<id:uid>/skeleton", reading.columns),
    path("trees/<id:uid>/events", reading.events),
    path("trees/<id:uid>/verify", reading.verification),
    path("trees/<id:uid>/usage", usage.of_tree),
    path("trees/<id:uid>/estimate", usage.estimate),
    path("groves/<id:uid>/usage", usage.of_grove),
]
