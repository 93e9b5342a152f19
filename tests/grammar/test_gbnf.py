"""The grammar for local models: whatever it makes is read, as what it was made of."""

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loom.engine import registry
from loom.language.batches import Batch, segments_of
from loom.language.forms import Form
from loom.language.gbnf import Known, grammar_of, literal
from loom.language.lines import read
from loom.links.link_types import STANDARD
from loom.permissions import LOOM, WRITE
from tests.grammar.gbnf_reader import rules_of, strings
from tests.grammar.table import ALL, FORMS, VERBS
from tests.thorough import tries

KNOWN = Known(
    nodes=("a7x2", "b3k9"), types=STANDARD.names("writer"), agents=("Muse", 'the "other"')
)
REGISTERED = [command.form for command in registry.every()]


@cache  # reading a grammar takes longer than drawing from it
def lines_of(form: Form, known: Known | None = None) -> st.SearchStrategy[str]:
    """Lines that the grammar of one form makes."""
    return strings(rules_of(grammar_of([form], known)), "command")


@pytest.mark.parametrize("known", [None, KNOWN], ids=["unknown", "known"])
@pytest.mark.parametrize("form", ALL, ids=lambda form: f"{form.verb}-{len(form.parts)}")
@given(data=st.data())
@settings(max_examples=tries(25))
def test_every_line_of_the_tables_is_read_as_its_form(
    form: Form, known: Known | None, data: st.DataObject
) -> None:
    line = read(data.draw(lines_of(form, known)), VERBS)
    assert FORMS[line.verb][line.form] == form


@pytest.mark.parametrize("form", REGISTERED, ids=lambda form: f"{form.verb}-{len(form.parts)}")
@given(data=st.data())
@settings(max_examples=tries(40))
def test_every_line_of_the_registry_is_read_as_its_form(form: Form, data: st.DataObject) -> None:
    line = read(data.draw(lines_of(form, KNOWN)), registry.language())
    found = registry.find(line.verb, line.form).form
    # `find "x" max:3` is one of both forms of `find`: it is the plain one's, which says the same.
    assert found == form or parts_of(found) < parts_of(form)


def parts_of(form: Form) -> set[tuple[str, str]]:
    return {(part.name, part.kind) for part in form.parts}


WHOLE = rules_of(grammar_of(REGISTERED, KNOWN))


@given(reply=strings(WHOLE))
@settings(max_examples=tries(400))
def test_in_whole_replies_every_command_is_read(reply: str) -> None:
    for segment in segments_of(reply, registry.language(), finished=True):
        if isinstance(segment, Batch):
            assert [command.bad for command in segment.commands] == [None] * len(segment.commands)


def test_only_what_an_agent_may_use_is_in_its_grammar() -> None:
    grammar = grammar_of(
        [command.form for command in registry.every() if command.permissions <= {LOOM, WRITE}]
    )
    assert '"annotate"' in grammar
    assert '"continue"' not in grammar


def test_without_any_form_a_reply_is_prose() -> None:
    rules = rules_of(grammar_of([]))
    assert "command" not in rules


@given(reply=strings(rules_of(grammar_of(REGISTERED, KNOWN, acts=True))))
def test_whoever_has_to_act_writes_one_line(reply: str) -> None:
    segments = segments_of(reply, registry.language(), finished=True)
    (batch,) = (segment for segment in segments if isinstance(segment, Batch))
    assert len(batch.commands) == 1
    assert reply.startswith("→ ")


@given(text=st.text())
def test_a_terminal_is_on_one_line(text: str) -> None:
    assert "\n" not in literal(text)
