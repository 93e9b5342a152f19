"""The link to the inbox in the bar of each page, with how many mentions are new."""

from typing import Any

from django.template import Library

from loom.notes.mentions import count_unseen

register = Library()


@register.inclusion_tag("parts/mentions.html", takes_context=True)
def inbox(context: Any) -> dict[str, int]:
    """Drawn with the page: asked for by it, the number would come after the page, and cost a
    request of its own."""
    return {"unseen": count_unseen(context["request"].user)}
