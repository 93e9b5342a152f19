"""The server's copy of a text that several people type in."""

import gc
import weakref

from loom.documents.shared_text import SharedText
from loom.documents.yjs_updates import read_update
from loom.text.edits import Edit


def test_a_copy_that_nobody_has_any_more_is_let_go() -> None:
    """pycrdt keeps what is observed: each document that was opened once would stay in memory."""
    shared, begun = SharedText.born("Begin.")
    typed = SharedText([begun]).edit([Edit(6, 6, " Go on.")])
    shared.admit(read_update(typed))
    shared.stored(typed)
    assert shared.text == "Begin. Go on."
    copies = [shared._copy, shared._front(is_needed=True)]
    documents = [weakref.ref(copy.doc) for copy in copies]
    assert len(set(documents)) == 2
    del shared, copies
    gc.collect()
    assert [document() for document in documents] == [None, None]
