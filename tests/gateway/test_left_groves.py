"""Keys of whoever has left the grove whose models they call."""

import pytest
from django.test import Client

from agents.gateway.keys import make_key
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def test_whoever_has_left_is_not_told_what_models_are_called_now(two_groves: TwoGroves) -> None:
    two = two_groves
    agent = two.agent(two.left, name="Owl")
    make_key(two.both, agent.uid, name="my program")
    client = Client()
    client.force_login(two.both)
    page = client.get("/settings/gateway").content.decode()
    assert "my program" in page and "calls Owl of" in page
    two.left.grove.memberships.filter(user=two.both).delete()
    page = client.get("/settings/gateway").content.decode()
    assert "my program" in page and "Owl" not in page
