"""Pages go out compressed."""

from typing import Any

from django.middleware.gzip import GZipMiddleware


class Pages(GZipMiddleware):
    """Django's own, which hides the length of what it packs, for pages only: a long path is a
    tenth of itself then. What the API answers packs itself where that pays."""

    def process_response(self, request: Any, response: Any) -> Any:
        """The page, packed where the browser takes that."""
        is_page = response.get("Content-Type", "").startswith("text/html")
        return super().process_response(request, response) if is_page else response
