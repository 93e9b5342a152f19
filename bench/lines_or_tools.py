"""Tokens of one session, the lines of a model as → lines and as JSON tool calls.

The same commands with the same arguments and answers: once written as lines, answered in one
block, their manual in the prompt; once as an OpenAI-shaped client would send them, a tool for
each command, a call and an answer with its id for each. Counted as GPT-4o counts (o200k, from
litellm's bundled files; nothing is fetched). Run: python -m bench.lines_or_tools
"""

import json
import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.installation import open_installation

# (line, answer): what an analyst's turns in a small tree are made of.
SESSION: tuple[tuple[str, str], ...] = (
    ("→ view a7x2 full", '[a7x2] Ada (human) · 3m ago · depth:7\n"She isn\'t angry."'),
    ("→ list b3k9 continuations", '[b3k9] → 1 continuation:\n  [c4m2] "Safety."'),
    ('→ find "father" max:3', '● 1.00 [a7x2] "the summer her father left"'),
    ('→ annotate b3k9 "safety is the threat" as:question', "✓ annotation [k3m8] added to [b3k9]"),
    ("→ link a7x2 to b3k9 as:supports", "✓ linked [a7x2] ──[supports]──→ [b3k9]"),
    ('→ bookmark b3k9 "turning point"', '✓ bookmarked [b3k9] as "turning point"'),
    ("→ switch to b3k9", "✓ switched to [b3k9]\n  depth:8 · 2 continuations"),
    ("→ continue from b3k9 n:3 temperature:0.9", "✓ 3 continuations from [b3k9]"),
    ("→ tree from r2d4 depth:3", '- [r2d4]\n├─ + [a7x2] "She isn\'t angry"'),
    ("→ prune d5n7", "✓ pruned [d5n7]"),
    ('→ respond b3k9 "The risk of it, and she knows." from:a7x2', "✓ created [e6p4]"),
    ("→ undo", "✓ undid → respond b3k9"),
)
ROUNDS = 4  # the session's lines are given three at a time
Count = Callable[[str], int]


def counter() -> Count:
    """Counts tokens with the encoding that litellm brings along."""
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.origin is not None
    tokenizers = Path(spec.origin).parent / "litellm_core_utils" / "tokenizers"
    os.environ["TIKTOKEN_CACHE_DIR"] = str(tokenizers)
    import tiktoken

    encoding = tiktoken.get_encoding("o200k_base")
    return lambda text: len(encoding.encode(text, disallowed_special=()))


def as_lines(count: Count) -> dict[str, int]:
    """Definitions: the manual, as `help` prints it. Written: the lines. Answers: one block
    for each round."""
    from loom.engine import registry

    manual = "\n".join(f"→ {command.syntax}" for command in registry.every())
    per_round = len(SESSION) // ROUNDS
    rounds = [SESSION[at : at + per_round] for at in range(0, len(SESSION), per_round)]
    written = sum(count("\n".join(line for line, _ in some)) for some in rounds)
    answers = (f"---RESULTS\n{chr(10).join(a for _, a in some)}\n---RESULTS_END" for some in rounds)
    return {
        "definitions": count(manual),
        "written": written,
        "answers": sum(count(answer) for answer in answers),
    }


def _tool(form: Any) -> dict[str, Any]:
    schema = form.args.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    for field in schema.get("properties", {}).values():
        field.pop("title", None)
    function = {"name": form.verb, "parameters": schema}
    return {"type": "function", "function": function}


def _plain(value: Any) -> Any:
    from loom.language.refs import Ref, print_ref

    if isinstance(value, Ref):
        return print_ref(value)
    return [_plain(part) for part in value] if isinstance(value, tuple) else value


def as_tools(count: Count) -> dict[str, int]:
    """Definitions: a schema for each command, without a description, as the manual has
    none. Written: calls with ids. Answers: a message
    with its call's id for each."""
    from loom.engine import registry
    from loom.language.lines import read

    tools = json.dumps([_tool(command) for command in registry.every()], ensure_ascii=False)
    written = answers = 0
    for number, (text, answer) in enumerate(SESSION):
        line = read(text, registry.language())
        absent = registry.find(line.verb, line.form).form.plan.absent
        given = {k: _plain(v) for k, v in line.values.items() if v != absent.get(k)}
        arguments = json.dumps(given, ensure_ascii=False)
        call_id = f"call_{number:024d}"
        call = {
            "id": call_id,
            "type": "function",
            "function": {"name": line.verb, "arguments": arguments},
        }
        told = {"role": "tool", "tool_call_id": call_id, "content": answer}
        written += count(json.dumps(call, ensure_ascii=False))
        answers += count(json.dumps(told, ensure_ascii=False))
    return {"definitions": count(tools), "written": written, "answers": answers}


def main() -> None:
    """Prints both, and how much less the lines take."""
    count = counter()
    lines, tools = as_lines(count), as_tools(count)
    for tokens in (lines, tools):
        tokens["one request"] = sum(tokens.values())
        # Each round sends the definitions again, and half of the session on average.
        spent = tokens["written"] + tokens["answers"]
        tokens[f"sent in {ROUNDS} rounds"] = (
            tokens["definitions"] * ROUNDS + spent * (ROUNDS + 1) // 2
        )
    print(f"{len(SESSION)} commands in {ROUNDS} rounds      lines      tools   tools/lines")
    for name in lines:
        ratio = tools[name] / lines[name]
        print(f"  {name:<24} {lines[name]:>8} {tools[name]:>10}   × {ratio:.2f}")


if __name__ == "__main__":
    open_installation()
    main()
