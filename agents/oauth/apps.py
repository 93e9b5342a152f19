"""OAuth, for programs that connect to the MCP endpoint or the API."""

from importlib import import_module

from django.apps import AppConfig


class OAuthConfig(AppConfig):
    """Nothing else knows of it. Without HEDDLE_OAUTH its addresses answer 404."""

    name = "agents.oauth"
    label = "oauth"
    paths_of_pages = "agents.oauth.pages.PATHS"

    def ready(self) -> None:
        import_module("agents.oauth.commands")
