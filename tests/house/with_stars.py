"""Uses the throwaway feature `stars`: run by `test_addition.py` in a copy of the program with its
folder and its line in the settings. Prints what was seen, in JSON."""

import html
import json
import re

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
call_command("migrate", verbosity=0)
call_command("firststart", verbosity=0)

from loom.access import get_actor  # noqa: E402
from loom.engine.context import Request  # noqa: E402
from loom.engine.execute import execute_line  # noqa: E402
from loom.engine.models import Event  # noqa: E402
from loom.engine.registry import listed  # noqa: E402
from loom.people.models import Grove, User  # noqa: E402
from loom.stars.models import Star  # type: ignore[import-not-found]  # noqa: E402
from loom.trees import erasing  # noqa: E402
from loom.trees.commands.trees import new_tree  # noqa: E402
from loom.trees.models import Tree  # noqa: E402

user, grove = User.objects.get(), Grove.objects.get()
actor = get_actor(user, grove)
tree = new_tree(actor, title="The tower")
client = Client()
client.force_login(user)


def reply_to(line: str) -> str:
    """The reply to a line in the tree."""
    return str(execute_line(actor, tree, Request(line)).body["reply"])


def kinds() -> list[str]:
    """The kinds of the events of stars, in order."""
    rows = Event.objects.filter(kind__startswith="star.").order_by("seq")
    return list(rows.values_list("kind", flat=True))


def pressed() -> int:
    """Sends what the button on the page of the tree says, as it is pressed; the status."""
    page = client.get(f"/trees/{tree.uid}").content.decode()
    call = re.search(r'data-call="([^"]*)">Star this text', page)
    assert call is not None
    body = html.unescape(call[1])
    address = f"/api/trees/{tree.uid}/commands"
    return client.post(address, body, content_type="application/json").status_code


seen: dict[str, object] = {
    "help": [command.syntax for command in listed() if command.verb == "star"]
}
many = [0]
reply_to('respond "The lamp was lit."')
seen["line"] = reply_to("star here")
for line in ("undo", "redo"):
    many.append(Star.objects.count())
    reply_to(line)
many.append(Star.objects.count())
seen["kinds"] = kinds()
seen["pressed"] = pressed()
many.append(Star.objects.count())
seen["taught"] = reply_to("help star").partition("\n")[0]
Tree.objects.filter(pk=tree.pk).update(erasing_at=tree.created_at)
erasing.erase_rows(tree.uid)
many.append(Star.objects.count())
print(json.dumps({**seen, "many": many}))
