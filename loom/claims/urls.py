"""The addresses of claims, checks, pipes and tokens."""

from django.urls import URLPattern, path

from loom.claims import api as endpoints
from loom.claims import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [
        path("trees/<uid:uid>/claims", views.claims_page),
        path("trees/<uid:uid>/claims/<local:local_id>", views.claim_page),
        path("groves/<uid:uid>/checks", views.checks_page),
        path("groves/<uid:uid>/pipes", views.pipes_page),
    ]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("token-kinds", endpoints.token_kinds),
        path("items/<str:ref>/tokens", endpoints.tokens),
        path("items/<str:ref>/tokens/<id:key>", endpoints.token),
        path("claims", endpoints.claims),
        path("evidence", endpoints.evidence),
        path("claims/<id:local_id>", endpoints.claim),
        path("claims/<id:local_id>/obligations", endpoints.obligations),
        path("pipes", endpoints.pipes),
        path("pipes/<id:uid>", endpoints.pipe),
        path("checks", endpoints.checks),
        path("checks/results", endpoints.results),
        path("checks/<id:uid>", endpoints.check),
    ]
