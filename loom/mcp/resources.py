"""What can be read without a tool: the caller's trees, and texts and documents by address.

`loom://trees/ID`, `loom://trees/ID/nodes/NODE` and `loom://documents/ID`.
"""

import re

import mcp_types as types

from loom.mcp.api_client import McpCaller, Refused

MOST = 100  # trees and documents that are listed, the last used ones
_TREE = re.compile(r"loom://trees/([A-Za-z0-9]{1,32})(?:/nodes/([a-z0-9]{1,8}))?")
_DOCUMENT = re.compile(r"loom://documents/([A-Za-z0-9]{1,32})")

TEMPLATES = [
    types.ResourceTemplate(
        name="node",
        uri_template="loom://trees/{tree}/nodes/{node}",
        description="A text of a tree.",
        mime_type="text/plain",
    ),
]


async def listed(caller: McpCaller) -> list[types.Resource]:
    """The trees and documents that the caller may read, the last used ones."""
    trees = (await caller.get("trees", limit=str(MOST)))["results"]
    try:
        documents = (await caller.get("documents", limit=str(MOST)))["results"]
    except Refused:  # an installation without documents
        documents = []
    return [
        types.Resource(
            name=row["title"] or "Untitled", uri=f"loom://{kind}/{row['id']}", mime_type=mime
        )
        for kind, mime, rows in (
            ("trees", "text/plain", trees),
            ("documents", "text/markdown", documents),
        )
        for row in rows
    ]


async def place_of(caller: McpCaller, uri: str) -> tuple[str, str, str]:
    """Where the changes of a resource are told: (kind of the stream, its id, the id by which an
    event there names the resource, "" for all of a tree). Raises Refused if the caller may not read
    it."""
    if tree := _TREE.fullmatch(uri):
        await caller.get(f"trees/{tree[1]}/nodes/{tree[2]}" if tree[2] else f"trees/{tree[1]}")
        return "trees", tree[1], tree[2] or ""
    if document := _DOCUMENT.fullmatch(uri):
        row = await caller.get(f"documents/{document[1]}")
        return "groves", str(row["grove"]), document[1]
    raise _unknown()


async def text_of(caller: McpCaller, uri: str) -> types.TextResourceContents:
    """The outline of a tree, the text of a node, or a document. Raises Refused."""
    if tree := _TREE.fullmatch(uri):
        line = f"view {tree[2]} full" if tree[2] else "tree"
        body = {"line": line, "dry_run": False}
        answer = await caller.post(f"trees/{tree[1]}/commands", body)
        return types.TextResourceContents(uri=uri, text=answer["reply"], mime_type="text/plain")
    if document := _DOCUMENT.fullmatch(uri):
        row = await caller.get(f"documents/{document[1]}")
        return types.TextResourceContents(uri=uri, text=row["text"], mime_type="text/markdown")
    raise _unknown()


def _unknown() -> Refused:
    hint = "resources are loom://trees/ID, loom://trees/ID/nodes/NODE and loom://documents/ID"
    return Refused({"code": "NOT_FOUND", "message": "There is no such resource.", "hint": hint})
