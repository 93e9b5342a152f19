"""Models that take part: their settings, their permissions, and whose key they have."""

from typing import Any

import pytest

from agents.outside_tools import commands as outside_tools
from agents.providers.registry import configuration_of
from config import env
from loom.access import Actor
from loom.engine.models import Event
from loom.errors import CommandError
from loom.meaning.embedder_settings import NewEmbedder, set_embedder
from loom.participants import commands as participants
from loom.participants import provider_keys
from loom.participants.commands import ParticipantChangeArgs, ProviderAddress, participant_body
from loom.participants.provider_keys import key_of, open_sealed
from loom.participants.provider_kinds import REMEMBERED
from loom.people.commands import groves
from loom.people.models import Participant, User
from loom.permissions import PRESETS, Permission, broken_rule, preset_of
from loom.web_search import commands as web_search

pytestmark = pytest.mark.django_db
URL = "https://models.example/v1"
OTHER = "https://elsewhere.example/v1"


def make(actor: Actor, **fields: Any) -> Participant:
    """A model participant with these settings."""
    more = {
        name: fields.pop(name) for name in ("api_key", "permissions", "loom_aware") & fields.keys()
    }
    plain = {"name": "Model", "model_ref": "test:one", **fields}
    return participants.make_participant(actor, ParticipantChangeArgs(fields=plain, **more))


def change(actor: Actor, participant: Participant, **changes: Any) -> Participant:
    """The participant after a change."""
    return participants.change_participant(actor, participant, ParticipantChangeArgs(**changes))


def operates(actor: Actor, *, really: bool = True) -> None:
    """Makes the actor the operator of this Heddle, or no operator."""
    User.objects.filter(pk=actor.user.pk).update(is_operator=really)
    actor.user.is_operator = really


def refused(run: Any, *given: Any, **more: Any) -> CommandError:
    """The error with which a call is refused."""
    with pytest.raises(CommandError) as refusal:
        run(*given, **more)
    return refusal.value


def test_a_key_is_kept_sealed_and_never_shown(actor: Actor) -> None:
    participant = make(actor, base_url=URL, api_key="sk-secret")
    assert open_sealed(participant.sealed_key, URL) == "sk-secret"
    assert participant_body(participant)["has_key"] is True
    assert "sk-secret" not in str(Participant.objects.values()) + str(Event.objects.values())
    assert participant.sealed_key not in str(Event.objects.values())


UNSENDABLE = ["sk-\u200bsecret", "sk-\u00a0secret", "ключ", "sk\r\nx: y", "sk\tsecret", "\u200bsk"]


@pytest.mark.parametrize("key", UNSENDABLE)
def test_a_key_that_no_header_can_carry_is_refused(key: str, actor: Actor) -> None:
    error = refused(make, actor, base_url=URL, api_key=key)
    assert (error.code, "U+" in error.message) == ("INVALID_SYNTAX", True)
    assert error.hint and key not in error.message
    participant = make(actor, base_url=URL, api_key="sk-secret")
    assert refused(change, actor, participant, api_key=key).code == "INVALID_SYNTAX"
    source = ProviderAddress("openai", api_key=key)
    assert refused(participants.ask_models, actor, source).code == "INVALID_SYNTAX"


def test_blanks_around_a_key_are_not_a_part_of_it(actor: Actor) -> None:
    participant = make(actor, base_url=URL, api_key=" \u00a0sk-secret\r\n")
    plain = make(actor, name="Second", base_url=URL, api_key="sk-secret")
    assert key_of(participant) == "sk-secret"
    assert participant.lane == plain.lane
    assert change(actor, participant, api_key=" ").sealed_key == ""


def test_a_password_of_basic_authentication_may_have_any_letters(actor: Actor) -> None:
    participant = make(actor, base_url=URL, auth="basic", api_key="ada:schön ")
    assert key_of(participant) == "ada:schön"
    participant.auth = "bearer"
    assert refused(key_of, participant).code == "REJECTED"


@pytest.mark.parametrize("key", UNSENDABLE)
def test_no_other_service_gets_a_key_that_cannot_be_sent(key: str, actor: Actor) -> None:
    search = web_search.NewService(kind="brave", api_key=key)
    assert refused(web_search.set_service, actor, search).code == "INVALID_SYNTAX"
    embedder = NewEmbedder(model="m", base_url=URL, api_key=key)
    assert refused(set_embedder, actor, embedder).code == "INVALID_SYNTAX"
    server = outside_tools.NewToolServer(name="weather", url=URL, api_key=key)
    assert refused(outside_tools.add_server, actor, server).code == "INVALID_SYNTAX"


