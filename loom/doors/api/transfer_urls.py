"""Addresses of importing and exporting, under `api/`."""

from django.urls import path

from loom.doors.api import transfer

urlpatterns = [
    path("import", transfer.upload),
    path("imports/<id:uid>", transfer.state),
    path("imports/<id:uid>/stop", transfer.stop),
    path("trees/<id:uid>/export", transfer.export),
]
