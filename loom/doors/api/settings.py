"""The caller's own settings over the API: name, theme, language, how he likes the page."""

from dataclasses import asdict

from django.conf import settings as conf
from pydantic import BaseModel
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom.commands import people
from loom.doors.api import bodies
from loom.doors.api.auth import user_of
from loom.doors.api.body import read
from loom.doors.api.schema import operation
from loom.models import User
from loom.rules import preferences
from loom.rules.refusals import Refused


class Settings(BaseModel):
    """One person's settings. `language` "": what the browser asks for; `temperature` null:
    the model's own; `keys`: those that differ from the first, by action; `languages`: the
    codes that may be chosen."""

    name: str
    theme: preferences.Theme
    language: str
    prose: preferences.Prose
    size: preferences.Size
    width: preferences.Width
    nodes: preferences.Nodes
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
    body=bodies.SettingsChanged,
    answers=Settings,
)
@api_view(["GET", "PATCH"])
def settings(request: Request) -> Response:
    """The caller's settings, changed or as they are."""
    user = user_of(request)
    if request.method == "PATCH":
        _change(user, read(request, bodies.SettingsChanged).sent)
    shown = {"name": user.display_name, "theme": user.theme, **asdict(user.likes)}
    return Response({**shown, "languages": [code for code, _ in conf.LANGUAGES]})


def _change(user: User, sent: dict[str, object]) -> None:
    codes = [code for code, _ in conf.LANGUAGES]
    if sent.get("language") and sent["language"] not in codes:
        raise Refused(
            "INVALID_SYNTAX", "There is no such language.", hint=f"one of {', '.join(codes)}"
        )
    name, theme = sent.pop("name", None), sent.pop("theme", None)
    if sent:
        people.prefer(user, sent)
    if name is not None or theme is not None:
        people.show_as(
            user,
            name=None if name is None else str(name),
            theme=None if theme is None else str(theme),
        )
