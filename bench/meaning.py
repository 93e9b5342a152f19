"""Finding by meaning: how fast 100,000 texts are indexed and searched, and how often a paraphrase
finds its text among the first ten, by words alone and with meaning.

The paraphrases were written by hand, before the search was tuned, for texts of a real tree (the
samples beside the project). They are about what happens in a text, in other words.

Run: python -m bench.meaning [number of texts] [folder of samples]
"""

import json
import random
import resource
import sys
import time
from pathlib import Path
from statistics import median

from bench.installation import open_installation

PARAPHRASES: dict[str, str] = json.loads(Path(__file__).with_name("paraphrases.json").read_text())
WORDS = (
    "river tower lamp storm letter garden engine silver window harbour voice stone dream".split()
)


def _texts(count: int) -> list[str]:
    """Texts of 20 to 120 words, the same in each run."""
    dice = random.Random(7)
    return [
        f"{number} " + " ".join(dice.choices(WORDS, k=dice.randint(20, 120)))
        for number in range(count)
    ]


def speed(count: int) -> None:
    """Prints how long `count` texts take to be indexed, and a search among them."""
    from loom.meaning import indexing, queries
    from loom.people.models import Grove, Participant
    from loom.trees.models import Node, Tree

    grove = Grove.objects.create(name="Bench")
    who = Participant.objects.create(grove=grove, kind="human", name="Bench")
    tree = Tree.objects.create(grove=grove, title="Bench", mode="dialogue", maker=who)
    first = tree.pk << 32
    rows = []
    for at, text in enumerate(_texts(count), 1):
        rows.append(
            Node(
                id=first + at,
                tree=tree,
                local_id=f"n{at}",
                text=text,
                length=len(text),
                author=who,
                slot_id=first + at,
                depth=1,
                hash=f"{at:064}",
                created_at=tree.created_at,
            )
        )
    Node.objects.bulk_create(rows, batch_size=2000)
    del rows
    before, begun = time.process_time(), time.perf_counter()
    indexing.index_tree(tree.uid)
    print(
        f"{count:,} texts indexed in {time.process_time() - before:.1f} s of one core"
        f" ({time.perf_counter() - begun:.1f} s)"
    )
    dice, took, spent = random.Random(3), [], []
    for _ in range(60):
        query = " ".join(dice.choices(WORDS, k=5))
        begun, before = time.perf_counter(), time.process_time()
        queries.nearest_to_query(query, grove, [tree.pk], 400, True)
        spent.append((time.process_time() - before) * 1000)
        took.append((time.perf_counter() - begun) * 1000)
    took.sort()
    print(
        f"searched in {median(took):.0f} ms, p95 {took[56]:.0f} ms"
        f" ({median(spent):.0f} ms of one core)"
    )
    print(f"memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


def recall(samples: Path) -> None:
    """Prints how many paraphrases find their text among the first ten."""
    from loom.access import Actor
    from loom.meaning import indexing
    from loom.people.models import Grove, Participant, User
    from loom.search.filters import By
    from loom.search.queries import find_in_tree
    from loom.trees.models import Node, Tree

    file = samples / "pyloom" / "loom_demo.json"
    if not file.exists():
        print(f"no samples in {samples}: recall was not measured")
        return
    grove = Grove.objects.create(name="Samples")
    user = User.objects.create(username="bench")
    who = Participant.objects.create(grove=grove, kind="human", name="Sample", user=user)
    tree = Tree.objects.create(grove=grove, title="Sample", mode="dialogue", maker=who)
    names: dict[int, str] = {}
    waiting = [json.loads(file.read_text())["root"]]
    while waiting:
        node = waiting.pop()
        waiting += node.get("children", [])
        key = (tree.pk << 32) + len(names) + 1
        names[key] = str(node["id"])
        Node.objects.create(
            id=key,
            tree=tree,
            local_id=f"n{len(names)}",
            text=node.get("text", ""),
            length=len(node.get("text", "")),
            author=who,
            slot_id=key,
            depth=1,
            hash="",
            created_at=tree.created_at,
        )
    indexing.index_tree(tree.uid)
    actor = Actor(who, who, user, grove, "owner")
    known = set(names.values())
    asked = {name: wording for name, wording in PARAPHRASES.items() if name in known}
    print(f"{len(asked)} paraphrases, {len(names)} texts of {file.name}")
    ways: tuple[tuple[str, By], ...] = (
        ("words only", "words"),
        ("meaning only", "meaning"),
        ("blended", ""),
    )
    for title, by in ways:
        ranks = []
        for name, query in asked.items():
            result = find_in_tree(actor, tree, None, query, limit=10, by=by)
            hits = [names[hit.node.id] for hit in result.hits if hit.node is not None]
            ranks.append(hits.index(name) + 1 if name in hits else 0)
        count = sum(rank > 0 for rank in ranks)
        print(
            f"{title:13} recall@10 {count / len(ranks):.2f} ({count} of {len(ranks)}),"
            f" first {sum(rank == 1 for rank in ranks)}"
        )


def main() -> None:
    """Measures in a database of its own."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    samples = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("../shared/samples")
    open_installation()
    recall(samples)
    speed(count)


if __name__ == "__main__":
    main()
