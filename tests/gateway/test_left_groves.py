"""Keys of whoever has left the grove whose models they call."""

import pytest
from django.test import Client

from agents.gateway.keys import find_caller, make_key
from loom.people.commands import groves
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


def test_a_key_stays_ended_when_its_person_leaves_and_comes_back(two_groves: TwoGroves) -> None:
    two = two_groves
    _, left = make_key(two.both, two.agent(two.left, name="Owl").uid, name="left")
    _, right = make_key(two.both, two.agent(two.right, name="Lark").uid, name="right")
    assert find_caller(left) and find_caller(right)
    owner = two.left.grove.memberships.get(role="owner").user
    actor = two.left.actor(owner)
    groves.remove_member(actor, two.both.username)
    groves.add_member(actor, two.both.username, "writer")
    assert find_caller(left) is None
    assert find_caller(right)
