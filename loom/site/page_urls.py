"""The addresses of the pages; a feature that nothing else knows brings its own (`paths_of_pages` of
its app configuration names the list)."""

from django.apps import apps
from django.urls import URLPattern, URLResolver, path, register_converter
from django.urls.converters import StringConverter
from django.utils.module_loading import import_string

from loom.groves.pages import admin as grove_admin
from loom.groves.pages import groves
from loom.links import graph_page, portal_pages
from loom.links import pages as links
from loom.participants import pages as participants
from loom.people.pages import accounts
from loom.reading.pages import (
    about,
    candidates,
    guide,
    history,
    live_parts,
    offline,
    panels,
    public_tree,
    sharing,
    trees,
)
from loom.search import pages as searching
from loom.site import routes
from loom.transfer import pages as exporting
from loom.turns.pages import turns


class Uid(StringConverter):
    """One of Heddle's opaque ids: nothing else reaches the database."""

    regex = "[a-z0-9]{1,32}"


class LocalId(StringConverter):
    """The local id of a node."""

    regex = "[A-Za-z0-9]{1,8}"


register_converter(Uid, "uid")
register_converter(LocalId, "local")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", groves.home),
    path("signin", accounts.sign_in),
    path("signin/<str:secret>", accounts.by_link),
    path("signout", accounts.sign_out),
    path("invitations/<str:secret>", accounts.by_invitation),
    path("palette", groves.palette),
    path("mentions", history.mentions),
    path("mentions/unseen", history.unseen_mentions),
    path("about", about.about),
    path("guide", guide.guide),
    path("offline", offline.offline),
    path("offline.js", offline.worker),
    path("settings", accounts.settings_page),
    path("settings/<slug:action>", accounts.change_settings),
    path("groves/<uid:uid>", groves.grove_page),
    path("groves/<uid:uid>/rows", groves.rows),
    path("groves/<uid:uid>/settings", grove_admin.settings_page),
    path("groves/<uid:uid>/tags", grove_admin.tags_page),
    path("groves/<uid:uid>/link-types", links.types_page),
    path("groves/<uid:uid>/trails", links.trails_page),
    path("trails/<uid:uid>", links.trail_page),
    path("trails/<uid:uid>/file", links.trail_file),
    path("groves/<uid:uid>/searches", groves.save_search),
    path("groves/<uid:uid>/trees", groves.make_tree),
    path("groves/<uid:uid>/chosen", groves.change_chosen),
    path("groves/<uid:uid>/people", grove_admin.members_page),
    path("groves/<uid:uid>/people/<slug:action>", grove_admin.change_members),
    path("groves/<uid:uid>/money", grove_admin.money_page),
    path("groves/<uid:uid>/participants", participants.page),
    path("groves/<uid:uid>/participants/new", participants.add),
    path("groves/<uid:uid>/participants/models", participants.ask),
    path("groves/<uid:uid>/participants/models/<slug:listing>", participants.listing_progress),
    path("groves/<uid:uid>/participants/<uid:participant>", participants.change),
    path("groves/<uid:uid>/participants/<uid:participant>/probe", participants.probe),
    path("groves/<uid:uid>/participants/<uid:participant>/archive", participants.archive),
    *routes.pages(),
    path("trees/<uid:uid>", trees.tree_page),
    path("trees/<uid:uid>/about", trees.about_page),
    path("trees/<uid:uid>/about/<slug:action>", trees.change_tree),
    path("trees/<uid:uid>/export", exporting.export_page),
    path("trees/<uid:uid>/share", sharing.share),
    path("trees/<uid:uid>/share/<slug:action>", sharing.change),
    path("public/<str:secret>", public_tree.page),
    path("public/<str:secret>/images/<local:local_id>/<slug:sha256>", public_tree.image),
    path("trees/<uid:uid>/past", history.moment),
    path("trees/<uid:uid>/past/path", history.path),
    path("trees/<uid:uid>/tags", trees.tags),
    path("trees/<uid:uid>/seen", history.seen),
    path("trees/<uid:uid>/place", history.place),
    path("trees/<uid:uid>/path", trees.path),
    path("trees/<uid:uid>/cast", trees.cast),
    path("trees/<uid:uid>/above", trees.above),
    path("trees/<uid:uid>/weave", trees.weave),
    path("trees/<uid:uid>/buffer", live_parts.text),
    path("trees/<uid:uid>/comments", live_parts.notes_on_words),
    path("trees/<uid:uid>/windows", panels.windows),
    path("trees/<uid:uid>/turns", turns.at_node),
    path("trees/<uid:uid>/turns/<uid:turn>/calls", panels.calls),
    path("trees/<uid:uid>/turns/<uid:turn>/trail", links.turn_trail),
    path("trees/<uid:uid>/line", candidates.run),
    path("trees/<uid:uid>/search", groves.search),
    path("trees/<uid:uid>/targets", searching.link_targets),
    path("trees/<uid:uid>/excerpts", groves.excerpts),
    path("trees/<uid:uid>/marks", groves.marks),
    path("trees/<uid:uid>/bookmarks", panels.bookmarks),
    path("trees/<uid:uid>/history", history.history),
    path("trees/<uid:uid>/nodes/<local:local_id>", panels.details),
    path("trees/<uid:uid>/links/<local:local_id>", panels.links),
    path("trees/<uid:uid>/nodes/<local:local_id>/provenance", panels.provenance_page),
    path("trees/<uid:uid>/nodes/<local:local_id>/call", panels.call),
    path("trees/<uid:uid>/nodes/<local:local_id>/drawn", live_parts.one_node),
    path("trees/<uid:uid>/nodes/<local:local_id>/text", panels.whole),
    path("trees/<uid:uid>/nodes/<local:local_id>/portal", portal_pages.of_node),
    path("trees/<uid:uid>/nodes/<local:local_id>/portals", portal_pages.foot_of_node),
    path("trees/<uid:uid>/graph", graph_page.graph_page),
    path("trees/<uid:uid>/portal", portal_pages.of_tree),
    path("trees/<uid:uid>/ref", portal_pages.goto_from_tree),
]

for _feature in apps.get_app_configs():
    if _paths := getattr(_feature, "paths_of_pages", ""):
        urlpatterns += import_string(_paths)
