"""The caller's own settings in the API: name, theme, language, appearance."""

from dataclasses import asdict

from django.conf import settings as conf
from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom.errors import CommandError
from loom.people import preferences
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import User
from loom.site.api_requests import PartialBody, read, user_of
from loom.site.responses import Returned
from loom.site.schema import operation


class SettingsChanged(PartialBody):
    """Changes to the caller's own settings; values as in `GET settings`."""

    name: str = Field("", max_length=people.MAX_SHOWN)
    theme: preferences.Theme = "system"
    language: str = Field(
        "", max_length=20, json_schema_extra={"enum": ["", *(code for code, _ in conf.LANGUAGES)]}
    )
    prose: preferences.Prose = "serif"
    size: preferences.Size = "medium"
    width: preferences.Width = "medium"
    leading: preferences.Leading = "medium"
    align: preferences.Align = "start"
    nodes: preferences.Nodes = "full"
    paste: preferences.Paste = "plain"
    styled: bool = True
    temperature: float | None = Field(None, ge=0, le=2)
    edits: preferences.Edits = "ask"
    verbose: bool = False
    keys: dict[str, str] = {}


class Settings(Returned):
    """One person's settings. `language` "": the browser's; `temperature` null: the model's own;
    `keys`: those that differ from the defaults, by action; `languages`: the codes that can be
    chosen."""

    name: str
    theme: preferences.Theme
    language: str
    prose: preferences.Prose
    size: preferences.Size
    width: preferences.Width
    leading: preferences.Leading
    align: preferences.Align
    nodes: preferences.Nodes
    paste: preferences.Paste
    styled: bool
    temperature: float | None
    edits: preferences.Edits
    verbose: bool
    keys: dict[str, str]
    languages: list[str]


@operation("GET", "account settings", "Your own settings", answers=Settings)
@operation(
    "PATCH",
    "account change_settings",
    "Change your own settings; what is not sent stays",
    body=SettingsChanged,
    answers=Settings,
)
@api_view(["GET", "PATCH"])
def settings(request: Request) -> Response:
    """The caller's settings, after a change if one was sent."""
    user = user_of(request)
    if request.method == "PATCH":
        _change(user, read(request, SettingsChanged).sent)
    shown = {"name": user.display_name, "theme": user.theme, **asdict(user.likes)}
    return Response({**shown, "languages": [code for code, _ in conf.LANGUAGES]})


def _change(user: User, sent: dict[str, object]) -> None:
    codes = [code for code, _ in conf.LANGUAGES]
    if sent.get("language") and sent["language"] not in codes:
        raise CommandError(
            "INVALID_SYNTAX", "This language is not available.", hint=f"one of {', '.join(codes)}"
        )
    name, theme = sent.pop("name", None), sent.pop("theme", None)
    if sent:
        people.prefer(user, sent)
    if name is not None or theme is not None:
        groves.show_as(
            user,
            name=None if name is None else str(name),
            theme=None if theme is None else str(theme),
        )
