"""Every spelling of an address that a provider may not have, with and without an entry."""

import pytest

from loom.participants.addresses import read_url, why_refused

PUBLIC = [
    "https://api.example.com/v1",
    "https://api.example.com",
    "https://API.Example.COM./v1",
    "https://api.example.com:8443/v1/",
    "https://8.8.8.8/v1",
    "https://[2606:4700:4700::1111]/v1",
    "https://xn--bcher-kva.example/v1",
    "https://a_b.example.com/v1",
]

# What is refused until the entry beside it is allowed.
PRIVATE = [
    ("http://127.0.0.1:9999/v1", "127.0.0.1:9999"),
    ("https://127.0.0.1/v1", "127.0.0.1:443"),
    ("http://127.8.8.8/", "127.0.0.0/8"),
    ("http://localhost:11434/v1", "localhost:11434"),
    ("http://localhost:11434/v1", "127.0.0.1:11434"),
    ("http://localhost.:11434/v1", "localhost:11434"),
    ("https://localhost/v1", "localhost"),
    ("http://foo.localhost:5/v1", "foo.localhost:5"),
    ("http://[::1]:9999/v1", "[::1]:9999"),
    ("http://[::1]:9999/v1", "::1"),
    ("http://[0:0:0:0:0:0:0:1]:9999/", "[::1]:9999"),
    ("http://[::ffff:127.0.0.1]:9999/v1", "127.0.0.1:9999"),
    ("https://[::ffff:7f00:1]/v1", "127.0.0.1"),
    ("https://[::ffff:10.0.0.1]/", "10.0.0.0/8"),
    ("https://10.0.0.1/v1", "10.0.0.1"),
    ("https://172.16.0.1/v1", "172.16.0.0/12"),
    ("https://192.168.1.20:8443/v1", "192.168.1.20:8443"),
    ("https://0.0.0.0/v1", "0.0.0.0"),
    ("https://[::]/v1", "::"),
    ("https://100.64.1.1/v1", "100.64.0.0/10"),
    ("https://169.254.169.254/latest/meta-data", "169.254.169.254"),
    ("http://169.254.169.254/latest/meta-data", "169.254.0.0/16"),
    ("https://[::ffff:169.254.169.254]/", "169.254.169.254"),
    ("https://[fe80::1]/", "fe80::/10"),
    ("https://[fd00:ec2::254]/", "fd00:ec2::254"),
    ("https://100.100.100.200/", "100.100.100.200"),
    ("https://[fc00::1]/", "fc00::/7"),
    ("https://[fd12:3456::1]/", "fd12:3456::/32"),
    ("https://224.0.0.1/", "224.0.0.1"),
    ("https://[ff02::1]/", "ff02::1"),
    ("https://240.0.0.1/", "240.0.0.0/4"),
    ("https://255.255.255.255/", "255.255.255.255"),
    ("https://192.0.2.1/", "192.0.2.0/24"),
    ("https://198.18.0.1/", "198.18.0.0/15"),
    ("https://[64:ff9b::7f00:1]/", "64:ff9b::/96"),
    ("https://[2002:7f00:1::]/", "2002::/16"),
    ("https://[2001:0:7f00:1::]/", "2001::/32"),
    ("https://[2001:db8::1]/", "2001:db8::/32"),
    ("https://[::127.0.0.1]/", "::/96"),
    ("https://[fec0::1]/", "fec0::/10"),
    ("https://[64:ff9b:1::7f00:1]/", "64:ff9b:1::/48"),
    ("https://[::ffff:0:127.0.0.1]/", "::ffff:0:0:0/96"),
    ("https://[4000::1]/", "4000::1"),
    ("https://192.0.0.8/", "192.0.0.0/24"),
    ("https://192.88.99.1/", "192.88.99.1"),
    ("http://8.8.8.8/v1", "8.8.8.8:80"),
    ("http://api.example.com/v1", "api.example.com:80"),
    ("http://api.example.com/v1", "API.example.com"),
    ("http://ollama:11434/v1", "ollama:11434"),
    ("https://metadata.google.internal/", "metadata.google.internal"),
    ("https://printer.local/v1", "printer.local:443"),
]

