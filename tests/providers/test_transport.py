"""The checked transport: what it connects to, and what it never does."""

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agents.providers import transport as room
from agents.providers.transport import CheckedTransport, ask_system, checked_addresses
from agents.providers.values import BrokenConnection
from loom.participants.addresses import read_url
from tests.providers.asking import ask, chat, failure_of
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import redirects


class Resolver:
    """Answers from a list, one answer after the other, and counts the questions."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


async def post(transport: CheckedTransport, url: str) -> httpx.Response:
    request = httpx.Request("POST", url, content=b"{}")
    response = await transport.handle_async_request(request)
    await response.aread()
    return response


@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["10.0.0.5"],
        ["169.254.169.254"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["fe80::1%eth0"],
        ["8.8.8.8", "192.168.0.1"],
        ["64:ff9b::7f00:1"],
    ],
)
async def test_a_public_name_with_a_private_address_is_refused(answer: list[str]) -> None:
    target = read_url("https://api.example.com/v1")
    with pytest.raises(BrokenConnection) as broken:
        await checked_addresses(target, (), Resolver(answer))
    assert broken.value.failure.kind == "refused"
    assert "HEDDLE_PROVIDER_ALLOW=" in broken.value.failure.said


@pytest.mark.parametrize("answer", [[], ["nonsense"]])
async def test_a_name_without_an_address_is_a_network_failure(answer: list[str]) -> None:
    with pytest.raises(BrokenConnection) as broken:
        await checked_addresses(read_url("https://api.example.com"), (), Resolver(answer))
    assert broken.value.failure.kind == "network"


async def test_the_systems_resolver_knows_localhost() -> None:
    assert "127.0.0.1" in await ask_system("localhost", 80)


async def test_a_name_is_resolved_once_and_the_checked_address_is_called(
    provider: ScriptedProvider,
) -> None:
    # A rebinding resolver: allowed at the check, elsewhere at a second question.
    resolver = Resolver(["127.0.0.1"], ["169.254.169.254"])
    port = provider.entry.rsplit(":", 1)[1]
    transport = CheckedTransport((f"models.test:{port}",), resolver)
    response = await post(transport, f"http://models.test:{port}/v1/chat/completions")
    assert response.status_code == 200
    assert resolver.asked == ["models.test"]
    assert provider.seen[0].header("host") == f"models.test:{port}"
    with pytest.raises(BrokenConnection):
        await post(transport, f"http://models.test:{port}/v1/chat/completions")


async def test_a_redirect_is_never_followed(provider: ScriptedProvider) -> None:
    trap = ScriptedProvider()
    with trap:
        provider.script(redirects(f"{trap.url}/chat/completions"))
        told, _ = await ask(provider, chat(provider))
        assert "redirect" in failure_of(told).said
        provider.script(redirects("http://169.254.169.254/latest/meta-data"))
        told, _ = await ask(provider, chat(provider))
        assert "169.254.169.254" in failure_of(told).said
        assert not trap.seen


async def test_a_proxy_of_the_environment_is_not_used(
    provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    await ask(provider, chat(provider))
    assert len(provider.seen) == 1


async def test_an_address_that_is_not_allowed_is_never_connected_to(
    provider: ScriptedProvider,
) -> None:
    transport = CheckedTransport(())
    with pytest.raises(BrokenConnection) as broken:
        await post(transport, f"{provider.url}/chat/completions")
    assert f"HEDDLE_PROVIDER_ALLOW={provider.entry}" in broken.value.failure.said
    assert provider.connections == 0


async def test_the_next_address_is_tried_where_one_takes_no_connection(
    provider: ScriptedProvider,
) -> None:
    port = provider.entry.rsplit(":", 1)[1]
    resolver = Resolver(["::1", "127.0.0.1"])  # the provider listens on the second alone
    transport = CheckedTransport(("models.test",), resolver)
    assert (await post(transport, f"http://models.test:{port}/v1/x")).status_code == 200


async def test_a_private_connection_is_not_used_twice(provider: ScriptedProvider) -> None:
    transport = CheckedTransport((provider.entry,))
    for _ in range(3):
        await post(transport, f"{provider.url}/chat/completions")
    assert provider.connections == 3


def certificate(folder: Path, name: str) -> Path:
    """A certificate for `name` that vouches for itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + signed.public_bytes(serialization.Encoding.PEM)
    )
    return file


async def test_tls_asks_for_and_checks_the_name_not_the_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = certificate(tmp_path, "models.test")
    inside = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    inside.load_cert_chain(file)
    names: list[str] = []
    inside.sni_callback = lambda sock, name, context: names.append(name or "")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=inside)
    port = server.sockets[0].getsockname()[1]
    monkeypatch.setattr(room, "_trusted", lambda: ssl.create_default_context(cafile=str(file)))
    allow = ("models.test", "other.test")
    transport = CheckedTransport(allow, Resolver(["127.0.0.1"]))
    assert (await post(transport, f"https://models.test:{port}/v1")).content == b"ok"
    with pytest.raises(httpx.ConnectError):
        await post(transport, f"https://other.test:{port}/v1")
    server.close()
    assert names == ["models.test", "other.test"]