def test_another_address_drops_the_key(actor: Actor) -> None:
    participant = make(actor, base_url=URL, api_key="sk-secret")
    participant = change(actor, participant, fields={"name": "Renamed", "base_url": URL})
    assert participant.sealed_key
    assert not change(actor, participant, fields={"base_url": OTHER}).sealed_key
    participant = change(actor, participant, fields={"base_url": URL}, api_key="sk-new")
    assert open_sealed(participant.sealed_key, URL) == "sk-new"
    assert not change(actor, participant, api_key="").sealed_key


def test_an_agent_may_get_another_model(actor: Actor) -> None:
    participant = make(
        actor, model_ref="openai:a", api_key="sk-secret", capabilities=["grammar", "prefill"]
    )
    Participant.objects.filter(pk=participant.pk).update(
        probe={"status": "done"}, prices={"input": 1.0, "output": 2.0}
    )
    before = configuration_of(participant, None)
    participant = change(actor, participant, fields={"model_ref": "openai:b", "name": "Same"})
    assert (participant.model_ref, participant.probe, participant.prices) == ("openai:b", {}, {})
    assert set(participant.capabilities).isdisjoint(REMEMBERED)
    assert open_sealed(participant.sealed_key, "") == "sk-secret"  # the same provider still
    assert configuration_of(participant, None) != before
    event = Event.objects.filter(kind="participant.changed").latest("seq")
    assert event.payload["participant"]["model_ref"] == "openai:b"


@pytest.mark.parametrize(
    ("before", "after"),
    [("openai:a", "anthropic:a"), ("litellm:openai/m", "litellm:groq/m")],
)
def test_a_model_of_another_provider_does_not_get_the_key(
    before: str, after: str, actor: Actor
) -> None:
    participant = make(actor, model_ref=before, api_key="sk-secret")
    if after.startswith("litellm"):
        assert refused(change, actor, participant, fields={"model_ref": after}).code == "REJECTED"
        participant = change(actor, participant, fields={"model_ref": after}, api_key="sk-other")
        assert open_sealed(participant.sealed_key, "") == "sk-other"
    else:
        participant = change(actor, participant, fields={"model_ref": after})
        assert (participant.sealed_key, participant.lane) == ("", "")


def test_the_name_of_an_archived_agent_may_be_used_again(actor: Actor) -> None:
    old = participants.archive_participant(actor, make(actor, name="Muse"))
    new = make(actor, name="muse")
    assert refused(change, actor, old, archived=False).code == "CONFLICT"
    back = change(actor, old, fields={"name": "Muse of old"}, archived=False)
    assert (back.archived_at, new.name) == (None, "muse")
    assert refused(change, actor, back, fields={"name": "MUSE"}).code == "CONFLICT"


def test_a_persons_name_stays_theirs(actor: Actor, reader: User) -> None:
    person = Participant.objects.get(grove=actor.grove, user=reader)
    groves.remove_member(actor, reader.username)
    assert refused(make, actor, name=person.name).code == "CONFLICT"


@pytest.mark.parametrize(
    "url",
    [
        "http://models.example/v1",
        "https://127.0.0.1/v1",
        "https://169.254.169.254/",
        "https://localhost/v1",
        "https://10.0.0.1",
        "ftp://models.example",
        "https://user:pass@models.example",
        "nonsense",
    ],
)
def test_an_address_that_may_not_be_called_is_rejected(
    url: str, actor: Actor, settings: Any
) -> None:
    settings.PRIVATE_ADDRESSES = "nobody"
    sentence = refused(make, actor, base_url=url)
    assert sentence.code == "REJECTED"
    assert ("HEDDLE_PROVIDER_ALLOW" in sentence.message) == ("add the line" in sentence.hint)
    assert not Participant.objects.filter(name="Model").exists()


def test_the_sentence_says_the_line_that_would_allow_it(actor: Actor, settings: Any) -> None:
    url = "http://127.0.0.1:8081/v1"
    assert "HEDDLE_PROVIDER_ALLOW=127.0.0.1:8081" in refused(make, actor, base_url=url).message
    settings.PROVIDER_ALLOW = ("127.0.0.1:8081",)
    assert make(actor, base_url=url).base_url == url


