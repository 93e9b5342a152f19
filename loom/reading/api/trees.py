"""Trees in the API: listing, making, changing, archiving, erasing; their links, public links and
images."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

from django.core.files.uploadedfile import UploadedFile
from django.db.models import QuerySet
from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import ConfigDict, Field
from rest_framework.decorators import api_view, parser_classes
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.errors import CommandError
from loom.links.queries import link_bodies, links_in
from loom.people.models import User
from loom.reading.queries.tree_bodies import tree_bodies, tree_body
from loom.site import api_requests as requests
from loom.site import responses
from loom.site.api_items import get_node
from loom.site.api_requests import MAX_TEXT, Body, PartialBody, read, user_of
from loom.site.responses import Returned
from loom.site.schema import (
    PAGES,
    a_truth,
    an_id,
    form,
    needed,
    operation,
    paged,
    paged_at_once,
    truth,
    word,
)
from loom.text import hashes
from loom.text.images import IMAGE_TYPES, MOST_IMAGE_BYTES, image_reference
from loom.trees import erasing, images
from loom.trees.commands import public_links as public_links_module
from loom.trees.commands import rights as rights_module
from loom.trees.commands import trees as trees_module
from loom.trees.models import Tree, Workspace
from loom.trees.queries import lookup
from loom.trees.queries.places import pins_on
from loom.turns import summaries as summary_commands
from loom.workspace.commands import saved as saving

# Request bodies.


class TreeSent(Body):
    """A new tree; without `grove`, in the caller's first. `mode` cannot be changed later."""

    title: str = Field("", max_length=public_links_module.MAX_TITLE)
    mode: Literal["dialogue", "buffer"]
    grove: str = ""
    description: str = Field("", max_length=MAX_TEXT)
    system_context: str = Field("", max_length=MAX_TEXT)


def _range(name: str) -> Any:
    """The bounds of a number in the schema; what is out of them is refused by the command."""
    least, most = public_links_module.RANGES[name]
    return Field(json_schema_extra={"minimum": least, "maximum": most})


class TreeChangedSchema(PartialBody):
    """Changes to a tree; mode and grove never change. `seen`: fields as the sender has read them;
    a field that has another value by now is not overwritten (CONFLICT)."""

    title: str = Field("", max_length=public_links_module.MAX_TITLE)
    description: str = Field("", max_length=MAX_TEXT)
    system_context: str = Field("", max_length=MAX_TEXT)
    summary: str = Field("", max_length=MAX_TEXT)
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] = "truncateMiddle"
    memory: str = Field("", max_length=MAX_TEXT)
    author_note: str = Field("", max_length=MAX_TEXT)
    note_depth: Annotated[int, _range("note_depth")] = 3
    lore_scan: Annotated[int, _range("lore_scan")] = 2000
    lore_budget: Annotated[int, _range("lore_budget")] = 1000
    folder: str = Field("", max_length=public_links_module.MAX_FOLDER)
    archived: bool = False
    seen: dict[str, str | int] = {}


class TreeTyped(Body):
    """The title of the tree, typed as confirmation."""

    title: str


class SettingsPinnedSchema(Body):
    """Settings that apply at a node and below it; {} removes them."""

    node: str = Field(min_length=1, max_length=8)
    settings: dict[str, Any]


