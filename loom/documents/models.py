"""Documents, their revisions, and the log of updates that people and agents type."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.db import models

from loom.engine.models import Step
from loom.people.models import Participant
from loom.trees.models import GroveText, Workspace


class Document(GroveText):
    """A text of a grove that several people can write at once. `head` is the last seq of its
    updates, `settled` the last one that is part of a revision, and `log_bytes` the length of the
    updates that are not in its stored state."""

    maker = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    head = models.BigIntegerField(default=0)
    settled = models.BigIntegerField(default=0)
    log_bytes = models.BigIntegerField(default=0)

    class Meta:
        ordering = ["-touched_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["grove", "title_key"], name="document_title_once")
        ]
        indexes = [
            models.Index(
                fields=["head"],
                condition=models.Q(head__gt=models.F("settled")),
                name="document_unsettled",
            ),
        ]


class DocumentText(models.Model):
    """The text of one or more revisions of a document, stored once. That of the newest revision
    is stored whole, in `text`. An earlier one is stored as `edits` that make it from the text
    `base`, which is later; `chain` is the most such steps that lead to this row. Read `whole`."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="texts", db_index=False)
    sha256 = models.CharField(max_length=64)
    text = models.TextField(blank=True)
    base = models.ForeignKey("self", models.RESTRICT, null=True, related_name="+")
    edits = models.JSONField(null=True)  # [[start, end, text], ...] in code points of the base
    chain = models.SmallIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "sha256"], name="document_text_once")
        ]

    def __str__(self) -> str:
        return self.sha256

    @cached_property
    def whole(self) -> str:
        """The text, also of an earlier revision. For several at once: `read_whole`."""
        if self.base_id is None:
            return self.text
        return _whole({self.pk})[self.pk]


# The rows from which a text is made: its own, its base, the base of that, and so on.
_CHAIN = """
    WITH RECURSIVE step (id) AS (
        SELECT id FROM documents_documenttext WHERE id IN ({})
        UNION
        SELECT row.base_id FROM documents_documenttext row JOIN step ON row.id = step.id
        WHERE row.base_id IS NOT NULL
    )
    SELECT id, text, base_id, edits FROM documents_documenttext WHERE id IN (SELECT id FROM step)
"""


def read_whole(texts: Iterable[DocumentText]) -> None:
    """Reads the whole texts of these rows, in one query for all that are stored as edits."""
    wanted = {text.pk: text for text in texts if text.base_id is not None}
    if wanted:
        for key, whole in _whole(wanted.keys()).items():
            if key in wanted:
                wanted[key].__dict__["whole"] = whole


def _whole(keys: Iterable[int]) -> dict[int, str]:
    """The texts of these rows, by their keys, and of the rows on which they are based."""
    every = sorted(keys)
    marks = ", ".join(["%s"] * len(every))
    rows = {row.pk: row for row in DocumentText.objects.raw(_CHAIN.format(marks), every)}
    texts = {key: row.text for key, row in rows.items() if row.base_id is None}
    for key in every:
        path = [key]
        while path[-1] not in texts:
            path.append(rows[path[-1]].base_id or 0)
        for step in reversed(path[:-1]):
            row = rows[step]
            texts[step] = _edited(texts[row.base_id or 0], row.edits or [])
    return {key: texts[key] for key in every}


def _edited(text: str, edits: list[list[Any]]) -> str:
    pieces, at = [], 0
    for start, end, put in edits:
        pieces += [text[at:start], put]
        at = end
    return "".join([*pieces, text[at:]])


class Revision(models.Model):
    """One state of a document. Never changed once it is stored, but for `sections`, which only
    the newest has: its headings with their stable ids (`loom.documents.rules`), which the next
    revision takes over. `authors` are the public ids of those who wrote since the previous
    revision, `seq` is the last update in it. `step` is the one that wrote it: null for what people
    typed, and gone if its tree was erased. `window`, `first` and `last` are the window through
    which it was written, and its lines before.
    """

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="revisions", db_index=False)
    number = models.IntegerField()
    content = models.ForeignKey(DocumentText, models.PROTECT, related_name="+", db_index=False)
    length = models.IntegerField()  # in code points
    words = models.IntegerField()
    sections = models.JSONField(default=list)
    by = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    authors = models.JSONField(default=list)
    restored = models.IntegerField(null=True)  # the number of the revision that it restores
    seq = models.BigIntegerField()
    step = models.ForeignKey(  # without a constraint: an erased tree takes its steps with it
        Step, models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )
    window = models.IntegerField(null=True)
    first = models.IntegerField(null=True)
    last = models.IntegerField(null=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ["document_id", "number"]
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="revision_once")]

    def __str__(self) -> str:
        return f"revision {self.number}"

    @property
    def text(self) -> str:
        """The text of the revision; one query more for an earlier one."""
        return self.content.whole


class DocumentEmbed(models.Model):
    """A local id in an embed of a document's newest revision, so that the documents that embed a
    node are found without reading texts. Which node it means depends on the reader."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="embeds", db_index=False)
    name = models.CharField(max_length=8)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "name"], name="document_embed_once")
        ]
        indexes = [models.Index(fields=["name", "document"], name="document_embed_name")]

    def __str__(self) -> str:
        return f"{self.name} in {self.document_id}"


class DocumentUpdate(models.Model):
    """Typed changes of a document, as an update of Yjs. `authors` are the public ids of the people
    whose changes it contains. Rows that are part of the stored state are deleted; while they are
    not settled, one empty update keeps their authors."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="updates", db_index=False)
    seq = models.BigIntegerField()
    update = models.BinaryField()
    authors = models.JSONField(default=list)
    at = models.DateTimeField()

    class Meta:
        ordering = ["document_id", "seq"]
        constraints = [models.UniqueConstraint(fields=["document", "seq"], name="update_once")]

    def __str__(self) -> str:
        return f"update {self.seq}"


class DocumentClient(models.Model):
    """Whose letters those of a Yjs client id are: the participant's who used it first. Nobody else
    may add letters under it."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="clients", db_index=False)
    client = models.BigIntegerField()
    participant = models.ForeignKey(Participant, models.PROTECT, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "client"], name="document_client_once")
        ]

    def __str__(self) -> str:
        return f"{self.client} in {self.document_id}"


class DocumentState(models.Model):
    """All updates of a document up to `seq` merged into one, so that it opens without reading
    each."""

    document = models.OneToOneField(
        Document, models.CASCADE, primary_key=True, related_name="state"
    )
    seq = models.BigIntegerField()
    state = models.BinaryField()

    def __str__(self) -> str:
        return f"state at {self.seq}"


class DocumentView(models.Model):
    """The revision of a document that a workspace was last shown, against which its writes are
    checked."""

    id = models.BigAutoField(primary_key=True)
    workspace = models.ForeignKey(
        Workspace, models.CASCADE, related_name="documents", db_index=False
    )
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    revision = models.IntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "document"], name="document_view_once")
        ]

    def __str__(self) -> str:
        return f"{self.document_id}: {self.revision}"
