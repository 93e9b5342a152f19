"""A request without the tools that a participant does not pass on."""

from typing import Any

import pytest

from agents.gateway.messages import Shape
from agents.gateway.tool_filter import without_tools

HIDDEN = ["TodoWrite"]


def chat(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def custom(name: str) -> dict[str, Any]:
    return {"type": "custom", "custom": {"name": name}}


def flat(name: str) -> dict[str, Any]:
    return {"type": "function", "name": name}


def plain(name: str) -> dict[str, Any]:
    return {"name": name}


def chosen(name: str) -> dict[str, Any]:
    return {"type": "tool", "name": name}


def within(*names: str) -> dict[str, Any]:
    tools = {"mode": "auto", "tools": [chat(name) for name in names]}
    return {"type": "allowed_tools", "allowed_tools": tools}


def allowed(*names: str) -> dict[str, Any]:
    return {"type": "allowed_tools", "mode": "auto", "tools": [flat(name) for name in names]}


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("messages", {"tools": [{"name": "TodoWrite"}], "tool_choice": chosen("TodoWrite")}),
        ("chat", {"tools": [chat("TodoWrite")], "tool_choice": "required"}),
        ("chat", {"tools": [custom("TodoWrite")], "parallel_tool_calls": True}),
        ("chat", {"functions": [{"name": "TodoWrite"}], "function_call": {"name": "TodoWrite"}}),
        ("responses", {"tools": [flat("TodoWrite")], "tool_choice": allowed("TodoWrite")}),
    ],
)
def test_nothing_about_tools_is_left_where_no_tool_is(shape: Shape, body: dict[str, Any]) -> None:
    """A provider refuses an empty list of tools, and a choice without one."""
    assert without_tools(shape, {"model": "m", **body}, HIDDEN) == {"model": "m"}


@pytest.mark.parametrize(
    ("shape", "choice", "expected"),
    [
        ("chat", chat("TodoWrite"), "auto"),
        ("chat", custom("TodoWrite"), "auto"),
        ("chat", chat("Read"), chat("Read")),
        ("chat", "required", "required"),
        ("chat", within("Read", "TodoWrite"), within("Read")),
        ("chat", within("TodoWrite"), "none"),
        ("responses", flat("TodoWrite"), "auto"),
        ("responses", allowed("Read", "TodoWrite"), allowed("Read")),
        ("responses", allowed("TodoWrite"), "none"),
        ("responses", {"type": "web_search"}, {"type": "web_search"}),
        (
            "messages",
            {**chosen("TodoWrite"), "disable_parallel_tool_use": True},
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
        ("messages", chosen("Read"), chosen("Read")),
        ("messages", {"type": "any"}, {"type": "any"}),
    ],
)
def test_a_choice_names_no_tool_that_is_not_there(shape: Shape, choice: Any, expected: Any) -> None:
    tools = {"chat": chat, "responses": flat, "messages": plain}
    tool = tools[shape]
    body = {"tools": [tool("Read"), tool("TodoWrite")], "tool_choice": choice}
    assert without_tools(shape, body, HIDDEN) == {"tools": [tool("Read")], "tool_choice": expected}


def test_functions_are_left_out_as_tools_are() -> None:
    body = {"functions": [{"name": "Read"}, {"name": "TodoWrite"}]}
    left = {"functions": [{"name": "Read"}], "function_call": "auto"}
    assert without_tools("chat", {**body, "function_call": {"name": "TodoWrite"}}, HIDDEN) == left


def test_a_request_without_hidden_tools_stays_as_it_is() -> None:
    body = {"tools": [], "tool_choice": "auto", "functions": [{"name": "Read"}]}
    assert without_tools("chat", body, HIDDEN) is body
    assert without_tools("chat", body, []) is body
