"""Signing in by OpenID Connect."""

from importlib import import_module

from django.apps import AppConfig

from loom.site.slots import add_to_slot


class OpenIdConfig(AppConfig):
    """Nothing else knows of it: without its line among the installed apps, everything else works as
    before."""

    name = "loom.openid"
    label = "openid"
    paths_of_pages = "loom.openid.pages.PATHS"

    def ready(self) -> None:
        add_to_slot("ways-to-sign-in", "openid/sign_in.html")
        add_to_slot("access-settings", "openid/settings.html")
        import_module("loom.openid.asked")
