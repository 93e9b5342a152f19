"""Templates of agents: the settings that a new model participant begins with where its creator
sets nothing else. A template is one of TEMPLATES, or a participant of the grove: the new one then
calls the same model at the same address with the same key, under its own name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from loom.errors import CommandError
from loom.participants.provider_kinds import usual_limits
from loom.people.models import Grove, Participant
from loom.permissions import PRESETS


@dataclass(frozen=True)
class Template:
    """A template: its name, its purpose, and the settings of an agent made from it."""

    name: str
    says: str
    permissions: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """The template as the API and pages show it."""
        return {
            "name": self.name,
            "says": self.says,
            "permissions": list(self.permissions),
            "fields": dict(self.fields),
        }


_COLLABORATOR = (
    "You write in this tree together with people and other models. Take up what is there, keep its "
    "voice, and say in a note what you are unsure of instead of deciding it for the others."
)
_ANALYST = (
    "You read closely and answer questions about this tree: where its branches differ, what "
    "contradicts what, what is left open. Name the nodes that you speak of."
)
_EDITOR = (
    "You edit. Suggest better wordings of single passages with → suggest, each for one reason, and "
    "leave the voice and the facts of the text as they are."
)
_NARRATOR = "You continue stories. Write only the next passage, in the voice of the text."

TEMPLATES: Final[dict[str, Template]] = {
    template.name: template
    for template in (
        Template(
            "collaborator",
            "writes along in turns of its own, with all permissions",
            PRESETS["collaborator"],
            {"persona": _COLLABORATOR},
        ),
        Template(
            "analyst",
            "looks, reads and answers, and changes nothing",
            PRESETS["analysis"],
            {"persona": _ANALYST, "archetype": "auditor", "temperature": 0.3},
        ),
        Template(
            "editor",
            "suggests other wordings",
            ("loom_aware", "loom_write", "doc_read"),
            {"persona": _EDITOR, "archetype": "editor", "temperature": 0.5},
        ),
        Template(
            "narrator",
            "continues when asked, is sent text only",
            PRESETS["subject"],
            {"persona": _NARRATOR},
        ),
        Template(
            "base",
            "a base model at a completion endpoint: continues the bare text",
            PRESETS["subject"],
            {"endpoint": "completion", "temperature": 1.0, "max_tokens": 200},
        ),
    )
}
# What a copy takes from the original, together with the key, which is bound to its address.
COPIED: Final = (
    *("model_ref", "base_url", "allow_private", "auth", "endpoint", "capabilities", "persona"),
    *("temperature", "max_tokens", "stop", "context_limit", "archetype", "budget", "tool_filter"),
    *("provider_tools", "parallel", "prices"),
)


def begun(grove: Grove, name: str, fields: Mapping[str, Any]) -> Participant:
    """A new participant, not stored yet, with the settings of the template `name` ("": none). The
    `fields` are not applied yet. NOT_FOUND if there is no such template."""
    participant = Participant(grove=grove, kind="model")
    template = TEMPLATES.get(name)
    if template is not None:
        for key, value in template.fields.items():
            setattr(participant, key, value)
        participant.permissions = list(template.permissions)
    elif name:
        _copy(_participant(grove, name), participant)
    if not participant.model_ref:
        address = str(fields.get("base_url", ""))
        context, length = usual_limits(str(fields.get("model_ref", "")), address)
        participant.context_limit, participant.max_tokens = (
            context,
            participant.max_tokens or length,
        )
    return participant


def _participant(grove: Grove, uid: str) -> Participant:
    rows = Participant.objects.filter(grove=grove, kind="model", uid=uid)
    participant = rows.first()
    if participant is None:
        raise CommandError(
            "NOT_FOUND",
            f"There is no template {uid[:40]!r}.",
            hint=f"there are {', '.join(TEMPLATES)}, and the models of the grove by their ids",
        )
    return participant


def _copy(source: Participant, target: Participant) -> None:
    for name in COPIED:
        setattr(target, name, getattr(source, name))
    target.permissions = list(source.permissions)
    target.probe = dict(source.probe)
    target.sealed_key, target.lane = source.sealed_key, source.lane
