"""Keeps the whole chain of middleware on one thread."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.utils.decorators import sync_only_middleware

Handler = Callable[[HttpRequest], HttpResponseBase]


@sync_only_middleware
def on_one_thread(get_response: Handler) -> Handler:
    """Does nothing but be synchronous, and last in the list: Django then runs the chain in
    one thread, instead of changing threads twice in each middleware (measured: 0.9 ms of
    4.5 for the smallest request)."""
    return get_response
