"""The page that reads the schema to people: Swagger UI from the sidecar, no outside host."""

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.views import SpectacularSwaggerSplitView

_VIEW = SpectacularSwaggerSplitView.as_view(url_name="schema")


# Swagger UI sets styles from its script; this page holds nothing of anybody's.
@csp_update({"style-src": ["'unsafe-inline'"], "img-src": ["data:"]})  # type: ignore[untyped-decorator]
def page(request: HttpRequest) -> HttpResponseBase:
    """The documentation of the API."""
    return _VIEW(request)