@pytest.mark.parametrize(
    ("permissions", "aware", "expected"),
    [
        (None, None, []),
        (None, True, ["loom_aware"]),
        (None, False, []),
        (["loom_aware"], None, ["loom_aware"]),
        (["loom_aware"], True, ["loom_aware"]),
        (["doc_read"], False, ["doc_read"]),
        (["loom_write", "loom_aware", "loom_aware"], None, ["loom_aware", "loom_write"]),
        ([], False, []),
        (["loom_aware"], False, "INVALID_SYNTAX"),
        ([], True, "INVALID_SYNTAX"),
        (["loom_write"], None, "INVALID_SYNTAX"),
        (["loom_generate"], None, "INVALID_SYNTAX"),
        (["doc_write"], None, "INVALID_SYNTAX"),
        (["loom_aware", "fly"], None, "INVALID_SYNTAX"),
    ],
)
def test_the_list_of_permissions_rules(
    permissions: list[str] | None, aware: bool | None, expected: Any, actor: Actor
) -> None:
    given = {"permissions": permissions, "loom_aware": aware}
    if isinstance(expected, str):
        assert refused(make, actor, **given).code == expected
        return
    body = participant_body(make(actor, **given))
    assert (body["permissions"], body["loom_aware"]) == (expected, "loom_aware" in expected)


def test_awareness_without_a_list_keeps_what_agrees_with_it(actor: Actor) -> None:
    participant = make(actor, permissions=["loom_aware", "loom_write", "doc_read"])
    assert change(actor, participant, loom_aware=True).permissions[1] == "loom_write"
    assert change(actor, participant, loom_aware=False).permissions == ["doc_read"]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("name", "", "INVALID_SYNTAX"),
        ("name", "a\nb", "INVALID_SYNTAX"),
        ("name", "x" * 81, "INVALID_SYNTAX"),
        ("model_ref", "nothing", "INVALID_SYNTAX"),
        ("model_ref", ":x", "INVALID_SYNTAX"),
        ("model_ref", "a:", "INVALID_SYNTAX"),
        ("model_ref", "a: b", "INVALID_SYNTAX"),
        ("endpoint", "voice", "INVALID_SYNTAX"),
        ("archetype", "king", "INVALID_SYNTAX"),
        ("budget", "endless", "INVALID_SYNTAX"),
        ("temperature", 2.5, "LIMIT_EXCEEDED"),
        ("temperature", -1, "INVALID_SYNTAX"),
        ("max_tokens", 0, "INVALID_SYNTAX"),
        ("context_limit", 10**9, "LIMIT_EXCEEDED"),
        ("authority", 4, "LIMIT_EXCEEDED"),
    ],
)
def test_a_value_is_one_that_can_be(field: str, value: Any, code: str, actor: Actor) -> None:
    assert refused(make, actor, **{field: value}).code == code
    participant = make(actor)
    changed = refused(change, actor, participant, fields={field: value})
    assert changed.code == code
    participant.refresh_from_db()
    assert getattr(participant, field) != value


SEARCH = {"type": "web_search_20250305", "name": "web_search", "user_location": {"city": "Ulm"}}


@pytest.mark.parametrize(
    ("tools", "code", "words"),
    [
        ({}, "INVALID_SYNTAX", "list of objects"),
        (["web_search"], "INVALID_SYNTAX", "list of objects"),
        ([{}], "INVALID_SYNTAX", "needs a type"),
        ([{"type": 3}], "INVALID_SYNTAX", "needs a type"),
        ([{"type": "web search"}], "INVALID_SYNTAX", "needs a type"),
        ([SEARCH, {"type": "function", "name": "f"}], "INVALID_SYNTAX", "'function' is run by its"),
        ([{"type": "Function", "name": "f"}], "INVALID_SYNTAX", "'Function' is run by its"),
        ([{"type": "custom", "name": "f"}], "INVALID_SYNTAX", "'custom' is run by its caller"),
        ([{"type": "bash_20250124", "name": "bash"}], "INVALID_SYNTAX", "run by its caller"),
        ([{"type": "computer_use_preview"}], "INVALID_SYNTAX", "run by its caller"),
        ([{**SEARCH, "input_schema": {}}], "INVALID_SYNTAX", "'input_schema' is run by its caller"),
        ([{**SEARCH, "parameters": None}], "INVALID_SYNTAX", "'parameters' is run by its caller"),
        ([{**SEARCH, "function": {}}], "INVALID_SYNTAX", "'function' is run by its caller"),
        ([{**SEARCH, "note": "a\0b"}], "INVALID_SYNTAX", "cannot be stored"),
        ([{**SEARCH, "\ud800": 1}], "INVALID_SYNTAX", "cannot be stored"),
        ([{**SEARCH, "near": float("nan")}], "INVALID_SYNTAX", "none in JSON"),
        ([SEARCH] * 17, "LIMIT_EXCEEDED", "at most 16 entries"),
        ([{**SEARCH, "note": "é" * 4096}], "LIMIT_EXCEEDED", "at most 8,192 bytes"),
    ],
)
def test_tools_of_a_provider_are_run_by_it(tools: Any, code: str, words: str, actor: Actor) -> None:
    participant = make(actor, provider_tools=[SEARCH])
    refusal = refused(change, actor, participant, fields={"provider_tools": tools})
    assert (refusal.code, words in refusal.message, bool(refusal.hint)) == (code, True, True)
    assert refusal.message.startswith("provider_tools")
    participant.refresh_from_db()
    assert participant.provider_tools == [SEARCH]


