"""Which session a request belongs to, by what known programs send. Pure.

Source: docs/model.md §11, and the table of programs in the design's anchors: Claude Code, Codex,
opencode, pi, LibreChat and others name their sessions in a header or in the body.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST = 256  # characters of a name
_CLAUDE_USER = re.compile(r"_session_([A-Za-z0-9-]{1,128})\Z")
# Headers that name a session, in the order in which they are asked, around the body's own names.
_FIRST = ("x-loom-session", "x-claude-code-session-id")
_THEN = (
    "session-id",
    "session_id",
    "x-session-id",
    "x-session-affinity",
    "x-client-request-id",
)


@dataclass(frozen=True)
class SessionNames:
    """The names that a request gives: its session, the subagent in it, the parent of that one, and
    the session that this one was forked from. Empty: none."""

    session: str = ""
    agent: str = ""
    parent_session: str = ""
    parent_agent: str = ""
    forked_from: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether the program says nothing about its session."""
        return not self.session and not self.agent


def names_in(headers: Mapping[str, str], body: Mapping[str, Any]) -> SessionNames:
    """The names in a request's headers (by lower-case name; read as Latin-1) and body."""
    headers = {name: _in_utf8(value) for name, value in headers.items()}
    turn = _json(headers.get("x-codex-turn-metadata", ""))
    parent = headers.get("x-parent-session-id") or turn.get("parent_thread_id")
    return SessionNames(
        session=_session(headers, body),
        agent=_name(headers.get("x-claude-code-agent-id")),
        parent_session=_name(parent),
        parent_agent=_name(headers.get("x-claude-code-parent-agent-id")),
        forked_from=_name(turn.get("forked_from_thread_id")),
    )


def _in_utf8(value: str) -> str:
    """A header as programs write words today; itself if its bytes are not UTF-8."""
    try:
        return value.encode("latin-1").decode()
    except UnicodeError:
        return value


def _session(headers: Mapping[str, str], body: Mapping[str, Any]) -> str:
    metadata = body.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    thread = body.get("conversation")
    if isinstance(thread, dict):
        thread = thread.get("id")
    candidates: list[Any] = [headers.get(name) for name in _FIRST]
    candidates.append(_of_user(user))
    candidates += [headers.get(name) for name in _THEN]
    candidates += [body.get("prompt_cache_key"), thread, body.get("conversation_id")]
    return next(filter(None, map(_name, candidates)), "")


def _of_user(user: Any) -> Any:
    """The session that `metadata.user_id` holds: a field of JSON, or what follows `_session_`."""
    if not isinstance(user, str):
        return None
    if user.startswith("{"):
        return _json(user).get("session_id")
    match = _CLAUDE_USER.search(user)
    return match[1] if match else None


def _json(text: str) -> dict[str, Any]:
    if len(text) > 16 * 1024:
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _name(value: Any) -> str:
    """The value if it can be a name: a text of at most 256 characters without control characters
    or lone surrogates."""
    if not isinstance(value, str) or not 0 < len(value) <= MOST or not value.isprintable():
        return ""
    return value
