"""The addresses of the whole program: each interface has its own."""

from django.urls import include, path

from config.health import healthz
from loom.site.api_urls import nowhere

urlpatterns = [
    path("healthz", healthz),
    # The API first: Django tries one address after the other, and there are 150 of pages.
    path("", include("loom.site.api_urls")),
    path("api/", include("agents.api")),
    path("api/", include("agents.gateway.api")),
    path("api/", include("agents.webhooks.api")),
    path("", include("agents.gateway.pages")),
    path("", include("loom.site.page_urls")),
    path("", include("agents.webhooks.pages")),
    nowhere,
]

handler400 = "loom.site.page_requests.bad_request"
handler403 = "loom.site.page_requests.permission_denied"
handler404 = "loom.site.page_requests.page_not_found"
handler500 = "loom.site.page_requests.server_error"
