"""Addresses of the API, all under /api/, without a slash at the end."""

from django.urls import URLPattern, URLResolver, include, path, re_path, register_converter
from django.urls.converters import IntConverter, StringConverter

from loom.api import (
    account,
    commands,
    docs,
    documents,
    errors,
    groves,
    images,
    imports,
    nodes,
    participants,
    transfer,
    trees,
    turns,
    usage,
    workspaces,
)


class Uid(StringConverter):
    """An opaque id: nothing else reaches the database."""

    regex = "[A-Za-z0-9]{1,32}"


class Sha256(StringConverter):
    """The hex SHA-256 of an image."""

    regex = "[0-9a-f]{64}"


register_converter(Uid, "id")


class Count(IntConverter):
    """A number that a column can hold."""

    regex = "[0-9]{1,9}"


register_converter(Sha256, "sha256")
register_converter(Count, "count")

_api: list[URLPattern | URLResolver] = [
    path("me", account.me),
    path("settings", account.settings),
    path("me/password", account.password),
    path("me/sessions", account.sessions),
    path("me/sessions/<id:uid>", account.session),
    path("api-keys", account.api_keys),
    path("api-keys/<id:uid>", account.api_key),
    path("groves", groves.groves),
    path("groves/<id:uid>", groves.grove),
    path("groves/<id:uid>/settings", groves.settings),
    path("groves/<id:uid>/web-search", groves.web_search),
    path("groves/<id:uid>/events", groves.events),
    path("groves/<id:uid>/search", groves.search),
    path("groves/<id:uid>/tags", groves.tags),
    path("groves/<id:uid>/saved", groves.saved),
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
    path("trees/<id:uid>/commands", commands.in_tree),
    path("trees/<id:uid>/turns", turns.in_tree),
    path("turns/<id:uid>", turns.turn),
    path("turns/<id:uid>/extend", turns.extend),
    path("turns/<id:uid>/stop", turns.stop),
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
    path("documents", documents.documents),
    path("documents/<id:uid>", documents.document),
    path("documents/<id:uid>/write", documents.write),
    path("documents/<id:uid>/restore", documents.restore),
    path("documents/<id:uid>/summary", documents.summary),
    path("documents/<id:uid>/export", documents.export),
    path("documents/<id:uid>/revisions", documents.revisions),
    path("documents/<id:uid>/revisions/<count:revision>", documents.revision),
    path("documents/<id:uid>/revisions/<count:revision>/difference", documents.difference),
    path("workspaces/<id:uid>/tasks", workspaces.tasks),
    path("workspaces/<id:uid>/augments", workspaces.augments),
    path("steps", workspaces.steps),
    path("links", trees.links),
    path("link-types", trees.types),
    path("trees/<id:uid>/nodes", nodes.nodes),
    path("trees/<id:uid>/nodes/<id:local_id>", nodes.node),
    path("trees/<id:uid>/nodes/<id:local_id>/provenance", nodes.provenance),
    path("trees/<id:uid>/nodes/<id:local_id>/graph", nodes.graph),
    path("trees/<id:uid>/path", nodes.path),
    path("trees/<id:uid>/skeleton", nodes.columns),
    path("trees/<id:uid>/events", nodes.events),
    path("trees/<id:uid>/verify", nodes.verification),
    path("trees/<id:uid>/usage", usage.of_tree),
    path("trees/<id:uid>/estimate", usage.estimate),
    path("groves/<id:uid>/usage", usage.of_grove),
    path("import", imports.upload),
    path("imports/<id:uid>", imports.state),
    path("imports/<id:uid>/stop", imports.stop),
    path("imports/<id:uid>/parts", imports.parts),
    path("imports/<id:uid>/choose", imports.choose),
    path("trees/<id:uid>/images", images.add),
    path("images/<sha256:sha256>", images.image),
    path("trees/<id:uid>/export", transfer.export),
    path("trees/<id:uid>/export/preview", transfer.preview),
    path("schema/", docs.schema, name="schema"),
    path("docs/", docs.page),
]

urlpatterns: list[URLPattern | URLResolver] = [path("api/", include(_api))]

# Put last by config.urls: whatever else begins with api/ answers in the API's own form.
nowhere = re_path(r"^api/(?P<path>.*)$", errors.nowhere)
