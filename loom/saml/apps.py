"""Signing in by SAML."""

from importlib import import_module

from django.apps import AppConfig

from loom.site.slots import add_to_slot


class SamlConfig(AppConfig):
    """Nothing else knows of it: without its line among the installed apps, everything else works as
    before."""

    name = "loom.saml"
    label = "saml"
    paths_of_pages = "loom.saml.pages.PATHS"

    def ready(self) -> None:
        add_to_slot("ways-to-sign-in", "saml/sign_in.html")
        add_to_slot("access-settings", "saml/settings.html")
        import_module("loom.saml.asked")
        import_module("loom.saml.leaving")
