"""What pyloom kept of models' answers: who answered, when, and how it ended. The prompts and
the tokens with their counterfactuals are many times the tree, and are left out."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from loom.transfer.records import Record, Report
from loom.transfer.values import Event, TooMuch, kept, skip, text_of, without_secrets

UNNAMED = "Unknown model"
_HEAVY = frozenset(("prompt", "logprobs", "tokens"))
_ANSWER = 64 * 1024


class Answers:
    """The answers by their id."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.known: dict[str, dict[str, Any]] = {}

    def read(self, first: Event, events: Iterator[Event]) -> None:
        """Reads the object of all answers, one answer at a time."""
        if first[0] != "start_map":
            skip(first, events)
            return
        for event, uid in events:
            if event == "end_map":
                return
            first = next(events)
            if first[0] == "start_map":
                self.known[uid] = self._answer(events)
            else:
                skip(first, events)

    def _answer(self, events: Iterator[Event]) -> dict[str, Any]:
        answer: dict[str, Any] = {}
        for event, name in events:
            if event == "end_map":
                return answer
            first = next(events)
            if name == "completions" and first[0] == "start_array":
                answer["ends"] = self._ends(events)
            elif name in _HEAVY:
                self.report.dropped[f"model_responses.{name}"] += 1
                skip(first, events)
            else:
                self._keep(answer, name, first, events)
        return answer

    def _keep(
        self, answer: dict[str, Any], name: str, first: Event, events: Iterator[Event]
    ) -> None:
        path = f"model_responses.{name}"
        try:
            value = kept(path, first, events, self.report, most=_ANSWER)
        except TooMuch:
            return
        is_left, value = without_secrets(path, value, self.report)
        if is_left and name != "id":
            answer[name] = value

    def _ends(self, events: Iterator[Event]) -> list[str]:
        """How each completion of an answer ended; their texts are nodes already."""
        ends: list[str] = []
        for event, _ in events:
            if event == "end_array":
                return ends
            if event != "start_map":
                skip((event, None), events)
                continue
            ends.append("")
            for inner, name in events:
                if inner == "end_map":
                    break
                first = next(events)
                if name == "finishReason":
                    ends[-1] = text_of(first[1], 40)
                elif name == "tokens":
                    self.report.dropped["model_responses.completions.tokens"] += 1
                skip(first, events)
        return ends

    def settle(self, record: Record) -> None:
        """Completes a record by the answer it came from."""
        found = dict(self.known.get(record.answer, {})) if record.answer else {}
        ends = found.pop("ends", [])
        made = record.imported.get("generation")
        index = made.get("index") if isinstance(made, dict) else None
        if isinstance(index, int) and 0 <= index < len(ends):
            found["finishReason"] = ends[index]
        if found:
            record.imported["model_response"] = found
        if record.author_kind == "model" and not record.author:
            record.author = text_of(found.get("model"), 80) or UNNAMED
        if not record.at:
            record.at = _instant(found.get("timestamp"))


def _instant(given: Any) -> str:
    for form in ("%Y-%m-%d-%H.%M.%S", "%Y-%m-%dT%H:%M:%S.%f"):
        try:
            at = datetime.strptime(text_of(given, 40), form).replace(tzinfo=UTC)
        except ValueError:
            continue
        return at.isoformat() if at.year >= 1000 else ""
    return ""
