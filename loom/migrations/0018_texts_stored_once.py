"""Takes out of the log what a node holds: events, steps, receipts and generations that were
written before each repeated the text of a node. They name it now, as new ones do.

In batches with a transaction each, so that it may be stopped and run again: what is done is
not found a second time. A text that does not fit its node stays as it is. The formats are
copied from loom.queries.node_bodies and loom.grammar.lines of this time.
"""

import hashlib

from django.db import migrations, models, transaction
from django.db.models.functions import Length

BATCH = 100
STORED_WHOLE = 240
BEGINNING = 80


def named(text):
    words = text[:240].replace('"', "'").replace("\\", "/").split()
    first = " ".join(words[:8])[:60].rstrip()
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return f'"{first}…" ({len(text):,} characters, sha256 {digest})'


def block_of(canonical):
    return canonical.partition("\n")[2].removesuffix("\n←")


def shortened(canonical, block):
    return f"{canonical.partition(chr(10))[0]} {named(block)}"


def batches(rows):
    """The rows in order of id, read BATCH at a time."""
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:BATCH]):
        last = batch[-1].pk
        yield batch


class Unguarded:
    """Lets events be changed. Inside one transaction, so that the guard is never missing."""

    DROP = {
        "sqlite": "DROP TRIGGER loom_event_no_update",
        "postgresql": "ALTER TABLE loom_event DISABLE TRIGGER loom_event_append_only",
    }
    MAKE = {
        "sqlite": """CREATE TRIGGER loom_event_no_update BEFORE UPDATE ON loom_event BEGIN
            SELECT RAISE(ABORT, 'events are never changed');
        END""",
        "postgresql": "ALTER TABLE loom_event ENABLE TRIGGER loom_event_append_only",
    }

    def __init__(self, connection):
        self.connection = connection

    def __enter__(self):
        self.run(self.DROP)

    def __exit__(self, kind, *_):
        if kind is None:  # else the transaction is rolled back, and the guard with it
            self.run(self.MAKE)

    def run(self, statements):
        with self.connection.cursor() as cursor:
            if self.connection.vendor == "postgresql":
                # A table cannot be altered while deferred checks of its rows wait.
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute(statements[self.connection.vendor])


def events(apps, connection):
    Event, Node = apps.get_model("loom", "Event"), apps.get_model("loom", "Node")
    rows = Event.objects.filter(kind="node.added").only("id", "payload")
    for batch in batches(rows):
        full = [one for one in batch if "text" in one.payload["node"]]
        found = {}
        for uid in {one.payload["node"]["tree"] for one in full}:
            ids = [one.payload["node"]["id"] for one in full]
            nodes = Node.objects.filter(tree__uid=uid, local_id__in=ids)
            for name, text, blocks in nodes.values_list("local_id", "text", "blocks"):
                content = [{"type": "text", "text": text}] if blocks is None else blocks
                found[uid, name] = (text, content)
        changed = []
        for one in full:
            body = one.payload["node"]
            if found.get((body["tree"], body["id"])) == (body["text"], body["content"]):
                one.payload = {**one.payload, "node": without_text(body)}
                changed.append(one)
        if changed:
            with transaction.atomic(), Unguarded(connection):
                Event.objects.bulk_update(changed, ["payload"])


def without_text(body):
    kept = {key: value for key, value in body.items() if key not in ("text", "content")}
    kept["proof"] = {key: value for key, value in body["proof"].items() if key != "content"}
    return {**kept, "length": len(body["text"]), "begins": body["text"][:BEGINNING]}


def steps(apps):
    Step, Node = apps.get_model("loom", "Step"), apps.get_model("loom", "Node")
    rows = Step.objects.filter(outcome="ok", inverse__isnull=False)
    rows = rows.annotate(size=Length("canonical")).filter(size__gt=STORED_WHOLE)
    for batch in batches(rows.only("id", "line", "canonical", "items")):
        touched = {int(item[1:]) for one in batch for item in one.items if item[0] == "n"}
        texts = dict(Node.objects.filter(pk__in=touched).values_list("pk", "text"))
        changed = []
        for one in batch:
            block = block_of(one.canonical)
            nodes = [texts.get(int(item[1:]), "") for item in one.items if item[0] == "n"]
            if len(block) <= STORED_WHOLE or not any(block in text for text in nodes):
                continue
            one.canonical = shortened(one.canonical, block)
            is_found = block in one.line
            one.line = one.line.replace(block, named(block)) if is_found else one.canonical
            changed.append(one)
        with transaction.atomic():
            Step.objects.bulk_update(changed, ["line", "canonical"])


def receipts(apps):
    Receipt, Node = apps.get_model("loom", "Receipt"), apps.get_model("loom", "Node")
    for batch in batches(Receipt.objects.only("id", "tree_id", "answer")):
        changed = []
        for one in batch:
            canonical = one.answer.get("canonical", "")
            block = block_of(canonical)
            if len(block) <= STORED_WHOLE:
                continue
            nodes = Node.objects.filter(tree=one.tree_id, local_id__in=one.answer["refs"])
            if any(block in text for text in nodes.values_list("text", flat=True)):
                one.answer = {**one.answer, "canonical": shortened(canonical, block)}
                changed.append(one)
        with transaction.atomic():
            Receipt.objects.bulk_update(changed, ["answer"])


def generations(apps):
    Generation = apps.get_model("loom", "Generation")
    rows = Generation.objects.exclude(text="").filter(node__text=models.F("text"))
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            Generation.objects.filter(pk__in=ids).update(text="")


def forward(apps, schema_editor):
    events(apps, schema_editor.connection)
    steps(apps)
    receipts(apps)
    generations(apps)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("loom", "0017_node_content_guard")]

    operations = [migrations.RunPython(forward, migrations.RunPython.noop)]
