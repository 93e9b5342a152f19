"""Places in templates to which features add a part: `{% slot "grove-tabs" %}` renders the templates
that were registered for it, with what the page knows."""

from typing import Any

from django.template import Library
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

register = Library()
_parts: dict[str, list[str]] = {}


def add_to_slot(slot: str, template: str) -> None:
    """Registers a template for a place, after those that it has."""
    known = _parts.setdefault(slot, [])
    if template not in known:
        known.append(template)


@register.simple_tag(takes_context=True)
def slot(context: Any, name: str) -> SafeString:
    """The parts of a place, one after the other."""
    known = context.flatten()
    parts = [render_to_string(template, known) for template in _parts.get(name, ())]
    return mark_safe("".join(parts))  # noqa: S308 (templates)
