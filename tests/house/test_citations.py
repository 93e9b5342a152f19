"""Citations: every file, section and command that the code and the documents name exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from loom.engine import registry
from tests.house.sources import ROOT, files, name_of, text_of

MODEL = ROOT / "docs" / "model.md"  # its chapters are in a folder of its name
# A cited section, with others that follow it: `docs/model.md §5, §5.2 and §7`.
CITATION = re.compile(r"\bdocs/model\.md((?:[\s#,*]*(?:and |to )?§[\d.]*\d(?: \(F\d+\))?)+)")
SECTION = re.compile(r"§([\d.]*\d)(?: \((F\d+)\))?")
# A Markdown file that is cited by its path, or a document of the root by its name.
CITED_FILE = re.compile(r"(?<![\w/.])((?:docs|tests|script|bench)/[\w./-]+\.(?:md|py|json|sh))\b")
# Source by its path or its name in a document: `loom/site/api_errors.py`, `errors.py`.
CITED_SOURCE = re.compile(r"`([\w/-]+\.(?:py|m?js|html|css))`")
ROOT_FILE = re.compile(r"(?<![\w/.])([A-Z]{4,}\.md)\b")
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]+)?\)")
# Names of designs that are not part of the repository.
FOREIGN = re.compile(
    r"\bMM\b §?|\bstack\.md\b|\bstyle\.md\b|\brequirements\.md\b|\bAG-\d+\b|\bS00\d\b"
)
CODE = (".py", ".js", ".mjs", ".html", ".css", ".toml", "")
THIS = Path(__file__)


def _model_text() -> str:
    """The model, chapter by chapter."""
    chapters = sorted(MODEL.with_suffix("").glob("*.md"))
    return "".join(path.read_text() for path in (MODEL, *chapters))


def _sections() -> set[str]:
    """The numbers of the sections of the model, of items of §14.3, and its decisions."""
    text = _model_text()
    headings = set(re.findall(r"^#{2,3} (\d+(?:\.\d+)?)\.? ", text, re.MULTILINE))
    items = re.findall(r"^(\d+)\. ", text[text.index("### 14.3 ") :], re.MULTILINE)
    decisions = re.findall(r"^\| (F\d+) \|", text, re.MULTILINE)
    return headings | {f"14.3.{item}" for item in items} | set(decisions)


def _cited_sections(text: str) -> Iterator[str]:
    for sections in CITATION.findall(text):
        for number, decision in SECTION.findall(sections):
            yield number
            if decision:
                yield decision


def _sources() -> Iterator[Path]:
    """Every text of the project that people write."""
    for path in files(*CODE, ".md"):
        if path != THIS and "node_modules" not in path.parts and path.stat().st_size < 500_000:
            yield path


def _slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def test_every_cited_section_of_the_model_exists() -> None:
    known = _sections()
    assert {"2.1", "6.4", "14.3", "14.3.15", "F36"} <= known
    wrong = {
        f"{name_of(path)}: §{number}"
        for path in _sources()
        for number in _cited_sections(text_of(path))
        if number not in known
    }
    assert not wrong


def test_a_section_is_cited_in_one_way() -> None:
    """Always `docs/model.md §6.1`, so that a search for the file finds every citation."""
    wrong = [
        f"{name_of(path)}:{number}: {line.strip()[:80]}"
        for path in _sources()
        for number, line in enumerate(text_of(path).splitlines(), 1)
        if re.search(r"(?<!docs/)\bmodel\.md §", line) or FOREIGN.search(line)
    ]
    assert not wrong


def test_the_model_refers_only_to_its_own_sections() -> None:
    known = _sections()
    assert {n for n, _ in SECTION.findall(_model_text())} <= known


def test_every_cited_file_exists() -> None:
    wrong = set()
    for path in _sources():
        text = text_of(path)
        for name in (*CITED_FILE.findall(text), *ROOT_FILE.findall(text)):
            if not (ROOT / name).is_file():
                wrong.add(f"{name_of(path)}: {name}")
    assert not wrong


def test_every_source_that_a_document_names_exists() -> None:
    sources = {name_of(path) for path in _sources()}
    known = sources | {name.rpartition("/")[2] for name in sources}
    wrong = [
        f"{name_of(path)}: {name}"
        for path in files(".md")
        if "decisions" not in path.parts  # dated pages name what was there then
        for name in CITED_SOURCE.findall(text_of(path))
        if name not in known and not any(source.endswith(f"/{name}") for source in sources)
    ]
    assert not wrong


def test_every_link_of_a_document_leads_somewhere() -> None:
    wrong = []
    for path in files(".md"):
        for target, anchor in LINK.findall(text_of(path)):
            there = (path.parent / target).resolve()
            if not there.exists():
                wrong.append(f"{name_of(path)}: {target}")
            elif anchor and there.suffix == ".md":
                headings = re.findall(r"^#+ (.+)$", text_of(there), re.MULTILINE)
                if anchor[1:] not in {_slug(heading) for heading in headings}:
                    wrong.append(f"{name_of(path)}: {target}{anchor}")
    assert not wrong


def _commands_of_the_model() -> dict[str, bool]:
    """The verbs in the tables of §5.1, and whether they are marked as planned."""
    text = _model_text()
    part = text[text.index("### 5.1 ") : text.index("### 5.2 ")]
    commands = {}
    for cell in re.findall(r"^\| ([a-z][^|]*) \|", part, re.MULTILINE):
        planned = cell.endswith("(planned)")
        for name in re.sub(r"\([^)]*\)", "", cell).split(","):
            commands[name.strip()] = planned
    del commands["command"]
    return commands


def test_the_model_marks_as_planned_exactly_what_is_not_registered() -> None:
    listed = _commands_of_the_model()
    built = {verb for verb, planned in listed.items() if not planned}
    registered = set(registry.forms())
    assert registered - listed.keys() == set(), "add it to docs/model.md §5.1"
    assert registered & (listed.keys() - built) == set(), "take (planned) off in docs/model.md §5.1"
    assert built - registered == set(), "mark it (planned) in docs/model.md §5.1"


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("See docs/model.md §6.1.", ["6.1"]),
        ("docs/model.md §5, §5.2 and §7 say", ["5", "5.2", "7"]),
        ("docs/model.md §14.3.3 to §14.3.6", ["14.3.3", "14.3.6"]),
        ("docs/model.md §12 (F12)", ["12", "F12"]),
    ],
)
def test_citations_are_read_in_their_forms(text: str, cited: list[str]) -> None:
    assert list(_cited_sections(text)) == cited
