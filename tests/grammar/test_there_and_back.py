"""Reading what was printed gives what was printed, for every form and whatever values."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loom.commands import registry
from loom.grammar.forms import Form
from loom.grammar.lines import read, write
from loom.grammar.refs import Ref, parse_ref, print_ref
from loom.grammar.tokens import quote, tokens_of, unescape
from tests.grammar.strategies import refs, texts, values_of
from tests.grammar.table import ALIASES, ALL, FORMS


@pytest.mark.parametrize("form", ALL, ids=lambda form: f"{form.verb}-{len(form.parts)}")
@given(data=st.data())
@settings(max_examples=30)
def test_a_printed_line_reads_as_what_was_printed(form: Form, data: st.DataObject) -> None:
    values = data.draw(values_of(form))
    because = data.draw(texts)
    text = write(form.verb, form, values, because)
    line = read(text, FORMS, ALIASES)
    assert (line.verb, FORMS[line.verb][line.form]) == (form.verb, form)
    assert line.values == values
    assert line.because == because
    assert line.canonical == text


REGISTERED = [one.form for one in registry.every()]


@pytest.mark.parametrize("form", REGISTERED, ids=lambda form: f"{form.verb}-{len(form.parts)}")
@given(data=st.data())
@settings(max_examples=30)
def test_a_line_of_the_registry_reads_as_what_was_printed(form: Form, data: st.DataObject) -> None:
    values = data.draw(values_of(form))
    text = write(form.verb, form, values, "")
    line = read(text, registry.forms(), registry.aliases())
    assert registry.find(line.verb, line.form).form == form
    assert line.values == values
    assert line.canonical == text


@given(ref=refs)
@settings(max_examples=200)
def test_a_printed_ref_reads_as_itself(ref: Ref) -> None:
    assert parse_ref(print_ref(ref)) == ref


@given(text=texts)
def test_a_quote_holds_any_text_on_one_line(text: str) -> None:
    quoted = quote(text)
    assert "\n" not in quoted
    assert unescape(quoted[1:-1]) == text
    assert [token.quoted for token in tokens_of(quoted)] == [text]
