"""The settings of a grove about windows, stashes and memory. Pure."""

from loom.people.grove_settings import Setting, add_settings, number
from loom.people.grove_settings import translated_in_pages as _
from loom.workspace import window_rules as windows

add_settings(
    number("trace_actions", 10, _("number of last actions in MEMORY and memory trace"), 1, 100),
    number("windows_visible", windows.MOST_VISIBLE, _("maximum number of visible windows"), 1, 500),
    number("windows_warn_lines", windows.WARNED, _("lines above which STATUS warns"), 1, 100_000),
    number("stashes", windows.MOST_STASHED, _("maximum number of stashed texts"), 1, 2_000),
    number(
        "window_lines_max",
        0,
        _("maximum number of lines of all windows; 0: no limit"),
        0,
        1_000_000,
    ),
    Setting(
        "evict",
        "string",
        "",
        _("lru: over that limit, hide what was shown least recently; empty: refuse"),
        choices=("", "lru"),
    ),
    Setting("auto_open", "boolean", False, _("open items that the request of a turn names")),
)
