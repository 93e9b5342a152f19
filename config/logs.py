"""How log lines are written: without the secrets of links and keys."""

import logging
import re

# Anyone with such an address or key can sign in, so none may be in a log: sign-in links,
# invitations, public links, and our own API keys.
_SECRET = re.compile(r"(/(?:signin|invitations|public)/)[^\s/?#\"']+|\bhd_[A-Za-z0-9_-]{16,}")


def masked(text: str) -> str:
    """The text with "…" in place of each secret."""
    return _SECRET.sub(lambda found: f"{found[1] or ''}…", text)


class MaskingFormatter(logging.Formatter):
    """Masks the whole line, a traceback included."""

    def format(self, record: logging.LogRecord) -> str:
        """The line as it is written."""
        return masked(super().format(record))
