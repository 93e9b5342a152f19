"""Webhooks in the API, for owners of a grove."""

from django.urls import URLPattern, URLResolver, path
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from agents.webhooks import commands
from agents.webhooks.models import Webhook
from loom.site import responses
from loom.site.api_requests import Body, PartialBody, read, user_of
from loom.site.responses import Returned
from loom.site.schema import PAGES, operation, paged
from loom.text.hashes import instant, instant_or_none


class WebhookSent(Body):
    """A new webhook: its address, the tree whose events are sent (without one: the grove's), and
    the kinds of events (empty: all)."""

    url: str = Field(min_length=1, max_length=500)
    tree: str = Field("", max_length=32)
    kinds: list[str] = Field(default_factory=list, max_length=commands.MOST_KINDS)


class WebhookChanged(PartialBody):
    """Changes to a webhook: the kinds of events, or whether it is stopped. A stopped one goes on
    where it was."""

    kinds: list[str] = Field(default_factory=list, max_length=commands.MOST_KINDS)
    stopped: bool = False


class WebhookBody(Returned):
    """A webhook. `cursor` is the last seq that was accepted or left out; `error` is the reason of
    the last failure, if there was one since."""

    id: str
    grove: str
    tree: str | None
    url: str
    kinds: list[str]
    cursor: int
    tries: int
    error: str
    next_try_at: str | None
    stopped_at: str | None
    delivered_at: str | None
    created_at: str


class NewWebhook(WebhookBody):
    """A webhook with its secret, which is shown only once."""

    secret: str


def _body(webhook: Webhook) -> dict[str, object]:
    return {
        "id": webhook.uid,
        "grove": webhook.grove.uid,
        "tree": webhook.tree.uid if webhook.tree else None,
        "url": webhook.url,
        "kinds": webhook.kinds,
        "cursor": webhook.cursor,
        "tries": webhook.tries,
        "error": webhook.error,
        "next_try_at": instant_or_none(webhook.due_at),
        "stopped_at": instant_or_none(webhook.stopped_at),
        "delivered_at": instant_or_none(webhook.delivered_at),
        "created_at": instant(webhook.created_at),
    }


@operation(
    "GET", "webhooks list", "Webhooks of a grove", answers=responses.Page[WebhookBody], asks=PAGES
)
@operation(
    "POST",
    "webhooks make",
    "Send events to an address",
    body=WebhookSent,
    answers=NewWebhook,
    status=201,
)
@api_view(["GET", "POST"])
def webhooks(request: Request, uid: str) -> Response:
    """The webhooks of a grove; or a new one with its secret."""
    user = user_of(request)
    if request.method == "POST":
        sent = read(request, WebhookSent)
        webhook, secret = commands.make_webhook(
            user, uid, url=sent.url, tree=sent.tree, kinds=sent.kinds
        )
        return Response({**_body(webhook), "secret": secret}, status=201)
    return paged(request, commands.webhooks_of(user, uid), _body)


@operation("GET", "webhooks one", "A webhook", answers=WebhookBody)
@operation(
    "PATCH", "webhooks change", "Change or stop a webhook", body=WebhookChanged, answers=WebhookBody
)
@operation("DELETE", "webhooks remove", "Remove a webhook", answers=responses.Gone)
@api_view(["GET", "PATCH", "DELETE"])
def webhook(request: Request, uid: str) -> Response:
    """One webhook: read, changed or removed."""
    user = user_of(request)
    if request.method == "DELETE":
        commands.remove_webhook(user, uid)
        return Response({"ok": True})
    if request.method == "PATCH":
        given = read(request, WebhookChanged).model_dump(exclude_unset=True)
        changed = commands.change_webhook(
            user, uid, kinds=given.get("kinds"), is_stopped=given.get("stopped")
        )
        return Response(_body(changed))
    return Response(_body(commands.get_webhook(user, uid)))


@operation("POST", "webhooks rotate", "A new secret for a webhook", answers=NewWebhook)
@api_view(["POST"])
def rotate(request: Request, uid: str) -> Response:
    """A new secret; the former one signs beside it for a day."""
    row, secret = commands.rotate_secret(user_of(request), uid)
    return Response({**_body(row), "secret": secret})


urlpatterns: list[URLPattern | URLResolver] = [
    path("groves/<id:uid>/webhooks", webhooks),
    path("webhooks/<id:uid>", webhook),
    path("webhooks/<id:uid>/secret", rotate),
]