# What no entry opens.
NEVER = [
    "",
    "api.example.com/v1",
    "//api.example.com/v1",
    "ftp://api.example.com/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:6379/_INFO",
    "unix:///run/docker.sock",
    "https://",
    "https:///v1",
    "https://user@api.example.com/v1",
    "https://user:word@api.example.com/v1",
    "https://api.example.com@127.0.0.1/v1",
    "https://127.0.0.1\\@api.example.com/v1",
    "https://api.example.com /v1",
    "https://api.example.com\r\nHost: 127.0.0.1/v1",
    "https://api.example.com/v1\x00",
    "https://api.example.com/v1?key=1",
    "https://api.example.com/v1?",
    "https://api.example.com/v1#there",
    "https://api.example.com:0/v1",
    "https://api.example.com:99999/v1",
    "https://api.example.com:x/v1",
    "http://0x7f.1/v1",
    "http://0x7f000001/v1",
    "http://0177.0.0.1/v1",
    "http://2130706433/v1",
    "http://127.1/v1",
    "http://127.0.0.1.1/v1",
    "http://127.0.0.0x1/v1",
    "http://１２７.0.0.1/v1",
    "http://①②⑦.0.0.1/v1",
    "https://bücher.example/v1",
    "https://a..example.com/v1",
    "https://-a.example.com/v1",
    "https://[::1/v1",
    "https://[fe80::1%25eth0]/v1",
    "https://[v1.x]/v1",
    "https://%31%32%37.0.0.1/v1",
]


@pytest.mark.parametrize("url", PUBLIC)
def test_a_public_https_address_may_be_called(url: str) -> None:
    assert why_refused(url, ()) == ""


@pytest.mark.parametrize(("url", "entry"), PRIVATE)
def test_a_private_or_plain_address_needs_its_entry(url: str, entry: str) -> None:
    assert "HEDDLE_PROVIDER_ALLOW=" in why_refused(url, ())
    assert why_refused(url, ("other.example:1", entry)) == ""


@pytest.mark.parametrize("url", NEVER)
def test_some_addresses_no_entry_opens(url: str) -> None:
    everything = ("0.0.0.0/0", "::/0", "api.example.com", "127.0.0.1", "localhost")
    assert why_refused(url, everything) != ""


def test_the_sentence_holds_the_line_to_add() -> None:
    reason = why_refused("http://127.0.0.1:9999/v1", ())
    assert reason == (
        "http://127.0.0.1:9999 may not be called: 127.0.0.1 is a loopback address. "
        "To allow it, add HEDDLE_PROVIDER_ALLOW=127.0.0.1:9999"
    )


@pytest.mark.parametrize("url", [url for url, _ in PRIVATE])
def test_the_line_to_add_allows_what_was_refused(url: str) -> None:
    entry = why_refused(url, ()).rsplit("=", 1)[1]
    assert why_refused(url, (entry,)) == ""


def test_an_entry_for_one_port_opens_no_other() -> None:
    assert why_refused("http://127.0.0.1:9998/v1", ("127.0.0.1:9999",)) != ""
    assert why_refused("http://localhost:9998/v1", ("127.0.0.1:9999",)) != ""


def test_a_name_that_is_allowed_does_not_open_the_metadata_address() -> None:
    from ipaddress import ip_address

    from loom.participants.addresses import why_not_address

    target = read_url("http://ollama:11434/v1")
    allow = ("ollama:11434",)
    assert why_not_address(ip_address("10.1.2.3"), target, allow) == ""
    for address in ("169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192"):
        assert "metadata" in why_not_address(ip_address(address), target, allow)


@pytest.mark.parametrize(
    "address",
    [
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::",
        "::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2001:0:a9fe:a9fe::1",
    ],
)
def test_a_name_that_is_allowed_does_not_open_the_metadata_address_inside_another(
    address: str,
) -> None:
    from ipaddress import ip_address

    from loom.participants.addresses import why_not_address

    target = read_url("http://ollama:11434/v1")
    assert "metadata" in why_not_address(ip_address(address), target, ("ollama:11434",))


def test_an_entry_that_is_not_an_address_opens_nothing() -> None:
    assert why_refused("http://127.0.0.1:1/", ("127.0.0.1:1/33", "127.0.0.256", "::g")) != ""
