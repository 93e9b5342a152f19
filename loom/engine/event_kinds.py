"""The closed list of event kinds, by the kind of their stream."""


# Streams: the closed list of event kinds, the lock, and numbering under it.

KINDS: dict[str, frozenset[str]] = {
    "tree": frozenset(
        """tree.created tree.changed node.added node.flagged node.summarised link.added
        link.removed mark.added mark.removed tag.renamed tag.removed settings.pinned
        annotation.resolved annotation.reopened
        suggestion.decided token.changed check.changed claim.changed commitment.added
        commitment.vetoed turn.started turn.ended generation.started generation.ended call.sealed
        import.finished""".split()
    ),
    "grove": frozenset(
        """grove.created grove.changed member.added member.changed member.removed
        invitation.added invitation.removed participant.added participant.changed
        document.added document.changed type.added type.changed check.changed trail.changed
        pipe.saved tree.erased preset.saved preset.removed link.added link.removed mark.added
        mark.removed suggestion.decided token.changed""".split()
    ),
    "workspace": frozenset(
        """view.changed window.opened window.changed window.closed task.added task.changed
        draft.saved""".split()
    ),
}
