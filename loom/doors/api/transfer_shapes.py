"""What importing takes and answers, for the OpenAPI schema."""

from typing import Any, Literal

from pydantic import BaseModel

from loom.rules.refusals import Code

FORMATS = ("heddle", "pyloom", "pyloom-simple")
SENT: dict[str, Any] = {
    "multipart/form-data": {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {
                "type": "string",
                "format": "binary",
                "description": "At most 256 MiB of JSON in UTF-8.",
            },
            "grove": {"type": "string", "description": "Without it the caller's first."},
            "format": {
                "type": "string",
                "enum": ["", *FORMATS],
                "description": "Without it found out by the file's content.",
            },
        },
    }
}


class Taken(BaseModel):
    """A file was taken and waits to be read."""

    id: str


class ImportReport(BaseModel):
    """What became of a file: what was kept, unknown to the format and kept beside the nodes,
    or dropped, each by name with its number."""

    format: str
    nodes: int
    kept: dict[str, int]
    unknown: dict[str, int]
    dropped: dict[str, int]
    warnings: list[str]


class ImportProblem(BaseModel):
    """Why an import failed."""

    code: Code
    message: str
    hint: str
    retryable: bool


class ImportState(BaseModel):
    """An import: `done` of `total` bytes of the file, its tree once that is there."""

    id: str
    name: str
    status: Literal["queued", "running", "done", "failed"]
    done: int
    total: int
    tree: str | None
    report: ImportReport | None
    error: ImportProblem | None