def test_no_depth_of_a_tool_is_too_much_to_be_refused(actor: Actor) -> None:
    deep: Any = "bottom"
    for _ in range(40):
        deep = [deep]
    refusal = refused(make, actor, provider_tools=[{**SEARCH, "deep": deep}])
    assert (refusal.code, "16 levels" in refusal.message) == ("INVALID_SYNTAX", True)


def test_tools_of_a_provider_are_copied_with_its_model(actor: Actor) -> None:
    source = make(actor, provider_tools=[SEARCH])
    copy = participants.make_participant(
        actor, ParticipantChangeArgs(fields={"name": "Another"}, template=source.uid)
    )
    assert copy.provider_tools == [SEARCH]


def test_texts_are_kept_as_given(actor: Actor) -> None:
    participant = make(actor, persona="  be kind \r\n", stop=[" \n", "END"])
    participant.refresh_from_db()
    assert (participant.persona, participant.stop) == ("  be kind \r\n", [" \n", "END"])


def test_a_name_is_once_in_a_grove_whatever_its_case(actor: Actor) -> None:
    make(actor, name="Ünal")
    assert refused(make, actor, name="üNAL").code == "CONFLICT"


def test_archiving_can_be_taken_back_and_no_change_is_not_an_event(actor: Actor) -> None:
    participant = make(actor)
    assert participants.archive_participant(actor, participant).archived_at is not None
    participants.archive_participant(actor, participant)
    assert change(actor, participant, archived=False).archived_at is None
    change(actor, participant, fields={"name": "Model"})
    kinds = Event.objects.filter(kind__startswith="participant.").order_by("seq")
    assert list(kinds.values_list("kind", flat=True)) == [
        "participant.added",
        "participant.changed",
        "participant.changed",
    ]


def test_the_event_holds_what_the_api_shows(actor: Actor) -> None:
    participant = make(actor, base_url=URL, temperature=0.5)
    assert Event.objects.get(kind="participant.added").payload == {
        "participant": participant_body(participant)
    }


def test_people_are_changed_among_the_members(actor: Actor) -> None:
    for run in (participants.archive_participant, change):
        assert refused(run, actor, actor.participant).code == "REJECTED"


def test_a_change_is_of_the_row_as_it_is_now(actor: Actor) -> None:
    mine, theirs = make(actor), Participant.objects.get(name="Model")
    change(actor, mine, fields={"persona": "kind"})
    change(actor, theirs, fields={"temperature": 1.0})
    mine.refresh_from_db()
    assert (mine.persona, mine.temperature) == ("kind", 1.0)


@pytest.mark.parametrize(
    ("preset", "names"),
    [
        ("collaborator", set(Permission)),
        ("analysis", {"loom_aware", "doc_read"}),
        ("subject", set()),
    ],
)
def test_presets_are_those_of_the_model_and_keep_the_rules(preset: str, names: set[str]) -> None:
    given = next(given for name, given in PRESETS.items() if name == preset)
    assert set(given) == names
    assert broken_rule(list(given)) == ""
    assert preset_of(reversed(given)) == preset
    assert preset_of(["loom_aware"]) is None


