"""Whose the Yjs client ids in a document are. A letter of Yjs is signed with a client id, which
anybody can read and write: so a client id belongs to the participant who used it first. It is
claimed before its first letter is taken, and the claim is stored with the document, so it holds in
every process and after a restart."""

from collections.abc import Iterable

from django.db import transaction

from loom.documents.models import Document, DocumentClient
from loom.engine import busy
from loom.people.models import Participant


def claim(
    document: Document, clients: Iterable[int], participant: str, *, used: Iterable[int] = ()
) -> dict[int, str]:
    """The participant (public id) to whom each of these client ids belongs; one that belonged to
    nobody belongs to the given participant from now on. Two processes may ask at once: the first
    gets it. Those of `used` have letters already: where nobody has claimed them, as the server's
    own, they are left out."""
    new = sorted(clients)

    def write() -> dict[int, str]:
        with transaction.atomic():
            who = Participant.objects.get(grove=document.grove_id, uid=participant)
            claims = [
                DocumentClient(document=document, client=client, participant=who) for client in new
            ]
            DocumentClient.objects.bulk_create(claims, ignore_conflicts=True)
        rows = DocumentClient.objects.filter(document=document, client__in=[*new, *used])
        return dict(rows.values_list("client", "participant__uid"))

    return busy.retry_while_busy(write)
