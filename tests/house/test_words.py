"""One word, one meaning; no drawers; nothing of the machine it was written on."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.catalogues import taken
from tests.house.sources import ROOT, files, name_of, nodes_of, text_of

# Words of other programs, and the one that Heddle has (ARCHITECTURE.md, Glossary).
SYNONYMS = {
    "conversation": "tree",
    "chatroom": "grove",
    "tenant": "grove",
    "team": "grove",
    "organisation": "grove",
    "organization": "grove",
    "bot": "participant",
    "favourite": "bookmark",
    "favorite": "bookmark",
    "starred": "bookmark",
    "regenerate": "continue",
    "completion_node": "node",
    "comment": "annotation",
    "hyperlink": "link",
    "tab": "window",
    "breadcrumb": "path",
    "ancestry": "path",
}
DRAWERS = {"utils", "util", "helpers", "helper", "services", "service", "common", "misc", "lib"}
OURS = ("config", "loom", "agents")
# Where the foreign word is the foreign thing: (file, word): reason, date.
ALLOWED: dict[tuple[str, str], tuple[str, str]] = {
    (f"agents/gateway/{name}.py", "conversation"): ("a field of OpenAI's responses", "2026-11-29")
    for name in ("messages", "recording")
}


def _identifiers(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _words(identifier: str) -> set[str]:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", identifier).lower().split("_")
    return {word for part in parted for word in (part, part.removesuffix("s"))}


def test_names_use_the_glossary() -> None:
    names = {
        f"{name_of(path)}: {identifier} (say {SYNONYMS[word]})"
        for path in files(".py")
        if path.relative_to(ROOT).parts[0] in OURS and "migrations" not in path.parts
        for identifier in _identifiers(path)
        for word in _words(identifier) & SYNONYMS.keys()
        if (name_of(path), word) not in ALLOWED
    }
    assert not names


def test_there_are_no_drawers() -> None:
    drawers = [
        name_of(path)
        for path in files(".py", ".js")
        if DRAWERS & {part.removesuffix(path.suffix) for part in path.relative_to(ROOT).parts}
    ]
    assert not drawers


def test_there_are_no_signals_and_no_save_of_our_own() -> None:
    faults = []
    for path in files(".py"):
        if path.relative_to(ROOT).parts[0] not in OURS:
            continue
        text = text_of(path)
        if re.search(r"django\.(db\.models|dispatch|core)\.?(signals|dispatch)?.*\bSignal\b", text):
            faults.append(f"{name_of(path)}: a signal")
        if re.search(r"^\s+def (save|delete)\(self", text, re.MULTILINE):
            faults.append(f"{name_of(path)}: save() or delete() is overridden")
    assert not faults


def test_nothing_names_the_machine_it_was_written_on() -> None:
    """Paths of a home or a work folder, and marks of what is not finished."""
    paths = re.compile(r"(?<![\w.])/(?:home/\w|Users/\w|root/|work/|tmp/w/)")
    unfinished = re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!.*#\d)")
    faults = []
    for path in files(".py", ".js", ".mjs", ".css", ".html", ".md", ".toml", ".yml", ".json", ""):
        if path == Path(__file__):
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            if paths.search(line):
                faults.append(f"{name_of(path)}:{number} names a path: {line.strip()[:80]}")
            if unfinished.search(line):
                faults.append(f"{name_of(path)}:{number} is not finished: {line.strip()[:80]}")
    assert not faults


def test_every_module_says_what_lives_in_it() -> None:
    silent = [
        name_of(path)
        for path in files(".py")
        if "migrations" not in path.parts
        and text_of(path).strip()
        and not ast.get_docstring(nodes_of(path)[0])  # type: ignore[arg-type]
    ]
    assert not silent


# What pages once said, in patterns, and what they say now.
ONCE = {
    r"\bMake it\b": "Create tree",
    r"^Together$": "Total",
    r"\bas at first\b": "Reset",
    r"\bLetters of the text\b": "Typeface",
    r"\bas the system( is)?$|\bas the system is\b": "System",
    r"\bName here\b": "Name",
    r"\bOpenAI[’'`]s shape\b": "OpenAI-compatible",
    r"\banew\b": "Refresh, Try again",
    r"\b(Tokens|Candidates|Characters) at most\b": "Max tokens",
    r"\bWho acts\b|\blines of its own\b": "Agent",
    r"\bput (it )?back\b": "Discard, Restore",
    r"\bthe measure\b": "Base",
    r"\basks to come (again|back)\b": "Rate limited",
    r"\bkeeps paths from\b": "Prompt cache from",
    r"^n$": "Candidates",
}


def test_pages_say_nothing_in_the_words_that_were_replaced() -> None:
    """Every text of a page that is translated, and what a template or script says besides."""
    texts = {
        (domain, str(text))
        for domain, template in taken().items()
        for message in template
        for text in ([message.id] if isinstance(message.id, str) else message.id)
        if text
    }
    assert len(texts) > 500
    for path in files(".html", ".js"):
        name = name_of(path)
        if not name.startswith(("templates/", "static/src/")) or ".test." in name:
            continue
        text = re.sub(r"\{#.*?#\}|<!--.*?-->|/\*.*?\*/", "", text_of(path), flags=re.DOTALL)
        bare = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
        pattern = r">([^<>{}]+)<" if path.suffix == ".html" else r"[\"'`]([^\"'`\n]{3,})[\"'`]"
        texts |= {(name, text.strip()) for text in re.findall(pattern, bare)}
    replaced = [
        f"{name}: {text!r} (say {now})"
        for name, text in sorted(texts)
        for once, now in ONCE.items()
        if re.search(once, text, re.IGNORECASE)
    ]
    assert not replaced
