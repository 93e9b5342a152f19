"""Addresses of this door, under `api/`."""

from django.urls import URLPattern, URLResolver, path

from agents.doors.api import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("generations/<str:uid>", views.generation),
    path("generations/<str:uid>/stop", views.stop),
    path("workspaces/<str:uid>/context", views.context),
    path("calls/<str:uid>", views.call),
    path("calls/<str:uid>/response", views.response),
]