class SummariesSent(Body):
    """The summaries to make: of nodes by their ids, and with `tree` a new one of the tree.
    `again`: also where there is one, or one has failed."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": ["nodes"], "properties": {"nodes": {"minItems": 1}}},
                {"required": ["tree"], "properties": {"tree": {"const": True}}},
            ]
        }
    )

    nodes: list[Annotated[str, Field(max_length=8)]] = Field(default_factory=list, max_length=100)
    tree: bool = False
    again: bool = False


class PublicLinkSent(Body):
    """For how many days anybody with the link may read the tree."""

    days: float = Field(7, gt=0, le=erasing.MAX_DAYS)


class PublicLinkSchema(Returned):
    """A link with which anybody may read one tree."""

    id: str
    made_by: str
    created_at: str
    expires_at: str
    revoked_at: str | None


class NewPublicLinkSchema(PublicLinkSchema):
    """A public link with the link itself, which is shown only once."""

    link: str


# Public links of a tree. The page that they open is in `loom.reading.pages.public_tree`.


@operation(
    "GET",
    "public links list",
    "Open public links, for owners",
    answers=responses.Page[PublicLinkSchema],
    asks=PAGES,
)
@operation(
    "POST",
    "public links make",
    "Let anybody read a tree with a link that is shown only once",
    body=PublicLinkSent,
    answers=NewPublicLinkSchema,
    status=201,
)
@operation(
    "DELETE",
    "public links revoke",
    "Revoke a public link",
    body=requests.LinkNamed,
    answers=responses.Gone,
)
@api_view(["GET", "POST", "DELETE"])
def public_links(request: Request, uid: str) -> Response:
    """The open public links of a tree, for owners of its grove."""
    actor, tree = access.get_tree(user_of(request), uid, role="owner")
    if request.method == "GET":
        return paged(
            request,
            public_links_module.open_links(actor, tree),
            public_links_module.public_link_body,
        )
    if request.method == "DELETE":
        public_links_module.revoke_public_link(actor, tree, read(request, requests.LinkNamed).id)
        return Response({"ok": True})
    public_link, secret = public_links_module.make_public_link(
        actor, tree, days=read(request, PublicLinkSent).days
    )
    link = request.build_absolute_uri(f"/public/{secret}")
    return Response({**public_links_module.public_link_body(public_link), "link": link}, status=201)


# Who may do what in a tree.


class RightSent(Body):
    """A member by user name, or all `readers` or `writers`, and what they may do in the tree;
    `usual` is what their role allows."""

    who: str = Field(min_length=1, max_length=200)
    right: rights_module.Given


class RoleRightSchema(Returned):
    """What readers or writers may do in a tree: `right` is what counts, `given` what the tree
    says."""

    role: str
    given: str
    right: str


class MemberRightSchema(Returned):
    """What a member may do in a tree: `right` is what counts, `given` what the tree says of them
    by name."""

    user: str
    name: str
    participant: str
    role: str
    given: str
    right: str


class RightsSchema(Returned):
    """Who may do what in a tree."""

    roles: list[RoleRightSchema]
    members: list[MemberRightSchema]


@operation("GET", "rights list", "Who may do what in a tree", answers=RightsSchema)
@operation(
    "PUT",
    "rights give",
    "Say what a member, or all readers or writers, may do in a tree",
    body=RightSent,
    answers=RightsSchema,
)
@api_view(["GET", "PUT"])
def rights(request: Request, uid: str) -> Response:
    """Who may do what in a tree, for owners of its grove. `allow` does the same by line."""
    actor, tree = access.get_tree(user_of(request), uid, role="owner")
    if request.method == "PUT":
        sent = read(request, RightSent)
        rights_module.give(actor, tree, sent.who, sent.right)
        actor, tree = access.get_tree(user_of(request), uid, role="owner")
    return Response(rights_module.body_of(actor, tree))


# Settings that are pinned to a branch.


class PinnedSettings(Returned):
    """Settings, and the slot where they are pinned."""

    node: str
    settings: dict[str, Any]


class SettingsHere(Returned):
    """The `settings` that apply at a node, and the pins that they come from, topmost first."""

    settings: dict[str, Any]
    pins: list[PinnedSettings]


@operation(
    "GET",
    "settings at",
    "The settings that apply at a node",
    answers=SettingsHere,
    asks=(OpenApiParameter("node", OpenApiTypes.STR, description="Default: the root."),),
)
@operation(
    "PUT",
    "settings pin",
    "Pin settings to a branch",
    body=SettingsPinnedSchema,
    answers=SettingsHere,
)
@api_view(["GET", "PUT"])
def settings(request: Request, uid: str) -> Response:
    """What is pinned on the path to a node; pinning is for writers."""
    actor, tree = access.get_tree(user_of(request), uid)
    workspace = Workspace.objects.filter(participant=actor.participant, tree=tree).first()
    named = request.query_params.get("node", "")
    if request.method == "PUT":
        access.demand_role(actor, "writer")
        sent = read(request, SettingsPinnedSchema)
        saving.pin_settings(actor, tree, sent.node, sent.settings)
        named = sent.node
    node = get_node(tree, named) if named else lookup.root_of(tree)
    pins = pins_on(actor, tree, workspace, node)
    merged: dict[str, Any] = {}
    for pin in pins:
        merged |= pin.settings
    shown = [{"node": pin.slot.local_id, "settings": pin.settings} for pin in pins]
    return Response({"settings": merged, "pins": shown})


# Links. They are made and removed by lines: link, unlink.


_NODE = OpenApiParameter("node", OpenApiTypes.STR, description="Only those at this node.")


@operation(
    "GET",
    "links list",
    "Links that start in a tree, or start or end at a node",
    answers=responses.Page[responses.LinkSchema],
    asks=(an_id("tree", "The tree.", required=True), _NODE, *PAGES),
)
@api_view(["GET"])
def links(request: Request) -> Response:
    """Links as they are stored, from source to target, oldest first."""
    actor, tree = access.get_tree(user_of(request), needed(request, "tree"))
    named = request.query_params.get("node")
    rows = links_in(actor, tree, get_node(tree, named) if named else None)
    return paged_at_once(request, rows, lambda page: link_bodies(page, tree))


# Trees: listing, making, changing, archiving, erasing.


def _body(actor: Actor, tree: Tree) -> dict[str, Any]:
    return tree_body(tree, access.workspace_of(actor.participant, tree))


def _lines(user: User, trees: Sequence[Tree]) -> list[dict[str, Any]]:
    """Trees in a list; listing makes no workspaces."""
    own = Workspace.objects.filter(participant__user=user, tree__in=list(trees))
    return tree_bodies(trees, {line.tree_id: line for line in own})


@operation(
    "GET",
    "trees list",
    "The caller's trees, the latest touched first",
    answers=responses.Page[responses.TreeSchema],
    asks=(
        an_id("grove", "Only those of this grove."),
        a_truth("archived", "Archived ones, instead."),
        *PAGES,
    ),
)
@operation(
    "POST", "trees make", "Make a tree", body=TreeSent, answers=responses.TreeSchema, status=201
)
@api_view(["GET", "POST"])
def trees(request: Request) -> Response:
    """Lists trees; or makes one with its empty root."""
    user = user_of(request)
    if request.method == "GET":
        return paged_at_once(request, _listed(request, user), partial(_lines, user))
    body = read(request, TreeSent)
    grove = access.get_grove(user, body.grove)[1] if body.grove else access.first_grove(user)
    actor = access.get_actor(user, grove)
    access.demand_role(actor, "writer")
    tree = trees_module.make_tree(actor, trees_module.NewTree(**body.model_dump(exclude={"grove"})))
    return Response(_body(actor, tree), status=201)


def _listed(request: Request, user: User) -> "QuerySet[Tree]":
    rows = access.visible_trees(user).select_related("grove")
    rows = rows.filter(archived_at__isnull=not truth(request, "archived"))
    grove = word(request, "grove")
    if grove:
        rows = rows.filter(grove=access.get_grove(user, grove)[1])
    return rows.order_by("-touched_at", "-id")


@operation("GET", "trees one", "A tree", answers=responses.TreeSchema)
@operation(
    "PATCH",
    "trees change",
    "Change or archive a tree",
    body=TreeChangedSchema,
    answers=responses.TreeSchema,
)
@operation(
    "DELETE",
    "trees erase",
    "Erase an archived tree for good, its title typed again",
    body=TreeTyped,
    answers=responses.Gone,
)
@api_view(["GET", "PATCH", "DELETE"])
def tree(request: Request, uid: str) -> Response:
    """A tree with its size and the caller's workspace; writers change it, owners erase it."""
    actor, row = access.get_tree(user_of(request), uid)
    if request.method == "DELETE":
        access.demand_role(actor, "owner")
        trees_module.erase(actor, row, read(request, TreeTyped).title)
        return Response({"ok": True})
    if request.method == "PATCH":
        access.demand_role(actor, "writer")
        row = trees_module.change_tree(actor, row, read(request, TreeChangedSchema).sent)
    return Response(_body(actor, row))


