"""Events of generations and calls: what the log keeps of them, and what readers get. What is read
from their rows here never changes, so that the log need not repeat it."""

from loom.engine.event_kinds import Body, completes
from loom.turns.models import Call, Generation

Stored = list[Body]
_OF_STARTED = (
    *("uid", "participant__uid", "point__local_id", "index", "batch", "turn__uid", "round"),
    "asked_by__uid",
)
_OF_ENDED = ("uid", "turn__uid", "round", "node__local_id", "usage")


def started(generation: Generation) -> Body:
    """What the log keeps of a generation that was asked for."""
    return {"generation": {"id": generation.uid}}


def ended(row: Generation) -> Body:
    """What the log keeps of a generation that has ended: its id, and what is not as usual."""
    kept: Body = {"id": row.uid}
    if row.status != "done":
        kept["status"] = row.status
    if row.finish != "complete":
        kept["finish"] = row.finish
    kept |= {name: value for name, value in (("error", row.error), ("note", row.note)) if value}
    return {"generation": kept}


def sealed(call: Call, nodes: list[str]) -> Body:
    """What the log keeps of a call that was sealed."""
    return {"call": call.uid, "nodes": nodes}


@completes("generation.started")
def _started(_: str, payloads: Stored) -> Stored:
    ids = [payload["generation"]["id"] for payload in payloads if len(payload["generation"]) == 1]
    rows = _rows(ids, _OF_STARTED)
    return [_start(payload, rows.get(payload["generation"]["id"])) for payload in payloads]


def _start(payload: Body, row: Body | None) -> Body:
    if row is None:
        return payload
    body = {
        "id": row["uid"],
        "participant": row["participant__uid"],
        "point": row["point__local_id"],
        "index": row["index"],
        "batch": row["batch"],
        "turn": row["turn__uid"],
        "round": row["round"],
        "asked_by": row["asked_by__uid"],
        "status": "queued",
    }
    return {"generation": body}


@completes("generation.ended")
def _ended(_: str, payloads: Stored) -> Stored:
    ids = [
        payload["generation"]["id"] for payload in payloads if "round" not in payload["generation"]
    ]
    rows = _rows(ids, _OF_ENDED)
    return [_end(payload, rows.get(payload["generation"]["id"])) for payload in payloads]


def _end(payload: Body, row: Body | None) -> Body:
    if row is None:
        return payload
    kept = payload["generation"]
    body = {
        "id": row["uid"],
        "turn": row["turn__uid"],
        "round": row["round"],
        "status": kept.get("status", "done"),
        "node": row["node__local_id"],
        "finish": kept.get("finish", "complete"),
        "error": kept.get("error"),
        "usage": kept.get("usage", row["usage"]),
        "note": kept.get("note", ""),
    }
    return {"generation": body}


@completes("call.sealed")
def _sealed(_: str, payloads: Stored) -> Stored:
    ids = [payload["call"] for payload in payloads if "sha256" not in payload]
    hashes = Call.objects.filter(uid__in=ids).values_list("uid", "sha256", "bytes") if ids else ()
    rows = {uid: {"sha256": sha256, "bytes": how} for uid, sha256, how in hashes}
    return [
        {"call": payload["call"], **rows.get(payload["call"], {}), "nodes": payload["nodes"]}
        if "sha256" not in payload
        else payload
        for payload in payloads
    ]


def _rows(ids: list[str], columns: tuple[str, ...]) -> dict[str, Body]:
    """The columns of generations by their ids; no query for none."""
    rows = Generation.objects.filter(uid__in=ids).order_by().values(*columns) if ids else ()
    return {row["uid"]: row for row in rows}
