"""The organisation at which tests sign people in."""

from collections.abc import Callable
from typing import Any

import pytest

from config.env import Saml
from tests.saml.organisation import HOST, Provider


@pytest.fixture(scope="module")
def organisation() -> Provider:
    """The provider of the organisation."""
    return Provider()


@pytest.fixture
def saml(organisation: Provider, settings: Any) -> Callable[..., None]:
    """Sets the organisation up, with what a test changes."""
    settings.ORIGINS = (f"https://{HOST}", "http://localhost:8000")
    settings.ALLOWED_HOSTS = [HOST, "localhost", "testserver"]
    settings.CSRF_TRUSTED_ORIGINS = [f"https://{HOST}"]

    def changed(**more: Any) -> None:
        given = {"name": "Sorbonne", "new": "anybody", **more}
        settings.SAML = Saml(metadata=organisation.metadata, **given)

    changed()
    return changed
