"""Trees with their nodes, images and settings of branches; public links to trees; how one
participant sees a tree, and a person's unsaved text."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.language import ids
from loom.language.ids import ORDINAL_BITS, PLACE_BITS
from loom.language.refs import quote
from loom.people.models import Grove, Participant, User

# A node's id is its tree's id and its ordinal in one number (`loom.language.ids`), so
# that a tree lies together on disk, order of id is order of creation, and a slot can name itself
# before it is stored.


class Tree(PublicIdentity):
    """One tree. `mode` is fixed at creation; `archived_at` makes it read-only."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="trees")
    title = models.CharField(max_length=300, blank=True)
    description = models.TextField(blank=True)
    folder = models.CharField(max_length=80, blank=True, default="")
    mode = models.CharField(max_length=8)
    system_context = models.TextField(blank=True)
    summary = models.TextField(blank=True)
    truncation = models.CharField(max_length=16, default="truncateMiddle")
    memory = models.TextField(blank=True, default="")
    author_note = models.TextField(blank=True, default="")
    note_depth = models.IntegerField(default=3)  # paragraphs before the end
    lore_scan = models.IntegerField(default=2000)  # characters before the end, for keys
    lore_budget = models.IntegerField(default=1000)  # tokens
    maker = models.ForeignKey(Participant, models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)
    touched_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True)
    erasing_at = models.DateTimeField(null=True)
    imported = models.JSONField(null=True)
    # Of a sandbox: the id of the text of another tree that it hangs at, how many texts above were
    # copied, the person who alone sees it (an agent's inviter), and when it ends
    # (docs/decisions/2026-11-26-sandboxes.md).
    sandbox_at = models.BigIntegerField(null=True, db_index=True)
    sandbox_copies = models.IntegerField(null=True)
    sandbox_of = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    expires_at = models.DateTimeField(null=True)
    # What readers and writers of the grove may do here; "": what they may do in any tree.
    reader_right = models.CharField(max_length=8, blank=True, default="")
    writer_right = models.CharField(max_length=8, blank=True, default="")

    class Meta:
        ordering = ["-touched_at", "-id"]
        indexes = [models.Index(fields=["grove", "folder"], name="tree_folder")]

    def __str__(self) -> str:
        return self.title or self.uid


class TreeRight(models.Model):
    """What one person may do in a tree, in place of what their role allows. It stays when they
    leave the grove, so that nobody sees more by coming back."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="rights")
    user = models.ForeignKey(User, models.CASCADE, related_name="tree_rights")
    right = models.CharField(max_length=8)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["tree", "user"], name="tree_right_once")]

    def __str__(self) -> str:
        return f"{self.user_id} may {self.right} {self.tree_id}"


class ErasedTree(models.Model):
    """What stays of an erased tree: who could read it, by grove, roles and row ids of users. A link
    to it is shown as broken to these alone. Nothing stays of a sandbox."""

    tree = models.BigIntegerField(primary_key=True)  # its row id
    grove = models.ForeignKey(Grove, models.CASCADE, related_name="erased_trees")
    hidden_roles = models.JSONField(default=list)
    hidden_from = models.JSONField(default=list)
    shown_to = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"erased tree {self.tree}"


class GroveText(PublicIdentity):
    """A text of a grove that lies outside of its trees, such as a document. `revision` is the
    number of its newest version, `words` is the count there; `summary` is that of the version
    `summary_revision`. Abstract: the feature that has such texts has the table."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="%(class)ss")
    title = models.CharField(max_length=200)
    title_key = models.CharField(max_length=400)  # the case-folded title
    made_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    revision = models.IntegerField(default=0)
    words = models.IntegerField(default=0)
    summary = models.TextField(blank=True, default="")
    summary_revision = models.IntegerField(default=0)
    kind = models.CharField(max_length=8, default="note")  # note, or augment: prompts can load it

    class Meta:
        abstract = True

    @property
    def item_id(self) -> int:
        """The id of the item that links, marks and steps point at."""
        return ids.of_document(self.pk)

    @property
    def shown(self) -> str:
        """`doc:"notes"`: how lines and replies name it."""
        return f"doc:{quote(self.title)}"

    def __str__(self) -> str:
        return self.title


# The order of siblings: `place`, else by the ordinal, as loom.language.ids.place_of. Written
# without parameters, so that both databases find the index.
ORDER = models.Func(
    "place",
    "id",
    template=f"COALESCE(%(expressions)s & {(1 << ORDINAL_BITS) - 1} << {PLACE_BITS})",
    output_field=models.BigIntegerField(),
)


