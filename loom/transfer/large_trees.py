"""What a large tree contains, counted by the database for the preview of an export."""

from collections import Counter

from django.db.models import Count, F, Q, Sum

from loom.links.models import Link
from loom.notes.models import Mark
from loom.text.images import IMAGE_SIGN, hashes_in
from loom.trees.models import Tree
from loom.trees.queries.lookup import nodes_in

_TEXTS = Q(kind="text", slot=F("pk"), pruned=False, sandbox=False)
_BELOW = Q(slot=F("pk"), pruned=False)


def counts_of_tree(tree: Tree) -> Counter[str]:
    """The numbers of things in a whole tree, by the names that an export has for them, with
    `nodes` and `characters`, which are those of first versions. Also those in parts that are
    pruned: which those are takes longer to find than a page may take (a minute with 1,000,000
    nodes)."""
    nodes = nodes_in(tree.pk)
    # Of other names than columns have.
    found = nodes.aggregate(
        of_nodes=Count("pk", filter=_TEXTS & Q(length__gt=0)),
        of_characters=Sum("length", filter=_TEXTS, default=0),
        of_times=Count("pk", filter=_TEXTS),
        of_versions=Count("pk", filter=Q(kind="text") & ~Q(slot=F("pk"))),
        of_excluded=Count("pk", filter=_TEXTS & Q(excluded=True)),
        of_notes=Count("pk", filter=_BELOW & Q(kind="annotation")),
        of_thoughts=Count("pk", filter=_BELOW & Q(kind="thought")),
        of_calls=Count("call_uid", filter=~Q(call_uid=""), distinct=True),
        of_pruned=Count("pk", filter=Q(kind="text", pruned=True, sandbox=False)),
        of_sandbox=Count("pk", filter=Q(kind="text", pruned=False, sandbox=True)),
    )
    counts = Counter({name.removeprefix("of_"): count for name, count in found.items()})
    counts["proofs"] = counts["times"]
    authors = nodes.filter(kind="text").order_by().values_list("author", "author__kind").distinct()
    kinds = [kind for _, kind in authors]
    counts["authors"], counts["people"] = len(kinds), kinds.count("human")
    marks = Mark.objects.filter(tree=tree, removed_at=None)
    counts["bookmarks"] = marks.filter(kind="bookmark").count()
    counts["tags"] = marks.filter(kind="tag").count()
    counts["links"] = Link.objects.filter(tree=tree, removed_at=None).count()
    with_images = nodes.filter(kind="text", text__contains=IMAGE_SIGN).values_list("text")
    images = {sha for (text,) in with_images.iterator(chunk_size=100) for sha in hashes_in(text)}
    counts["images"] = len(images)
    return counts