# Summaries of a tree and its nodes: the model, those being made, and those that failed.


class SummaryFailed(Returned):
    """A failed summary: of which node (null: the tree), when, and why."""

    node: str | None
    error: dict[str, Any]
    at: str


class SummariesBody(Returned):
    """`model` makes summaries (null: none, so the first words are used); `open` are being made;
    failed ones are retried a few times where they are needed. `summary` is that of the node in
    `?node=`, else of the tree."""

    model: str | None
    open: int
    summary: str
    failed: list[SummaryFailed]


@operation(
    "GET",
    "summaries of_tree",
    "Summaries being made",
    answers=SummariesBody,
    asks=(OpenApiParameter("node", OpenApiTypes.STR, description="Whose summary is returned."),),
)
@operation(
    "POST",
    "summaries ask",
    "Ask for summaries",
    body=SummariesSent,
    answers={202: SummariesBody},
)
@api_view(["GET", "POST"])
def summaries(request: Request, uid: str) -> Response:
    """The model that makes the summaries of a tree, and their state; a POST requests missing
    ones."""
    actor, tree = access.get_tree(user_of(request), uid)
    status = 200
    if request.method == "POST":
        sent = read(request, SummariesSent)
        if not sent.nodes and not sent.tree:
            raise CommandError(
                "INVALID_SYNTAX", "Nothing is asked for.", hint="name nodes, or tree: true"
            )
        nodes = [get_node(tree, local_id).pk for local_id in sent.nodes]
        summary_commands.summarise(actor, tree, nodes, whole=sent.tree, again=sent.again)
        status = 202
    named = request.query_params.get("node", "")
    agent = summary_commands.summariser(tree.grove)
    body = SummariesBody(
        model=agent.uid if agent else None,
        open=summary_commands.going(tree),
        summary=get_node(tree, named).summary if named else tree.summary,
        failed=[
            SummaryFailed(
                node=failure.point.local_id if failure.point.parent_slot_id else None,
                error=failure.error or {},
                at=hashes.instant(failure.ended_at),
            )
            for failure in summary_commands.failures(tree)
            if failure.ended_at is not None
        ],
    )
    return Response(body.model_dump(), status=status)


