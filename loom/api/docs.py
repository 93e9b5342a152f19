"""The schema, and the page that reads it to people: Swagger UI from the sidecar, no outside
host."""

from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponseBase
from drf_spectacular.renderers import OpenApiJsonRenderer, OpenApiJsonRenderer2, OpenApiYamlRenderer
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import JSONRenderer

# JSON, unless something else is asked for.
schema = SpectacularAPIView.as_view(
    renderer_classes=[JSONRenderer, OpenApiJsonRenderer, OpenApiJsonRenderer2, OpenApiYamlRenderer]
)
_page = SpectacularSwaggerSplitView.as_view(url_name="schema")


# Swagger UI sets styles from its script; this page holds nothing of anybody's.
@csp_update({"style-src": ["'unsafe-inline'"], "img-src": ["data:"]})
def page(request: HttpRequest) -> HttpResponseBase:
    """The documentation of the API."""
    return _page(request)
