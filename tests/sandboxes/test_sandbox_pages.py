"""The pages of sandboxes: beginning one at a text, the band in it, promoting and discarding."""

import pytest
from django.test import Client

from loom.trees.models import Node, Tree
from tests.sandboxes.test_sandboxes import say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def _client(two: TwoGroves) -> Client:
    client = Client()
    client.force_login(two.both)
    return client


def test_a_sandbox_is_begun_promoted_and_left_from_the_page(two_groves: TwoGroves) -> None:
    two = two_groves
    client, at = _client(two), two.left.text.local_id
    tree = f"/trees/{two.left.tree.uid}"
    offered = client.get(f"{tree}?node={at}").content.decode()
    assert f'href="{tree}/sandbox?node={at}"' in offered and "Only you see this." not in offered
    form = client.get(f"{tree}/sandbox?node={at}").content.decode()
    assert "Begin one at this text" in form
    began = client.post(f"{tree}/sandbox?node={at}", {"node": at, "label": "Trials", "days": "3"})
    sandbox = Tree.objects.get(sandbox_of=two.both)
    assert began.headers["location"] == f"/trees/{sandbox.uid}"
    inside = client.get(f"/trees/{sandbox.uid}").content.decode()
    assert "Only you see this." in inside and "Promote" in inside and "Discard" in inside
    assert "sandbox?node=" not in inside  # none begins in another
    say(two.left.actor(two.both), sandbox, 'respond "It wakes."')
    about = client.get(f"/trees/{sandbox.uid}/sandbox").content.decode()
    assert "1 text or note was written in it." in about and f"{tree}?node={at}" in about
    listed = client.get(f"{tree}/sandbox").content.decode()
    assert "Trials" in listed and f"at “{two.left.text.text[:20]}" in listed
    done = client.post(f"/trees/{sandbox.uid}/sandbox", {"act": "promote"})
    assert done.headers["location"] == f"{tree}?node={at}"
    assert Node.objects.filter(tree=two.left.tree, text="It wakes.").exists()
    left = client.get(f"/trees/{sandbox.uid}").content.decode()
    assert "This sandbox has ended." in left and "Discard" not in left


def test_a_refusal_is_shown_and_discard_leads_to_the_trees(two_groves: TwoGroves) -> None:
    two = two_groves
    client, at = _client(two), two.left.text.local_id
    page = f"/trees/{two.left.tree.uid}/sandbox?node={at}"
    client.post(page, {"node": at, "days": "900"})
    assert not Tree.objects.filter(sandbox_of=two.both).exists()
    assert "at most 90" in client.get(page).content.decode()
    client.post(page, {"node": at})
    sandbox = Tree.objects.get(sandbox_of=two.both)
    refused = client.post(f"/trees/{sandbox.uid}/sandbox", {"act": "promote"}, follow=True)
    assert "Nothing was written in this sandbox." in refused.content.decode()
    gone = client.post(f"/trees/{sandbox.uid}/sandbox", {"act": "discard"})
    assert gone.headers["location"] == f"/groves/{two.left.grove.uid}"
    sandbox.refresh_from_db()
    assert sandbox.archived_at is not None
