"""The line to write instead of one in words of other programs: `forget stash "plan"`, `append to
doc:"notes" …`, `create document "ideas"`. A verb registers its rules: each names the form that was
meant, with what the line says; nothing of it is run, and a line is shown only if it can be read."""

import re
from collections.abc import Iterator

from loom.language.refs import quote
from loom.language.verbs import Verbs

# What patterns are made of: a document by its name, a section of one, words for taking away.
DOC = r'(?:the )?(?:document|doc)\b(?: called| named)?:?\s*("[^"]*"|[\w-]+)'
SECTION = r'(?:the )?(?:section |§ ?)("[^"]*"|[\w-]+)'
REMOVE = r"(?:delete|remove|erase|cut|drop|clear)"
IN_DOC = rf"(?:,|\s|of|in|from|to|at)*?(?:{DOC})?"

ELSE = "else "  # before a line that is shown if none above it can be read
BELOW = ", the text in the lines below it, and ← alone on the last"  # after a line without its text
MOST = 2  # lines that a hint names

# A heading of several words without quotes, in a line of any verb.
_SECTION_WORDS = re.compile(
    r"(.*[\s:])§([^\W\d][\w-]*(?: [^\W\d][\w-]*){1,5}?)((?: full| summary| \"[^\"]*\")?)",
    re.IGNORECASE | re.DOTALL,
)


def as_text(words: str) -> str:
    """A text as a quote on one line, whether it was quoted or not."""
    bare = words.strip().lstrip(":,").strip()
    if len(bare) > 1 and bare[0] == bare[-1] == '"':
        bare = bare[1:-1]
    return quote(bare.replace('\\"', '"'))


def as_doc(name: str | None) -> str:
    """The reference to a document of this name."""
    return f"doc:{as_text(name)}" if name else 'doc:"name"'


def as_section(name: str) -> str:
    """The reference to a section of this name."""
    bare = name.strip('"')
    return f"§{bare}" if re.fullmatch(r"[\w-]+", bare) else f"§{quote(bare)}"


def lines_meant(body: str, below: str | None, verbs: Verbs) -> Iterator[str]:
    """The lines, without arrow, that a body in words of other programs stands for; they still have
    to be read. `below` are the lines below it, which a rule may take as its text."""
    text = body.strip().rstrip("←").strip()
    whole = text if not below or not below.strip() else f"{text}\n{below}"
    for pattern, rule in verbs.hints:
        match = pattern.fullmatch(whole) or pattern.fullmatch(text)
        if match is not None:
            yield from rule(match)
            return
    match = _SECTION_WORDS.fullmatch(whole) or _SECTION_WORDS.fullmatch(text)
    if match is not None:
        yield f"{match[1]}§{quote(match[2].strip())}{match[3]}"
