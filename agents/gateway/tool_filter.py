"""A request without some of its tools, and what says which of them is used: providers refuse a
choice without tools, and one that names a tool which is not there. Pure."""

from collections.abc import Collection
from typing import Any

from agents.gateway.messages import Shape

# What stands beside a list of tools and means nothing without it.
_BESIDE = {
    "tools": ("tool_choice", "parallel_tool_calls"),
    "functions": ("function_call",),  # those of OpenAI's chat before it had tools
}


def without_tools(shape: Shape, body: dict[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """The body without the tools that have these names; itself if it has none of them."""
    for key, beside in _BESIDE.items():
        body = _without(shape, body, hidden, key=key, beside=beside)
    return body


def _without(
    shape: Shape,
    body: dict[str, Any],
    hidden: Collection[str],
    *,
    key: str,
    beside: tuple[str, ...],
) -> dict[str, Any]:
    tools = body.get(key)
    if not hidden or not isinstance(tools, list):
        return body
    kept = [tool for tool in tools if _name_of(tool) not in hidden]
    if len(kept) == len(tools):
        return body
    if not kept:
        return {name: value for name, value in body.items() if name not in (key, *beside)}
    choice = beside[0]
    changed = {**body, key: kept}
    if choice in body:
        changed[choice] = _choice(shape, body[choice], hidden)
    return changed


def _choice(shape: Shape, choice: Any, hidden: Collection[str]) -> Any:
    """Which tools a model uses: any, if the choice is one that is hidden; of some that are allowed,
    those that are not hidden, or none."""
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "allowed_tools":
        is_within = isinstance(choice.get("allowed_tools"), dict)  # as in OpenAI's chat
        allowed = choice["allowed_tools"] if is_within else choice
        tools = allowed.get("tools")
        if not isinstance(tools, list):
            return choice
        kept = [tool for tool in tools if _name_of(tool) not in hidden]
        if not kept:
            return "none"
        return (
            {**choice, "allowed_tools": {**allowed, "tools": kept}}
            if is_within
            else {**choice, "tools": kept}
        )
    if _name_of(choice) not in hidden:
        return choice
    if shape != "messages":
        return "auto"
    return {**{key: value for key, value in choice.items() if key != "name"}, "type": "auto"}


def _name_of(tool: Any) -> str:
    """The name of a tool, or of the tool that a choice names."""
    if not isinstance(tool, dict):
        return ""
    kinds = (tool.get(kind) for kind in ("function", "custom"))
    own = next((kind for kind in kinds if isinstance(kind, dict)), tool)
    return str(own.get("name", ""))
