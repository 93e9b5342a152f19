"""Who may see the pages of an operator. An operator sees how much there is and what it costs, of
all groves; what is written in them only as a member, like anybody else."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from django.http import HttpRequest, HttpResponse

from loom.errors import not_found
from loom.people.models import User
from loom.site.page_requests import PersonRequest, person

P = ParamSpec("P")
View = Callable[Concatenate[PersonRequest, P], HttpResponse]


def demand_operator(user: User) -> None:
    """Raises NOT_FOUND, as for an address that does not exist, unless the user is an operator."""
    if not (user.is_active and user.is_operator):
        raise not_found("This page")


def operator(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """A view for operators; 404 for everybody else who has signed in."""

    @wraps(view)
    def gated(request: PersonRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        demand_operator(request.user)
        return view(request, *args, **kwargs)

    return person(gated)
