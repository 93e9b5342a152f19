"""Addresses of this door."""

from django.urls import URLPattern, URLResolver, path

from loom.doors.web import finding, lines, panels, trees

urlpatterns: list[URLPattern | URLResolver] = [
    path("trees/<str:uid>", trees.page),
    path("trees/<str:uid>/path", trees.path),
    path("trees/<str:uid>/above", trees.above),
    path("trees/<str:uid>/weave", trees.weave),
    path("trees/<str:uid>/line", lines.run),
    path("trees/<str:uid>/search", finding.search),
    path("trees/<str:uid>/excerpts", finding.excerpts),
    path("trees/<str:uid>/bookmarks", panels.bookmarks),
    path("trees/<str:uid>/history", panels.history),
    path("trees/<str:uid>/nodes/<str:local_id>", panels.details),
    path("trees/<str:uid>/nodes/<str:local_id>/text", panels.whole),
]
