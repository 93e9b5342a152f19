"""Takes out of steps and of ended turns what nodes and generations hold, as new ones do.

In batches with a transaction each, so that it may be stopped and run again: what is done is
not found a second time. A reply that does not hold the text of a node stays as it is. The
formats are copied from loom.rules.quoting and loom.commands.turn_lifecycle of this time; only
whole texts are looked for, as a reply with the whole text is what costs.
"""

import hashlib

from django.db import migrations, transaction
from django.db.models.functions import Length

BATCH = 100
SHORTEST = 240
ENDED = ("done", "interrupted", "halted", "failed", "stopped")
KEPT = ("generation", "dropped", "notes", "changed")


def batches(rows):
    """The rows in order of id, read BATCH at a time."""
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:BATCH]):
        last = batch[-1].pk
        yield batch


def taken_out(message, texts):
    """The message without the whole texts in it, and where they were."""
    found = []
    for node, text in texts:
        at = message.find(text) if len(text) >= SHORTEST else -1
        free = all(at + len(text) <= one[0] or at >= one[0] + one[3] for one in found)
        if at >= 0 and free:
            sha256 = hashlib.sha256(text.encode(errors="replace")).hexdigest()
            found.append([at, node, 0, len(text), sha256])
    rest, used = [], 0
    for one in sorted(found):
        rest.append(message[used : one[0]])
        used = one[0] + one[3]
    return "".join([*rest, message[used:]]), sorted(found)


def steps(apps):
    Step, Node = apps.get_model("loom", "Step"), apps.get_model("loom", "Node")
    StepItem = apps.get_model("loom", "StepItem")
    rows = Step.objects.filter(outcome="ok", quoted__isnull=True)
    rows = rows.annotate(size=Length("message")).filter(size__gt=SHORTEST)
    for batch in batches(rows.only("id", "message", "quoted")):
        touched = {}
        items = StepItem.objects.filter(step__in=[one.pk for one in batch])
        for step, item in items.values_list("step_id", "item_id"):
            touched.setdefault(step, []).append(item)
        keys = {item for every in touched.values() for item in every}
        texts = dict(Node.objects.filter(pk__in=keys).values_list("pk", "text"))
        changed = []
        for one in batch:
            mine = [(key, texts[key]) for key in touched.get(one.pk, ()) if key in texts]
            message, quoted = taken_out(one.message, mine)
            if quoted:
                one.message, one.quoted = message, quoted
                changed.append(one)
        with transaction.atomic():
            Step.objects.bulk_update(changed, ["message", "quoted"])


def rounds(apps):
    Turn, Generation = apps.get_model("loom", "Turn"), apps.get_model("loom", "Generation")
    rows = Turn.objects.filter(status__in=ENDED).exclude(rounds=[]).select_related("node")
    for batch in batches(rows.only("id", "rounds", "node__text")):
        changed = []
        for turn in batch:
            if all("text" not in one for one in turn.rounds):
                continue
            turn.rounds = [ended_round(one) for one in turn.rounds]
            changed.append(turn)
        with transaction.atomic():
            Turn.objects.bulk_update(changed, ["rounds"])
            for turn in changed:
                if turn.node is not None:
                    name_answer(Turn, Generation, turn)


def ended_round(kept):
    told = [{key: value for key, value in one.items() if key != "reply"} for one in kept["told"]]
    # What came after the cut of a round is not shown: `text` is what was used of it.
    length = kept.get("length", len(kept["text"]))
    return {**{key: kept.get(key) for key in KEPT}, "length": length, "told": told}


def name_answer(Turn, Generation, turn):
    """Of the rounds that are the answer to the letter, only the node keeps the text."""
    uids = [one["generation"] for one in turn.rounds]
    for said in Generation.objects.filter(uid__in=uids).exclude(text=""):
        if said.text.strip() != turn.node.text:
            continue
        for one in turn.rounds:
            if one["generation"] == said.uid:
                one["is_answer"] = True
        Turn.objects.filter(pk=turn.pk).update(rounds=turn.rounds)
        Generation.objects.filter(pk=said.pk).update(text="")


def forward(apps, schema_editor):
    steps(apps)
    rounds(apps)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("loom", "0051_requests_packed")]

    operations = [migrations.RunPython(forward, migrations.RunPython.noop, elidable=True)]
