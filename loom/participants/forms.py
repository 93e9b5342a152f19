"""The form with which owners add and change models: its fields, and what an owner may not write in
them. What a whole change has to be is decided by the command that gets it."""

import json
from typing import Any

from loom.participants.commands import RANGES
from loom.participants.provider_kinds import WAYS, Kind, kind_of, usual_limits
from loom.participants.provider_tools import EXAMPLE
from loom.participants.seen_values import mark_of_value
from loom.people.models import Participant
from loom.permissions import PRESETS
from loom.site.forms import (
    FieldRefused,
    Flag,
    JsonList,
    Number,
    PageForm,
    Seen,
    Text,
    Whole,
    Word,
    Words,
)

ENDPOINTS = ("chat", "completion")
PRICES = ("input", "output", "cached", "written")
_LINES = "\n"


_NEW = Participant()  # its values are those of a form that leaves them out


class ParticipantForm(PageForm):
    """The settings of a model. Its `initial` values are those of a participant."""

    # Which model, and where it answers.
    participant = Word()
    seen = Seen()
    template = Word()
    kind = Word()
    model = Word()
    model_ref = Word()
    base_url = Word()
    api_key = Word()
    auth = Word(empty="bearer")
    allow_private = Word()
    again = Flag()
    probe = Flag()
    name = Word()
    # What it is sent.
    endpoint = Word(empty="chat")
    persona = Text()
    temperature = Number(between=RANGES["temperature"], usual=0.9)
    max_tokens = Whole(between=RANGES["max_tokens"], usual=2048)
    context_limit = Whole(between=RANGES["context_limit"], usual=32_768)
    stop = Text()
    way = Words()
    # What it may do.
    preset = Word()
    permission = Words()
    archetype = Word(empty=_NEW.archetype)
    budget = Word(empty=_NEW.budget)
    authority = Whole(empty=0, between=RANGES["authority"], usual=0)
    tool_filter = Text()
    provider_tools = JsonList(example=EXAMPLE)
    # What it costs.
    price_input = Number()
    price_output = Number()
    price_cached = Number()
    price_written = Number()
    caches_from = Whole()
    parallel = Whole(empty=_NEW.parallel, between=RANGES["parallel"], usual=_NEW.parallel)

    def clean_endpoint(self) -> str:
        """One of `ENDPOINTS`."""
        endpoint = str(self.cleaned_data["endpoint"])
        if endpoint not in ENDPOINTS:
            raise FieldRefused("This kind of endpoint does not exist.", "chat or completion")
        return endpoint

    def address(self, participant: Participant | None) -> dict[str, str]:
        """The model_ref and base_url: from a kind and a name, or as they were entered."""
        values = self.values
        if values["model_ref"]:
            return {"model_ref": values["model_ref"], "base_url": values["base_url"]}
        given, name, base_url = values["kind"], values["model"], values["base_url"]
        if not name:
            raise self.wrong(
                "model", "The model is missing.", hint="Choose a model or enter its name."
            )
        kind = kind_of(given)
        if (
            participant is not None
            and given
            and given == participant.model_ref.partition(":")[0] != kind.name
        ):
            kind = Kind(given, given)
        default = "" if kind.own else kind.url
        if not (base_url or default or kind.own):
            raise self.wrong("base_url", "The base URL is missing.", hint="Enter the base URL.")
        return {"model_ref": f"{kind.name}:{name}", "base_url": base_url or default}

    def fields_of(self, participant: Participant | None) -> dict[str, object]:
        """The values of a participant's fields, but for those of its private address. Empty limits
        are those of the list of models, empty prices those of the table."""
        values = self.values
        address = self.address(participant)
        if not values["name"]:
            raise self.wrong("name", "The name is missing.", hint="Enter a name.")
        usual, length = usual_limits(address["model_ref"], address["base_url"])
        same = "auth endpoint persona temperature archetype budget authority name parallel".split()
        prices = {name: values[f"price_{name}"] for name in PRICES}
        prices["caches_from"] = values["caches_from"]
        return {
            **{name: values[name] for name in same},
            **address,
            "max_tokens": values["max_tokens"] or (length if participant is None else None),
            "context_limit": values["context_limit"] or usual,
            "stop": [stop.replace("\\n", _LINES) for stop in values["stop"].split(_LINES) if stop],
            "capabilities": self.capabilities(participant),
            "tool_filter": [
                tool.strip() for tool in values["tool_filter"].split(_LINES) if tool.strip()
            ],
            "provider_tools": values["provider_tools"],
            "prices": {name: price for name, price in prices.items() if price is not None},
        }

    def changed_fields(self, participant: Participant) -> dict[str, object]:
        """The values of the fields that were changed in the page: what somebody else has changed
        since it was opened stays. A new key is sent with the address that it was typed for."""
        fields, seen = self.fields_of(participant), self.values["seen"]
        same = {
            name for name, value in fields.items() if seen.get(name) == mark_of_value(name, value)
        }
        # One that is stored and shown as empty is read as the usual address of its kind.
        was_empty = seen.get("base_url") == mark_of_value("base_url", "")
        if was_empty and not self.values["base_url"] and "model_ref" in same:
            same.add("base_url")
        if self.values["api_key"]:
            same -= {"model_ref", "base_url"}
        return {name: value for name, value in fields.items() if name not in same}

    def changed_permissions(self) -> list[str] | None:
        """The permissions, if they were changed in the page."""
        names = self.permissions()
        is_same = self.values["seen"].get("permissions") == mark_of_value("permissions", names)
        return None if is_same else names

    def permissions(self) -> list[str]:
        """The permissions: those of the preset, else the selected ones."""
        values = self.values
        for preset, names in PRESETS.items():
            if preset == values["preset"]:
                return list(names)
        return list(values["permission"])

    def capabilities(self, participant: Participant | None) -> list[str]:
        """A participant's capabilities with the selected ways of continuing."""
        held = list(participant.capabilities) if participant else []
        return [
            *(name for name in held if name not in WAYS),
            *(way for way in WAYS if way in self.values["way"]),
        ]


def initial_of(participant: Participant) -> dict[str, Any]:
    """What the form shows of a participant before anything is typed."""
    names = "name base_url auth endpoint persona temperature max_tokens context_limit"
    names += " archetype budget authority parallel"
    fresh = {} if participant.model_ref else {"context_limit": ""}
    prices = {f"price_{name}": participant.prices.get(name, "") for name in PRICES}
    return {
        **{name: getattr(participant, name) for name in names.split()},
        **fresh,
        **prices,
        "caches_from": participant.prices.get("caches_from", ""),
        "kind": participant.model_ref.partition(":")[0],
        "model": participant.model_ref.partition(":")[2],
        "stop": _LINES.join(str(stop).replace(_LINES, "\\n") for stop in participant.stop),
        "way": list(participant.capabilities),
        "permission": list(participant.permissions),
        "tool_filter": _LINES.join(participant.tool_filter),
        "provider_tools": _as_json(participant.provider_tools),
    }


def _as_json(tools: list[Any]) -> str:
    """A list as somebody would write it; "" for none."""
    return json.dumps(tools, ensure_ascii=False, indent=2) if tools else ""
