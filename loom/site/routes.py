"""Addresses of features that the site does not name itself. A feature registers the module that has
them, which is loaded with the addresses of the site: it has the functions `pages` and `api`."""

from importlib import import_module

from django.urls import URLPattern

_modules: list[str] = []


def add_routes(module: str) -> None:
    """Registers a module with the functions `pages` and `api`, each of which returns addresses."""
    if module not in _modules:
        _modules.append(module)


def pages() -> list[URLPattern]:
    """The addresses of pages, of all modules."""
    return [route for name in _modules for route in import_module(name).pages()]


def api() -> list[URLPattern]:
    """The addresses below /api, of all modules."""
    return [route for name in _modules for route in import_module(name).api()]
