"""Words of the model that pages show: their keys stay English, what is read does not."""

from django.utils.translation import gettext_noop

WORDS = (
    *(gettext_noop("dialogue"), gettext_noop("buffer")),
    *(gettext_noop("reader"), gettext_noop("writer"), gettext_noop("owner")),
    *(gettext_noop("note"), gettext_noop("question"), gettext_noop("suggestion")),
    *(gettext_noop("warning"), gettext_noop("objection")),
    *(gettext_noop("human"), gettext_noop("model")),
    *(gettext_noop("collaborator"), gettext_noop("analysis"), gettext_noop("subject")),
    *(gettext_noop("editor"), gettext_noop("auditor")),
    *(gettext_noop("quick"), gettext_noop("standard"), gettext_noop("thorough")),
)
