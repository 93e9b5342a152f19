"""What templates may ask for besides their context: the reader's own keys."""

from typing import Any

from django.template import Library
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString

from loom.doors.web.catalogue import script_catalogue
from loom.doors.web.who import tint_of
from loom.models import User
from loom.rules import keys

register = Library()

_DRAWN = {
    **{"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓"},
    **{"Escape": "Esc", "Mod": "Ctrl"},
}


def caps_of(combo: str) -> list[str]:
    """The combo as the caps of a keyboard; a script makes ⌘ of Ctrl where that is the key."""
    *held, key = combo.split("+") if combo != "+" else ["+"]
    shown = key.upper() if held and len(key) == 1 else key
    return [_DRAWN.get(cap, cap) for cap in (*held, shown)] if combo else []


@register.simple_tag(takes_context=True)
def key(context: dict[str, Any], action: str) -> SafeString:
    """The reader's key for an action, as `<kbd>`; nothing where it has none."""
    user = context["request"].user
    own = user.likes.keys if isinstance(user, User) else {}
    return combo(keys.bound(own)[action])


@register.simple_tag(takes_context=True)
def tint(context: dict[str, Any], tag: str) -> SafeString:
    """The thread of a tag of this grove, as an attribute; nothing where it has none."""
    grove = context["grove"] if "grove" in context else context["tree"].grove
    found = tint_of(grove, tag)
    return SafeString("") if found is None else format_html(' data-who="{}"', found)


@register.simple_tag
def script_words() -> SafeString:
    """The catalogue for scripts, for languages other than English."""
    words = script_catalogue()
    return json_script(words, "words") if words else SafeString("")


@register.simple_tag
def combo(combo: str) -> SafeString:
    """A combo as `<kbd>`s."""
    caps = [(" data-mod" if cap in ("Ctrl", "Alt") else "", cap) for cap in caps_of(combo)]
    drawn = format_html_join(" ", "<kbd{}>{}</kbd>", caps)
    return format_html("{}", drawn)
