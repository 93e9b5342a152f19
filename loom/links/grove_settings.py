"""The setting of a grove about portals. Pure."""

from loom.language.portals import MOST_DEEP
from loom.people.grove_settings import add_settings, number
from loom.people.grove_settings import translated_in_pages as _

add_settings(
    number("portal_depth", MOST_DEEP, _("how deep portals lie inside portals"), 1, 40),
)
