"""Addresses of this door, under `api/`."""

from django.urls import URLPattern, URLResolver, path

from agents.api import views

urlpatterns: list[URLPattern | URLResolver] = [
    path("generations/<id:uid>", views.generation),
    path("generations/<id:uid>/stop", views.stop),
    path("workspaces/<id:uid>/context", views.context),
    path("participants/<id:uid>/instructions", views.instructed),
    path("calls/<id:uid>", views.call),
    path("calls/<id:uid>/response", views.response),
]
