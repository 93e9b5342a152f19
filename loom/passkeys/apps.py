"""Passkeys."""

from importlib import import_module

from django.apps import AppConfig

from loom.site.slots import add_to_slot


class PasskeysConfig(AppConfig):
    """Nothing knows of it: without its line among the installed apps, everything else works as
    before."""

    name = "loom.passkeys"
    label = "passkeys"
    paths_of_pages = "loom.passkeys.pages.PATHS"

    def ready(self) -> None:
        add_to_slot("ways-to-sign-in", "passkeys/sign_in.html")
        add_to_slot("second-factors", "passkeys/second_factor.html")
        add_to_slot("access-settings", "passkeys/settings.html")
        import_module("loom.passkeys.commands")