def test_a_key_of_the_environment_serves_only_who_is_named_at_the_providers_address(
    actor: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator")
    named = make(actor, name="Named", model_ref="openai:gpt-5")
    other = make(actor, name="Other", model_ref="openai:gpt-5")
    away = make(actor, name="Away", model_ref="openai:gpt-5", base_url=URL)
    own = make(actor, name="Own", model_ref="openai:gpt-5", api_key="sk-own")
    unknown = make(actor, name="Unknown", model_ref="test:one", base_url=URL)
    assert key_of(named) == ""
    settings.ENV_KEYS = tuple(participant.uid for participant in (named, away, own, unknown))
    assert key_of(named) == "sk-of-the-operator"
    assert [key_of(participant) for participant in (other, away, own, unknown)] == [
        "",
        "",
        "sk-own",
        "",
    ]
    change(actor, named, fields={"base_url": "https://api.openai.com/v1/"})
    named.refresh_from_db()
    assert key_of(named) == "sk-of-the-operator"


@pytest.mark.parametrize(
    ("model_ref", "key"),
    [("litellm:openai/m", ""), ("litellm:custom/m", "sk-own"), ("litellm:gpt-4o", "sk-own")],
)
def test_litellm_without_a_key_or_a_checked_provider_is_refused(
    model_ref: str, key: str, actor: Actor
) -> None:
    sentence = refused(make, actor, model_ref=model_ref, api_key=key)
    assert sentence.code == "REJECTED"
    assert make(actor, model_ref="litellm:openai/m", api_key="sk-own").sealed_key


@pytest.mark.parametrize(
    "name", ["Оwner", "0wner", "Own\u200ber", "Owner (imported)", "ＯＷＮＥＲ"]
)
def test_no_agent_is_called_like_a_member(actor: Actor, name: str) -> None:
    with pytest.raises(CommandError) as refused:
        make(actor, name=name)
    assert refused.value.code in ("CONFLICT", "INVALID_SYNTAX")
    assert not Participant.objects.filter(grove=actor.grove, kind="model").exists()


def test_an_owner_allows_a_private_address_where_the_environment_lets_them(
    actor: Actor, settings: Any
) -> None:
    url, name = "http://127.0.0.1:11434/v1", {"name": "Muse", "model_ref": "ollama:m"}
    given = {**name, "base_url": url, "allow_private": True}
    settings.PRIVATE_ADDRESSES = "operator"
    assert refused(make, actor, **given).code == "PERMISSION_DENIED"
    settings.PRIVATE_ADDRESSES = "nobody"
    operates(actor)
    assert refused(make, actor, **given).code == "PERMISSION_DENIED"
    settings.PRIVATE_ADDRESSES = "operator"
    assert "allow it here" in refused(make, actor, **name, base_url=url).hint
    participant = make(actor, **given)
    assert participant_body(participant)["allow_private"] is True
    allowed = provider_keys.allowed_addresses(url, allow_private=True)
    assert allowed == (*settings.PROVIDER_ALLOW, "127.0.0.1:11434")
    settings.PRIVATE_ADDRESSES = "nobody"
    assert provider_keys.allowed_addresses(url, allow_private=True) == settings.PROVIDER_ALLOW
    settings.PRIVATE_ADDRESSES = "owners"
    operates(actor, really=False)
    participant = change(
        actor, participant, fields={"base_url": "http://10.0.0.7:80/v1", "allow_private": True}
    )
    assert participant.allow_private
    assert not change(actor, participant, fields={"base_url": URL}).allow_private


@pytest.mark.parametrize(
    ("setting", "who"),
    [
        ("", "owners"),
        ("owners", "owners"),
        ("operator", "operator"),
        ("nobody", "nobody"),
        ("no", "nobody"),
    ],
)
def test_every_owner_may_allow_an_address_unless_the_environment_says_otherwise(
    setting: str, who: str, actor: Actor, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_PRIVATE_ADDRESSES", setting)
    settings.PRIVATE_ADDRESSES = addresses = env.read().private_addresses
    assert addresses == who
    assert not actor.user.is_operator
    given = {"base_url": "http://10.0.0.7:8080/v1", "allow_private": True}
    if who == "owners":
        assert make(actor, **given).allow_private
    else:
        assert refused(make, actor, **given).code == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://[fd00:ec2::254]/v1",
        "http://100.100.100.200/v1",
        "http://[::ffff:169.254.169.254]/v1",
        "http://[64:ff9b::a9fe:a9fe]/v1",
    ],
)
def test_nobody_opens_the_addresses_where_clouds_keep_keys(
    url: str, actor: Actor, settings: Any
) -> None:
    settings.PRIVATE_ADDRESSES = "owners"
    sentence = refused(make, actor, base_url=url, allow_private=True)
    assert sentence.code == "REJECTED" and "add the line" in sentence.hint
