"""Addresses of the API, all under /api/, without a slash at the end."""

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponseBase
from django.urls import URLPattern, URLResolver, include, path, re_path, register_converter
from django.urls.converters import IntConverter, StringConverter
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiJsonRenderer2, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import JSONRenderer

from loom.groves import api as groves
from loom.links import api as links
from loom.money import api as money
from loom.participants import api as participants
from loom.people.api import account, browsers, keys, passwords
from loom.people.api import settings as own_settings
from loom.reading.api import nodes, trees
from loom.site import api_errors as errors
from loom.site import routes
from loom.site.schema import SchemaOnce
from loom.transfer import api as transfer
from loom.turns import api as commands
from loom.workspace import api as workspaces
from loom.workspace import saved_api


class ApiId(StringConverter):
    """An opaque id: nothing else reaches the database."""

    regex = "[A-Za-z0-9]{1,32}"


class Sha256(StringConverter):
    """The hex SHA-256 of an image."""

    regex = "[0-9a-f]{64}"


register_converter(ApiId, "id")


class Count(IntConverter):
    """A number that a column can hold."""

    regex = "[0-9]{1,9}"


register_converter(Sha256, "sha256")
register_converter(Count, "count")

# The schema, and the page that shows it: Swagger UI from the sidecar, no outside host.
# JSON, unless something else is asked for.
_schema = SpectacularAPIView.as_view(
    generator_class=SchemaOnce,
    renderer_classes=[JSONRenderer, OpenApiJsonRenderer, OpenApiJsonRenderer2, OpenApiYamlRenderer],
)
_page = SpectacularSwaggerSplitView.as_view(url_name="schema")


# Swagger UI sets styles from its script; this page contains no data of users.
@csp_update({"style-src": ["'unsafe-inline'"], "img-src": ["data:"]})
def page(request: HttpRequest) -> HttpResponseBase:
    """The documentation of the API."""
    return _page(request)


_api: list[URLPattern | URLResolver] = [
    path("me", account.me),
    path("settings", own_settings.settings),
    path("me/password", passwords.password),
    path("me/sessions", browsers.sessions),
    path("me/sessions/<id:uid>", browsers.session),
    path("api-keys", keys.api_keys),
    path("api-keys/<id:uid>", keys.api_key),
    path("groves", groves.groves),
    path("groves/<id:uid>", groves.grove),
    path("groves/<id:uid>/settings", groves.settings),
    path("groves/<id:uid>/web-search", groves.web_search),
    path("groves/<id:uid>/put-aside", groves.put_aside),
    path("groves/<id:uid>/events", groves.events),
    path("groves/<id:uid>/search", groves.search),
    path("groves/<id:uid>/tags", groves.tags),
    path("groves/<id:uid>/saved", saved_api.saved),
    path("groves/<id:uid>/members", groves.members),
    path("groves/<id:uid>/invitations", groves.invitations),
    path("participants", participants.participants),
    path("participants/templates", participants.templates),
    path("participants/<id:uid>", participants.participant),
    path("participants/<id:uid>/probe", participants.probe),
    path("trees", trees.trees),
    path("trees/<id:uid>", trees.tree),
    path("trees/<id:uid>/summaries", trees.summaries),
    path("trees/<id:uid>/settings", trees.settings),
    path("trees/<id:uid>/public-links", trees.public_links),
    path("trees/<id:uid>/rights", trees.rights),
    path("trees/<id:uid>/commands", commands.in_tree),
    path("trees/<id:uid>/turns", commands.turns_in_tree),
    path("turns/<id:uid>", commands.turn),
    path("turns/<id:uid>/extend", commands.extend),
    path("turns/<id:uid>/stop", commands.stop),
    path("commands", commands.every),
    path("workspaces", workspaces.workspaces),
    path("workspaces/<id:uid>", workspaces.workspace),
    path("workspaces/<id:uid>/events", workspaces.events),
    path("workspaces/<id:uid>/commands", commands.in_workspace),
    path("workspaces/<id:uid>/drafts", workspaces.drafts),
    path("workspaces/<id:uid>/drafts/<id:slot>", workspaces.draft),
    path("workspaces/<id:uid>/outline", workspaces.outline),
    path("workspaces/<id:uid>/status", workspaces.status),
    path("workspaces/<id:uid>/windows", workspaces.windows),
    path("workspaces/<id:uid>/verify", workspaces.verification),
    *routes.api(),
    path("workspaces/<id:uid>/tasks", workspaces.tasks),
    path("workspaces/<id:uid>/augments", workspaces.augments),
    path("steps", workspaces.steps),
    path("links", trees.links),
    path("link-types", links.types),
    path("trails", links.trails),
    path("trails/<id:uid>", links.trail),
    path("trails/<id:uid>/export", links.trail_export),
    path("turns/<id:uid>/trail", links.turn_trail),
    path("trees/<id:uid>/nodes", nodes.nodes),
    path("trees/<id:uid>/nodes/<id:local_id>", nodes.node),
    path("trees/<id:uid>/nodes/<id:local_id>/provenance", nodes.provenance),
    path("trees/<id:uid>/nodes/<id:local_id>/graph", nodes.graph),
    path("trees/<id:uid>/path", nodes.path),
    path("trees/<id:uid>/skeleton", nodes.columns),
    path("trees/<id:uid>/skeleton/<int:tile>", nodes.tile),
    path("trees/<id:uid>/overview", nodes.from_afar),
    path("trees/<id:uid>/events", nodes.events),
    path("trees/<id:uid>/verify", nodes.verification),
    path("trees/<id:uid>/usage", money.usage_of_tree),
    path("trees/<id:uid>/estimate", money.estimate),
    path("groves/<id:uid>/usage", money.usage_of_grove),
    path("import", transfer.upload),
    path("imports/<id:uid>", transfer.state),
    path("imports/<id:uid>/stop", transfer.stop),
    path("imports/<id:uid>/parts", transfer.parts),
    path("imports/<id:uid>/choose", transfer.choose),
    path("trees/<id:uid>/images", trees.add_image),
    path("images/<sha256:sha256>", trees.image),
    path("trees/<id:uid>/export", transfer.export),
    path("trees/<id:uid>/export/preview", transfer.preview),
    path("trees/<id:uid>/tables", transfer.tables_of),
    path("trees/<id:uid>/tables/<slug:name>", transfer.table_of),
    path("schema/", _schema, name="schema"),
    path("docs/", page),
]

urlpatterns: list[URLPattern | URLResolver] = [path("api/", include(_api))]

# config.urls puts this last: all other addresses below api/ return the API's error format.
nowhere = re_path(r"^api/(?P<path>.*)$", errors.nowhere)
