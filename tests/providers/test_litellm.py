"""LiteLLM behind our own adapter, against a scripted provider over real HTTP."""

import pytest

from agents.providers.attempt import ProviderAttempt
from agents.providers.litellm import LiteLLMTransport
from agents.providers.openai import LiteLLM
from agents.providers.transport import Limits
from agents.providers.values import ProviderRequest, StreamEvent
from tests.providers.asking import LATER, ask, ask_as_time_passes, failure_of, is_whole, text_of
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import (
    Script,
    cuts,
    fails,
    never_ends,
    redirects,
    says,
    stalls,
    tokens,
)

KEY = "sk-of-a-test"


async def litellm(
    provider: ScriptedProvider, limits: Limits = LATER, *, allow: bool = True
) -> tuple[list[StreamEvent], ProviderAttempt]:
    transport = LiteLLMTransport((provider.entry,) if allow else ())
    return await ask(provider, ask_of(provider), limits, LiteLLM(), transport)


def ask_of(provider: ScriptedProvider) -> ProviderRequest:
    messages = ({"role": "user", "content": "Who is Marie?"},)
    return ProviderRequest(
        provider.url, "openai/m", messages, None, temperature=0.5, max_tokens=9, key=KEY
    )


async def test_a_chat_is_asked_and_read(provider: ScriptedProvider) -> None:
    provider.script(tokens(5))
    told, attempt = await litellm(provider)
    sent = provider.seen[0]
    assert (sent.path, sent.json["model"]) == ("/v1/chat/completions", "m")
    assert sent.json["messages"] == [{"role": "user", "content": "Who is Marie?"}]
    assert (sent.json["temperature"], sent.json["max_tokens"]) == (0.5, 9)
    assert (text_of(told), is_whole(told)) == ("word1 word2 word3 word4 word5 ", True)
    assert attempt.usage["completion_tokens"] == 5


async def test_what_is_kept_is_marked_as_put_together_and_holds_no_key(
    provider: ScriptedProvider,
) -> None:
    _, attempt = await litellm(provider)
    body, is_exact = attempt.received
    assert body and not is_exact
    assert KEY.encode() not in body
    assert KEY not in str(attempt.request)


@pytest.mark.parametrize(
    ("script", "kinds"),
    [
        (fails(401, "bad key", code="invalid_api_key"), {"auth"}),
        (fails(429, "slow down", code="rate_limit_exceeded"), {"rate"}),
        (fails(500, "broken"), {"server"}),
        (fails(404, "no such model"), {"not_found"}),
        (cuts("a"), {"network", "server"}),
    ],
)
async def test_failures_are_reported_by_their_kind(
    provider: ScriptedProvider, script: Script, kinds: set[str]
) -> None:
    provider.default = script
    told, _ = await litellm(provider)
    assert failure_of(told).kind in kinds


async def test_without_a_key_of_its_own_nobody_is_asked(
    provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-operator")
    asked = ProviderRequest(provider.url, "openai/m", ({"role": "user", "content": "x"},), None)
    transport = LiteLLMTransport((provider.entry,))
    told, _ = await ask(provider, asked, LATER, LiteLLM(), transport)
    assert failure_of(told).kind == "refused"
    assert "key of its own" in failure_of(told).said
    assert provider.seen == []


@pytest.mark.parametrize(
    "model",
    [
        *("text-completion-openai/m", "custom/m", "nlp_cloud/m", "ollama/m", "sagemaker/m"),
        *("gpt-4o", "openai/", "openai/responses/gpt-5", "openai/o1-pro", "openai/tts-1"),
    ],
)
async def test_what_is_not_proven_to_stay_at_its_address_is_not_asked(
    model: str, provider: ScriptedProvider
) -> None:
    asked = ProviderRequest(provider.url, model, ({"role": "user", "content": "x"},), None, key=KEY)
    transport = LiteLLMTransport((provider.entry,))
    told, _ = await ask(provider, asked, LATER, LiteLLM(), transport)
    assert failure_of(told).kind == "refused"
    assert provider.seen == []


async def test_no_traceback_is_reported(provider: ScriptedProvider) -> None:
    provider.default = fails(500, 'broken Traceback (most recent call last): File "/x.py", line 1')
    told, _ = await litellm(provider)
    assert "broken" in failure_of(told).said
    assert "Traceback" not in failure_of(told).said and "x.py" not in failure_of(told).said


async def test_a_private_address_is_not_asked(provider: ScriptedProvider) -> None:
    told, _ = await litellm(provider, allow=False)
    assert failure_of(told).kind == "refused"
    assert provider.seen == []


@pytest.mark.parametrize("status", [302, 307, 308])
async def test_nobody_is_redirected_to_an_address_that_may_not_be_called(
    status: int, provider: ScriptedProvider
) -> None:
    with ScriptedProvider() as inside:
        provider.default = redirects(f"{inside.url}/chat/completions", status)
        told, _ = await litellm(provider)
        assert failure_of(told)
        assert inside.seen == []


async def test_no_proxy_of_the_environment_is_asked(
    provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ScriptedProvider() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url.removesuffix("/v1"))
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        told, _ = await litellm(provider)
        assert is_whole(told)
        assert proxy.seen == []


async def test_silence_and_endless_talk_end_by_the_same_limits(
    provider: ScriptedProvider,
) -> None:
    for script, seconds in ((stalls("on "), 601), (never_ends(rate=50), 3601)):
        provider.script(script)
        transport = LiteLLMTransport((provider.entry,))
        told = await ask_as_time_passes(
            provider, ask_of(provider), seconds, adapter=LiteLLM(), transport=transport
        )
        assert failure_of(told).kind == "timeout" and text_of(told).startswith("on ")
    provider.wait_for_break()


async def test_text_is_the_same_as_by_the_own_adapter(provider: ScriptedProvider) -> None:
    pieces = ("→ 漢 ", "👩‍🚀", " \n\n", "  end ")
    provider.script(says(*pieces), says(*pieces))
    messages = ({"role": "user", "content": "x"},)
    own, _ = await ask(provider, ProviderRequest(provider.url, "m", messages, None))
    theirs, _ = await litellm(provider)
    assert text_of(own) == text_of(theirs) == "".join(pieces)
