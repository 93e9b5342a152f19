"""Addresses of this door."""

from django.urls import URLPattern, URLResolver, path, register_converter
from django.urls.converters import StringConverter

from loom.doors.web import (
    about,
    buffer,
    coming_in,
    finding,
    grove_settings,
    groves,
    history,
    house,
    lines,
    members,
    models_there,
    money,
    panels,
    participants,
    past,
    portals,
    probing,
    provenance,
    public,
    settings,
    trees,
    turns,
)


class Uid(StringConverter):
    """An opaque id of ours: nothing else reaches the database."""

    regex = "[a-z0-9]{1,32}"


class LocalId(StringConverter):
    """The local id of a node."""

    regex = "[A-Za-z0-9]{1,8}"


register_converter(Uid, "uid")
register_converter(LocalId, "local")

urlpatterns: list[URLPattern | URLResolver] = [
    path("", groves.home),
    path("signin", coming_in.sign_in),
    path("signin/<str:secret>", coming_in.by_link),
    path("signout", coming_in.sign_out),
    path("invitations/<str:secret>", coming_in.by_invitation),
    path("about", house.about),
    path("guide", house.guide),
    path("offline", house.offline),
    path("offline.js", house.worker),
    path("settings", settings.page),
    path("settings/<slug:deed>", settings.change),
    path("groves/<uid:uid>", groves.page),
    path("groves/<uid:uid>/here", groves.here),
    path("groves/<uid:uid>/settings", grove_settings.page),
    path("groves/<uid:uid>/trees", groves.make_tree),
    path("groves/<uid:uid>/people", members.page),
    path("groves/<uid:uid>/people/<slug:deed>", members.change),
    path("groves/<uid:uid>/money", money.page),
    path("groves/<uid:uid>/participants", participants.page),
    path("groves/<uid:uid>/participants/new", participants.add),
    path("groves/<uid:uid>/participants/models", models_there.ask),
    path("groves/<uid:uid>/participants/models/<slug:listing>", models_there.look),
    path("groves/<uid:uid>/participants/<uid:participant>", participants.change),
    path("groves/<uid:uid>/participants/<uid:participant>/probe", probing.probe),
    path("groves/<uid:uid>/participants/<uid:participant>/archive", participants.archive),
    path("trees/<uid:uid>", trees.page),
    path("trees/<uid:uid>/about", about.page),
    path("trees/<uid:uid>/about/<slug:deed>", about.change),
    path("trees/<uid:uid>/share", public.share),
    path("trees/<uid:uid>/share/<slug:deed>", public.change),
    path("public/<str:secret>", public.page),
    path("trees/<uid:uid>/past", past.moment),
    path("trees/<uid:uid>/past/path", past.path),
    path("trees/<uid:uid>/path", trees.path),
    path("trees/<uid:uid>/above", trees.above),
    path("trees/<uid:uid>/weave", trees.weave),
    path("trees/<uid:uid>/buffer", buffer.text),
    path("trees/<uid:uid>/turns", turns.at_node),
    path("trees/<uid:uid>/line", lines.run),
    path("trees/<uid:uid>/search", finding.search),
    path("trees/<uid:uid>/excerpts", finding.excerpts),
    path("trees/<uid:uid>/marks", finding.marks),
    path("trees/<uid:uid>/bookmarks", panels.bookmarks),
    path("trees/<uid:uid>/history", history.history),
    path("trees/<uid:uid>/nodes/<local:local_id>", panels.details),
    path("trees/<uid:uid>/nodes/<local:local_id>/provenance", provenance.page),
    path("trees/<uid:uid>/nodes/<local:local_id>/text", panels.whole),
    path("trees/<uid:uid>/nodes/<local:local_id>/portal", portals.portal),
    path("trees/<uid:uid>/nodes/<local:local_id>/portals", portals.out),
]