class Node(models.Model):
    """One version of one slot. Content, author, place and hash never change once written.
    `slot_id` is the id of the slot's first version (its own for an original), `parent_slot_id` the
    slot above (null for the root). Flags of a slot are stored on its first version: pruned,
    excluded, sandbox; `version_pruned` belongs to each version.
    """

    id = models.BigIntegerField(primary_key=True)
    # Foreign keys without an index of their own are the first column of one below.
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="nodes", db_index=False)
    local_id = models.CharField(max_length=8)
    kind = models.CharField(max_length=10, default="text")
    form = models.CharField(max_length=10, blank=True)
    text = models.TextField(blank=True)
    blocks = models.JSONField(null=True)  # null: one text block holding `text`
    length = models.IntegerField()  # of `text`, in code points
    author = models.ForeignKey(Participant, models.PROTECT, db_index=False)
    edited_from = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="+", db_index=False
    )
    slot = models.ForeignKey("self", models.PROTECT, related_name="versions", db_index=False)
    parent_slot = models.ForeignKey(
        "self", models.PROTECT, null=True, related_name="below", db_index=False
    )
    depth = models.IntegerField()
    # The chain of the slot above (see Chain); null for what is no text, and for the root.
    parent_chain = models.BigIntegerField(null=True)
    parent_hash = models.CharField(max_length=64, blank=True)
    hash = models.CharField(max_length=64)
    configuration = models.CharField(max_length=64, blank=True)
    call_uid = models.CharField(max_length=32, blank=True)
    generation_uid = models.CharField(max_length=32, blank=True)
    finish = models.CharField(max_length=80, default="complete")
    created_at = models.DateTimeField()
    # Its place among its siblings if that is not its id (loom.language.ids.place_of).
    place = models.BigIntegerField(null=True)
    # An import of Heddle's own JSON keeps the original proof: its author and call ids.
    proof_author = models.CharField(max_length=64, blank=True)
    imported = models.JSONField(null=True)
    # The only mutable fields.
    pruned = models.BooleanField(default=False)
    # The slot's own chain while it is pruned and a text is below it, which it hides.
    pruned_chain = models.BigIntegerField(null=True)
    version_pruned = models.BooleanField(default=False)
    excluded = models.BooleanField(default=False)
    sandbox = models.BooleanField(default=False)
    summary = models.TextField(blank=True)
    resolved_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["tree", "local_id"], name="local_id_once"),
        ]
        indexes = [
            models.Index(fields=["parent_slot", "id"], name="node_below"),
            models.Index(fields=["slot", "id"], name="node_versions"),
            models.Index(fields=["author", "id"], name="node_by_author"),
            models.Index(fields=["tree", "created_at"], name="node_by_time"),
            models.Index(
                fields=["edited_from"],
                condition=models.Q(edited_from__isnull=False),
                name="node_edited_from",
            ),
            # What the skeleton of a big tree says apart, because it changes.
            models.Index(
                fields=["tree", "id"],
                condition=models.Q(pruned=True)
                | models.Q(excluded=True)
                | models.Q(sandbox=True)
                | models.Q(version_pruned=True)
                | models.Q(resolved_at__isnull=False),
                name="node_flagged",
            ),
            # Annotations are few: the filter of their kind and form finds them.
            models.Index(
                fields=["tree", "form", "id"],
                condition=models.Q(kind="annotation"),
                name="node_annotations",
            ),
            # Visible slots below a slot: counted without reading nodes. The first version of a slot
            # has its id and later ones have greater ids. Where a query says that they are equal,
            # PostgreSQL takes that for one row of the table and goes through all of an index.
            models.Index(
                "parent_slot",
                "kind",
                ORDER,
                "id",
                condition=models.Q(pruned=False, slot__gte=models.F("id")),
                name="node_seen_below",
            ),
            models.Index(fields=["tree"], condition=models.Q(pruned=True), name="node_pruned"),
            # The pruned slots of a chain, the highest first: finds what hides a slot.
            models.Index(
                fields=["pruned_chain", "depth"],
                condition=models.Q(pruned_chain__isnull=False),
                name="node_hides",
            ),
            # Texts by depth: finds the deepest remaining one after a prune.
            models.Index(
                fields=["tree", "depth", "id"],
                condition=models.Q(kind="text", pruned=False, slot__gte=models.F("id")),
                name="node_by_depth",
            ),
        ]

    def __str__(self) -> str:
        return self.local_id


class Chain(models.Model):
    """Text slots each directly below the one before: `id` is the highest, `tail` the depth of the
    lowest. A slot belongs to a chain once a text is below it, and never changes it: the first of
    the slots below one of a chain that gets a text below itself continues that chain, the others
    begin new ones. What is above a slot is then a few chains, however deep it is
    (docs/decisions/2026-11-23-chains.md).
    """

    id = models.BigIntegerField(primary_key=True)
    tail = models.IntegerField()

    def __str__(self) -> str:
        return f"chain {self.id}"


