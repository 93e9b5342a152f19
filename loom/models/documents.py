"""Documents, their revisions, and the log of updates that people and agents type."""

from django.db import models

from loom.models.base import PublicIdentity
from loom.models.groves import Grove, Participant
from loom.models.workspaces import Workspace


class Document(PublicIdentity):
    """A text of a grove that several people can write at once. `revision` is the number of its
    newest revision, `words` is the count there; `head` is the last seq of its updates, and
    `settled` the last one that is part of a revision."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="documents")
    title = models.CharField(max_length=200)
    title_key = models.CharField(max_length=400)  # the case-folded title
    kind = models.CharField(max_length=8, default="note")  # note or augment
    maker = models.ForeignKey(Participant, models.PROTECT, related_name="+")
    made_at = models.DateTimeField()
    touched_at = models.DateTimeField()
    revision = models.IntegerField(default=0)
    words = models.IntegerField(default=0)
    head = models.BigIntegerField(default=0)
    settled = models.BigIntegerField(default=0)
    summary = models.TextField(blank=True, default="")  # of the revision `summary_revision`
    summary_revision = models.IntegerField(default=0)

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

    def __str__(self) -> str:
        return self.title


class DocumentText(models.Model):
    """The text of one or more revisions of a document, stored once."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(Document, models.CASCADE, related_name="texts", db_index=False)
    sha256 = models.CharField(max_length=64)
    text = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["document", "sha256"], name="document_text_once")
        ]

    def __str__(self) -> str:
        return self.sha256


class Revision(models.Model):
    """One state of a document. Never changed once it is stored. `sections` are its headings with
    their stable ids (`loom.rules.documents`), `authors` the public ids of those who wrote since
    the previous revision, `seq` the last update in it.
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
    at = models.DateTimeField()

    class Meta:
        ordering = ["document_id", "number"]
        constraints = [models.UniqueConstraint(fields=["document", "number"], name="revision_once")]

    def __str__(self) -> str:
        return f"revision {self.number}"


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
    """Typed changes of a document, as an update of Yjs; append-only. `authors` are the public ids
    of the people whose changes it contains."""

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
