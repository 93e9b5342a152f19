"""Reading what was printed gives what was printed, for every form and whatever values."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loom.engine import registry
from loom.language.forms import Form, write
from loom.language.lines import read
from loom.language.refs import ParseError, Ref, print_ref, quote, tokens_of, unescape
from loom.language.slices import parse_ref
from loom.text.hashes import digest_of
from loom.text.shortening import STORED_WHOLE, digest_named, shortened, without_name
from tests.grammar.strategies import refs, texts, value_of, values_of
from tests.grammar.table import ALL, FORMS, VERBS
from tests.thorough import tries


@pytest.mark.parametrize("form", ALL, ids=lambda form: f"{form.verb}-{len(form.parts)}")
@given(data=st.data())
@settings(max_examples=tries(30))
def test_a_printed_line_reads_as_what_was_printed(form: Form, data: st.DataObject) -> None:
    values = data.draw(values_of(form))
    because = data.draw(texts)
    text = write(form.verb, form, values, because)
    line = read(text, VERBS)
    assert (line.verb, FORMS[line.verb][line.form]) == (form.verb, form)
    assert line.values == values
    assert line.because == because
    assert line.canonical == text


def _is_no_tree(value: object) -> bool:
    return not isinstance(value, Ref) or value.kind != "tree"


REGISTERED = [command.form for command in registry.every()]


@pytest.mark.parametrize("form", REGISTERED, ids=lambda form: f"{form.verb}-{len(form.parts)}")
@given(data=st.data())
# Of the refs that are drawn, a form takes one kind of seven: many are drawn again.
@settings(max_examples=tries(30), suppress_health_check=[HealthCheck.filter_too_much])
def test_a_line_of_the_registry_reads_as_what_was_printed(form: Form, data: st.DataObject) -> None:
    values = data.draw(values_of(form))
    # `tree:a branch:b` is one ref, the branch in that tree: only the last ref may be a tree.
    names = [name for name, value in values.items() if isinstance(value, Ref)]
    for name in names[:-1]:
        part = next(part for part in form.parts if part.name == name)
        if not _is_no_tree(values[name]):
            values[name] = data.draw(value_of(form, part).filter(_is_no_tree))
    because = data.draw(texts)
    text = write(form.verb, form, values, because)
    line = read(text, registry.language())
    read_as = registry.find(line.verb, line.form).form
    if read_as != form:  # `find "a"` without a filter is the form that has none
        own = {part.name for part in read_as.parts}
        assert all(values[part.name] == part.absent for part in form.parts if part.name not in own)
        values = {name: value for name, value in values.items() if name in own}
    assert line.values == values
    assert line.because == because
    assert line.canonical == text


@given(ref=refs)
@settings(max_examples=tries(200))
def test_a_printed_ref_reads_as_itself(ref: Ref) -> None:
    assert parse_ref(print_ref(ref)) == ref


@given(text=texts)
def test_a_quote_holds_any_text_on_one_line(text: str) -> None:
    quoted = quote(text)
    assert "\n" not in quoted
    assert unescape(quoted[1:-1]) == text
    assert [token.quoted for token in tokens_of(quoted)] == [text]


@pytest.mark.parametrize("content", ["a b\n" * 200, '"' * 300 + "\n", "\\" * 300, "ü🙂 " * 100])
def test_a_shortened_line_names_its_text_and_is_read_by_no_form(content: str) -> None:
    form = next(form for form in REGISTERED if form.verb == "respond")
    line = write("respond", form, {"content": content}, "")
    short = shortened(line)
    assert len(short) < 200 and "\n" not in short
    assert digest_named(short) == digest_of(content)
    assert without_name(short) == "→ respond …"
    assert shortened(short) == short
    with pytest.raises(ParseError):
        read(short, VERBS)


def test_a_line_without_a_long_text_is_stored_whole() -> None:
    form = next(form for form in REGISTERED if form.verb == "respond")
    for content in ("a", "two\nlines", "x" * STORED_WHOLE):
        line = write("respond", form, {"content": content}, "so it goes")
        assert shortened(line) == line
        assert digest_named(line) == ""