# Images: sent to a tree, and read by members of its grove.


IMAGE_FORM = form(
    f"A PNG, JPEG, GIF or WebP of at most {MOST_IMAGE_BYTES:,} bytes.",
    alt=("What the image shows.", ()),
)
_IMAGE_ANSWERS = {(200, media): OpenApiTypes.BINARY for media, _ in IMAGE_TYPES.values()}


class ImageKept(Returned):
    """An image of a tree, and `text`: the reference to it in a text."""

    sha256: str
    media_type: str
    width: int
    height: int
    size: int
    text: str


@operation("POST", "images add", "Add an image", body=IMAGE_FORM, answers=ImageKept, status=201)
@api_view(["POST"])
@parser_classes([MultiPartParser])
def add_image(request: Request, uid: str) -> Response:
    """Stores an image for the tree, for writers; the same bytes are stored once. It is shown where
    a text names it."""
    actor, tree = access.get_tree(user_of(request), uid, role="writer")
    file = _file_of(request)
    if (file.size or 0) > MOST_IMAGE_BYTES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"An image has at most {MOST_IMAGE_BYTES:,} bytes.",
            hint="make it smaller",
            is_size=True,
        )
    row = images.keep(actor, tree, file.read())
    body = {name: getattr(row, name) for name in ("sha256", "media_type", "width", "height")}
    sent: Any = request.data
    text = image_reference(row.sha256, str(sent.get("alt", "")))
    return Response({**body, "size": row.size, "text": text}, status=201)


def _file_of(request: Request) -> "UploadedFile[bytes]":
    try:
        sent: Any = request.data
    except UnsupportedMediaType:
        sent = {}
    file = sent.get("file")
    if not isinstance(file, UploadedFile):
        raise CommandError(
            "INVALID_SYNTAX",
            "No image was sent.",
            hint="send multipart/form-data with the part file",
        )
    return file


@operation("GET", "images show", "Read an image", answers=_IMAGE_ANSWERS)
@api_view(["GET"])
def image(request: Request, sha256: str) -> HttpResponse:
    """The bytes of an image of a tree that the caller may see."""
    return images.served(access.get_image(user_of(request), sha256))
