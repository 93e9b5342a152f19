"""The source of the Python client that follows from something else: its types from the OpenAPI
schema, and the client without asyncio from the one with it. Pure."""

import keyword
import re
from collections.abc import Mapping
from typing import Any

_WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_HEAD = '''"""The types of the API's bodies, made from its OpenAPI schema by `manage.py client`.

A field that may be missing is NotRequired; a server that is newer may send more fields.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
'''
_MOST = 100  # characters of a line


def types_of(schema: Mapping[str, Any]) -> str:
    """The module of types: a TypedDict for each schema of the components, in order of name."""
    parts = [_HEAD]
    schemas = schema["components"]["schemas"]
    for name in sorted(schemas):
        parts.append(_definition(name, schemas[name]))
    return "\n\n".join(parts)


def _definition(name: str, schema: Mapping[str, Any]) -> str:
    fields = schema.get("properties")
    if fields is None:
        return f"{name} = {_type(schema)}\n" if "$ref" not in schema else ""
    required = set(schema.get("required", ()))
    types = {
        key: kind if key in required else f"NotRequired[{kind}]"
        for key, kind in ((key, _type(kind)) for key, kind in fields.items())
    }
    if any(keyword.iskeyword(key) or not key.isidentifier() for key in types):
        rows = "".join(f'        "{key}": "{_single(kind)}",\n' for key, kind in types.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{rows}    }},\n)\n'
    says = _says(schema.get("description", ""))
    rows = "".join(f"    {key}: {kind}\n" for key, kind in types.items())
    return f"class {name}(TypedDict):\n{says}{rows or '    pass' + chr(10)}"


def _single(type_name: str) -> str:
    return type_name.replace('"', "'")


def _says(description: str) -> str:
    """A docstring of the description, on lines that are not too long."""
    words = " ".join(description.split()).replace("\\", "\\\\").replace('"""', "'''")
    if not words:
        return ""
    lines, line = [], '    """'
    for word in words.split(" "):
        if len(line) + len(word) + 4 > _MOST:
            lines.append(line.rstrip())
            line = "    "
        line += word + " "
    lines.append(line.rstrip())
    end = " " if lines[-1].endswith('"') else ""
    return "\n".join(lines) + end + '"""\n\n'


def _type(schema: Any) -> str:
    """The Python type of a schema."""
    if not isinstance(schema, Mapping) or not schema:
        return "Any"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            kinds = list(dict.fromkeys(_type(choice) for choice in schema[word]))
            return "Any" if "Any" in kinds else " | ".join(kinds)
    if "const" in schema:
        return f"Literal[{_literal(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(map(_literal, schema['enum']))}]"
    kind = schema.get("type")
    if kind == "array":
        return f"list[{_type(schema.get('items'))}]"
    if kind == "object":
        return f"dict[str, {_type(schema.get('additionalProperties'))}]"
    return _WORDS.get(str(kind), "Any")


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


# Words of asyncio, and what stands in their place without it.
_WITHOUT = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait asyncio\.sleep\b", "time.sleep"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\.aclose\b", ".close"),
    (r"\.aread\b", ".read"),
    (r"\.aiter_", ".iter_"),
    (r"\bAbstractAsyncContextManager\b", "AbstractContextManager"),
    (r"\bAsync(Heddle|Tree|Iterator|Client|BaseTransport)\b", r"\1"),
    (r"^import asyncio\n", ""),
)


def without_asyncio(source: str) -> str:
    """The module without asyncio: the words of asyncio are taken out or replaced."""
    _, _, body = source.partition('"""\n')
    for pattern, word in _WITHOUT:
        body = re.sub(pattern, word, body, flags=re.MULTILINE)
    body = re.sub(r"^(from collections.abc import )(.*)$", _sorted, body, flags=re.MULTILINE)
    says = '"""The client without asyncio, made from `async_client.py` by `manage.py client`."""\n'
    return says + body


def _sorted(line: re.Match[str]) -> str:
    return line[1] + ", ".join(sorted(line[2].split(", ")))
