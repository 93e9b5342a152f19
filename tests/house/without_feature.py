"""Begins a grove where features, named by their apps, are not there, and looks at what people see:
run by `test_removal.py` in a copy of the program. Prints one line for each thing that was seen."""

import sys

import django

django.setup()

from django.apps import apps  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

call_command("check")
call_command("migrate", verbosity=0)
call_command("firststart")

from loom.access import get_actor  # noqa: E402
from loom.engine.context import Request  # noqa: E402
from loom.engine.execute import execute_line  # noqa: E402
from loom.errors import CommandError  # noqa: E402
from loom.people.models import Grove, User  # noqa: E402
from loom.trees.commands.trees import new_tree  # noqa: E402
from loom.trees.models import Node  # noqa: E402

assert not any(apps.is_installed(name) for name in sys.argv[1:])
user, grove = User.objects.get(), Grove.objects.get()
actor = get_actor(user, grove)
tree = new_tree(actor, title="The tower")


def reply_to(line: str) -> str:
    """The reply to a line in the tree, or why it is refused."""
    try:
        return str(execute_line(actor, tree, Request(line)).body["reply"])
    except CommandError as refused:
        return f"✗ {refused.code}: {refused.message}"


reply_to('respond "The lamp was lit."')
node = Node.objects.get(tree=tree, text="The lamp was lit.")
for line in (
    "view here",
    'annotate here as:question "Who lit it?"',
    "bookmark here",
    "tag here #lamp",
    "list bookmarks",
    f'claim "A lamp was lit." cite:{node.local_id}',
    f"link {node.local_id} to root",
    "open here",
    "memory",
    'find "lamp"',
    "digest",
    "augment list",
    'view doc:"notes"',
    "explore here by:check rounds:1",
):
    print(line, "→", reply_to(line).partition("\n")[0])

client = Client()
client.force_login(user)
for address in (
    "/",
    f"/groves/{grove.uid}",
    f"/groves/{grove.uid}/checks",
    f"/groves/{grove.uid}?q=lamp",
    f"/trees/{tree.uid}",
    f"/trees/{tree.uid}?node={node.local_id}",
    f"/trees/{tree.uid}/about",
    f"/trees/{tree.uid}/claims",
    f"/api/trees/{tree.uid}/path",
    f"/api/groves/{grove.uid}/search?q=lamp",
    f"/groves/{grove.uid}/settings",
    f"/groves/{grove.uid}/choices",
    f"/trees/{tree.uid}/models",
    f"/trees/{tree.uid}/explorations",
    f"/trees/{tree.uid}/nodes/{node.local_id}/tokens",
    f"/api/trees/{tree.uid}/export?format=zip",
    "/api/schema/",
    f"/groves/{grove.uid}/documents",
    "/api/documents",
):
    answer = client.get(address)
    shown = address.replace(tree.uid, "T").replace(grove.uid, "G").replace(node.local_id, "N")
    print(shown, answer.status_code)
