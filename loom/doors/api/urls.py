"""Addresses of the API, all under /api/, without a slash at the end."""

from django.urls import URLPattern, URLResolver, include, path, re_path
from drf_spectacular.views import SpectacularAPIView

from loom.doors.api import (
    account,
    commands,
    docs,
    errors,
    groves,
    participants,
    trees,
    workspaces,
)

_api: list[URLPattern | URLResolver] = [
    path("me", account.me),
    path("api-keys", account.api_keys),
    path("api-keys/<str:uid>", account.api_key),
    path("sessions", account.sessions),
    path("sessions/<str:uid>", account.session),
    path("groves", groves.groves),
    path("groves/<str:uid>", groves.grove),
    path("groves/<str:uid>/events", groves.events),
    path("groves/<str:uid>/members", groves.members),
    path("groves/<str:uid>/invitations", groves.invitations),
    path("participants", participants.participants),
    path("participants/<str:uid>", participants.participant),
    path("trees", trees.trees),
    path("trees/<str:uid>", trees.tree),
    path("trees/<str:uid>/commands", commands.in_tree),
    path("commands", commands.every),
    path("workspaces", workspaces.workspaces),
    path("workspaces/<str:uid>", workspaces.workspace),
    path("workspaces/<str:uid>/events", workspaces.events),
    path("workspaces/<str:uid>/commands", commands.in_workspace),
    path("steps", workspaces.steps),
    path("", include("loom.doors.api.reading_urls")),
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", docs.page),
]

urlpatterns: list[URLPattern | URLResolver] = [path("api/", include(_api))]

# Put last by config.urls: whatever else begins with api/ answers in the API's own form.
nowhere = re_path(r"^api/(?P<path>.*)$", errors.nowhere)
