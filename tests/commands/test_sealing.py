"""Provider keys at rest."""

import pytest
from django.test import override_settings

from loom.errors import CommandError
from loom.participants.provider_keys import open_sealed, seal


def test_a_sealed_key_opens_for_its_own_address() -> None:
    sealed = seal("sk-secret", "https://api.example.com/v1")
    assert "sk-secret" not in sealed
    assert open_sealed(sealed, "https://api.example.com/v1/") == "sk-secret"


def test_a_sealed_key_does_not_open_for_another_address() -> None:
    sealed = seal("sk-secret", "https://api.example.com/v1")
    for other in ("https://evil.example/v1", "http://api.example.com/v1", ""):
        with pytest.raises(CommandError, match="another address"):
            open_sealed(sealed, other)


def test_a_changed_secret_or_a_broken_seal_is_refused() -> None:
    sealed = seal("sk-secret", "https://api.example.com/v1")
    with (
        override_settings(SECRET_KEY="another secret of thirty-two characters"),
        pytest.raises(CommandError, match="can't be decrypted"),
    ):
        open_sealed(sealed, "https://api.example.com/v1")
    with pytest.raises(CommandError, match="can't be decrypted"):
        open_sealed("rubbish", "https://api.example.com/v1")


def test_two_seals_of_one_key_differ() -> None:
    assert seal("k", "https://a.example") != seal("k", "https://a.example")
