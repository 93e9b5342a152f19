"""The settings of a grove about what its agents and models are sent. Pure."""

from typing import Final

from loom.participants.provider_kinds import RESERVE
from loom.people.grove_settings import add_settings, number
from loom.people.grove_settings import translated_in_pages as _

MOST_OF_A_RESULT: Final = 1_000_000  # tokens


add_settings(
    number(
        "result_threshold",
        0,
        _(
            "results of up to this many tokens are sent whole; 0: a tenth of the model's "
            "context, at least 4,000"
        ),
        0,
        MOST_OF_A_RESULT,
    ),
    number("truncation_kept", 4, _("number of last nodes that truncateMiddle keeps"), 1, 100),
    number("truncation_reserve", RESERVE, _("tokens reserved for the answer"), 0, 100_000),
    number("earlier_step", 8, _("nodes by which EARLIER grows"), 1, 100),
    number("path_nodes", 12, _("number of last path nodes in PATH"), 1, 200),
    number("outline_lines", 30, _("lines of OUTLINE"), 5, 500),
    number("windows_share", 25, _("percent of the context for windows"), 1, 90),
    number(
        "active_seconds",
        60,
        _("seconds for which others count as active after a line"),
        1,
        3_600,
    ),
)
