"""The addresses of documents."""

from django.urls import URLPattern, path

from loom.documents import api as endpoints
from loom.documents import lore_pages, portal_pages
from loom.documents import pages as views


def pages() -> list[URLPattern]:
    """Those of pages."""
    return [
        path("groves/<uid:uid>/documents", views.documents_page),
        path("trees/<uid:uid>/documents", views.beside_tree),
        path("trees/<uid:uid>/lore", lore_pages.lore_page),
        path("trees/<uid:uid>/lore/keys", lore_pages.keys_in_text),
        path("documents/<uid:uid>", views.document_page),
        path("documents/<uid:uid>/drawn", views.drawn_page),
        path("documents/<uid:uid>/writers", views.writers),
        path("documents/<uid:uid>/embed", views.embedded),
        path("documents/<uid:uid>/portal", portal_pages.of_document),
        path("documents/<uid:uid>/ref", portal_pages.goto_from_document),
        path("documents/<uid:uid>/file", views.download),
        path("documents/<uid:uid>/history", views.history_page),
        path("trails/<uid:uid>/document", views.of_trail),
        path("documents/<uid:uid>/do/<slug:action>", views.change),
    ]


def api() -> list[URLPattern]:
    """Those below /api."""
    return [
        path("documents", endpoints.documents),
        path("documents/<id:uid>", endpoints.document),
        path("documents/<id:uid>/write", endpoints.write),
        path("documents/<id:uid>/restore", endpoints.restore),
        path("documents/<id:uid>/summary", endpoints.summary),
        path("documents/<id:uid>/export", endpoints.export),
        path("documents/<id:uid>/revisions", endpoints.revisions),
        path("documents/<id:uid>/revisions/<count:revision>", endpoints.revision),
        path("documents/<id:uid>/revisions/<count:revision>/difference", endpoints.difference),
    ]
