"""The setting of a grove for its trees: what readers may do in them. Pure."""

from loom.people.grove_settings import Setting, add_settings
from loom.people.grove_settings import translated_in_pages as _

add_settings(
    Setting(
        "readers_may",
        "string",
        "read",
        _("what readers may do in a tree that says nothing else: read, or also comment"),
        choices=("read", "comment"),
    ),
)
