"""The caller's password in the API. Only a browser may change it, a key never."""

from pydantic import Field
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from loom.people.commands import accounts as people
from loom.site import responses
from loom.site.api_requests import Body, demand_browser, read, user_of
from loom.site.schema import operation


class PasswordSent(Body):
    """The old password (empty if there is none yet) and the new one."""

    old: str = Field("", max_length=1000)
    new: str = Field(min_length=people.MIN_PASSWORD, max_length=1000)


@operation(
    "POST",
    "account password",
    "Change the password; all other browsers are signed out",
    body=PasswordSent,
    answers=responses.Gone,
)
@api_view(["POST"])
def password(request: Request) -> Response:
    """Changes the caller's password."""
    demand_browser(request, "cannot set a password")
    given = read(request, PasswordSent)
    people.change_password(request._request, user_of(request), old=given.old, new=given.new)
    return Response({"ok": True})