class Item(models.Model):
    """What links, marks, sources and steps point at: a node, a tree, a document or a trail.
    Made when something first points at it.

    The id is computed in `loom.language.ids`. The item of something erased stays while
    something still points at it, so `tree` and `node` may name deleted rows: it is then shown as
    broken. A node is one version that never changes, so a reference to it identifies the version;
    references to items that can change store the version seen.
    """

    id = models.BigIntegerField(primary_key=True)
    kind = models.CharField(max_length=10)  # node, tree, document or trail
    tree = models.ForeignKey(  # 0: it is a document or trail, whose row the id names
        Tree, models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False
    )
    node = models.ForeignKey(
        Node, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    anchor = models.CharField(max_length=80, blank=True)  # the part that is meant, "": all of it

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"


class NodeSource(models.Model):
    """A source of a node in addition to its parent: an item in the version that was seen, and its
    role."""

    node = models.ForeignKey(Node, models.CASCADE, related_name="sources")
    item = models.ForeignKey(Item, models.PROTECT, related_name="+", db_index=False)
    role = models.CharField(max_length=12)
    version_seen = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["item"], name="source_item")]

    def __str__(self) -> str:
        return f"{self.role} {self.item_id}"


class Image(models.Model):
    """An image of a tree. Its bytes are a file named by their hash, stored once for all trees;
    members of the tree's grove can read it. Texts name it by its hash."""

    id = models.BigAutoField(primary_key=True)
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="images")
    sha256 = models.CharField(max_length=64)
    media_type = models.CharField(max_length=20)
    width = models.IntegerField()
    height = models.IntegerField()
    size = models.IntegerField()  # bytes
    by = models.ForeignKey(Participant, models.PROTECT)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["sha256", "tree"], name="image_of_a_tree_once")
        ]

    def __str__(self) -> str:
        return self.sha256


class BranchSettings(models.Model):
    """Settings for candidates at a slot and everywhere below it, unless something nearer or on the
    line says otherwise; {}: removed."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="branch_settings")
    slot = models.ForeignKey(Node, models.CASCADE, related_name="+")
    settings = models.JSONField(default=dict)
    by = models.ForeignKey(Participant, models.PROTECT)
    at = models.DateTimeField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["slot"], name="branch_settings_once")]

    def __str__(self) -> str:
        return f"settings at {self.slot_id}"


# Public links.


class PublicLink(PublicIdentity):
    """A link with which anybody can read one tree. Only the secret's SHA-256 is stored."""

    tree = models.ForeignKey(Tree, models.CASCADE, related_name="public_links")
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(Participant, models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"public link to {self.tree_id}"


# How one participant sees a tree, and a person's unsaved text.


class Workspace(PublicIdentity):
    """One per participant and tree; survives restarts."""

    participant = models.ForeignKey(Participant, models.CASCADE, related_name="workspaces")
    tree = models.ForeignKey(Tree, models.CASCADE, related_name="workspaces")
    position = models.ForeignKey(Node, models.PROTECT, related_name="+")
    last_used = models.ForeignKey(Participant, models.SET_NULL, null=True, related_name="+")
    revision = models.IntegerField(default=0)
    steps_made = models.IntegerField(default=0)
    checkpoint = models.IntegerField(default=0)
    outline = models.JSONField(default=dict)  # as loom.trees.queries.outline.outline_of reads it
    augments = models.JSONField(default=dict)  # {loaded, pinned}: ids of documents
    scratchpad = models.TextField(blank=True, default="")
    settings = models.JSONField(default=dict)  # of its windows, see loom.workspace.queries.windows
    made_at = models.DateTimeField(auto_now_add=True)
    # The last event of the tree that its person has seen, and when; None: never.
    seen_seq = models.BigIntegerField(default=0)
    seen_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["participant", "tree"], name="workspace_once")
        ]

    def __str__(self) -> str:
        return self.uid


class VersionChoice(models.Model):
    """The current version of a slot in one workspace; without a row it is the newest not pruned."""

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="choices")
    slot = models.ForeignKey(Node, models.CASCADE, related_name="+")
    node = models.ForeignKey(Node, models.CASCADE, related_name="+")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["workspace", "slot"], name="choice_once")]

    def __str__(self) -> str:
        return f"{self.slot_id}: {self.node_id}"


class Draft(models.Model):
    """Unsaved text of one person: what will go below a slot (`buffer`), a pending wording of it
    (`edit`), or a note on it (`note`). Deleted when it ends. `at` identifies its state."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="drafts")
    slot = models.ForeignKey(Node, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=6)
    text = models.TextField()
    at = models.DateTimeField()
    told_at = models.DateTimeField()  # when it last had an event in the workspace's stream

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["workspace", "slot", "kind"], name="draft_once")
        ]
        indexes = [models.Index(fields=["slot", "kind"], name="draft_at_slot")]

    def __str__(self) -> str:
        return f"{self.kind} at {self.slot_id}"
