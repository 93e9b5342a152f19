"""Arguments against the schemas of strangers: what is checked, and what cannot be made to take for
ever."""

from typing import Any

import pytest

from agents.outside_tools.arguments import brief, why_wrong
from loom.language.json_arguments import as_json, object_in, split_at_object
from loom.language.refs import ParseError


@pytest.mark.parametrize(
    ("schema", "values", "words"),
    [
        ({"type": "object", "required": ["a"]}, {}, "'a' is a required property"),
        ({"properties": {"a": {"type": "integer"}}}, {"a": "1"}, "a: '1' is not of type"),
        ({"properties": {"a": {"enum": ["x", "y"]}}}, {"a": "z"}, "a: 'z' is not one of"),
        ({"properties": {"a": {"pattern": "^[a-z]+$"}}}, {"a": "A"}, "does not match"),
        ({"additionalProperties": False, "properties": {}}, {"a": 1}, "was unexpected"),
        (
            {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "number"}}},
            {"a": []},
            "a: [] is not of type",
        ),
        ({"properties": {"a": {"items": {"type": "string"}}}}, {"a": ["b", 1]}, "a.1: 1 is not"),
    ],
)
def test_what_a_schema_does_not_allow_is_named(
    schema: dict[str, Any], values: dict[str, Any], words: str
) -> None:
    assert words in why_wrong(schema, values)


CIRCLE = {"$ref": "#"}
BOMB = {
    "$defs": {
        "z": {},
        **{f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 10} for n in range(30)},
        "a30": {"$ref": "#/$defs/z"},
    },
    "$ref": "#/$defs/a0",
}


@pytest.mark.parametrize(
    "schema",
    [
        CIRCLE,
        BOMB,
        {"$ref": "https://example.org/schema.json"},
        {"$ref": "#/nowhere"},
        {"properties": {"a": {"pattern": "(a+)+$"}}},
        {"properties": {"a": {"pattern": "(?=a)b"}}},
        {"properties": {"a": {"pattern": "("}}},
        {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False},
        {"type": 7},
        {"type": "no such"},
        {"properties": []},
        {"required": 3},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": True}},
    ],
    ids=range(13),
)
def test_a_schema_that_cannot_be_used_refuses_nothing_and_ends(schema: dict[str, Any]) -> None:
    assert why_wrong(schema, {"a": "a" * 5_000 + "a"}) == ""
    assert brief(schema).startswith("{")


def test_the_schema_in_brief_names_what_is_required_first() -> None:
    schema = {
        "properties": {
            "days": {"type": "integer"},
            "city": {"type": "string"},
            "unit": {"enum": ["C", "F"]},
            "more": {"type": ["string", "null"]},
        },
        "required": ["city"],
    }
    assert brief(schema) == (
        '{"city": string, "days"?: integer, "unit"?: "C"|"F", "more"?: string|null}'
    )
    assert brief({"properties": {f"name{n}": {} for n in range(400)}}).endswith("…}")


def test_an_object_is_cut_out_of_a_line_wherever_its_braces_are() -> None:
    assert split_at_object(' "a {b" {"c": "}\\"{"} because:"x"') == (
        ' "a {b" ',
        '{"c": "}\\"{"}',
        ' because:"x"',
    )
    assert split_at_object(' "a"') == (' "a"', None, "")
    assert object_in('{"a":[1,2.5,null,true]}') == '{"a": [1, 2.5, null, true]}'
    assert as_json({"a": "\u0085\ud800\n"}) == '{"a": "\\u0085\\ud800\\n"}'


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"a": NaN}',
        '{"a": 1} b',
        "[1]",
        "{" * 50_000,
        '{"a": ' * 50_000,
        '{"a": 1e5',
        "{'a': 1}",
    ],
)
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(ParseError) as refused:
        object_in(text)
    assert refused.value.hint
