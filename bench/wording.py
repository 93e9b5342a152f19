"""The share of other wordings that the rules understand, and how many run a wrong command.

Run: python -m bench.wording [all]
"""

import re
import sys
from collections.abc import Sequence

from bench.installation import open_installation

_NOBODY = re.compile(r"node:[a-z]+(?![\w-])")


def judge(table: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The wordings by what became of them: `understood`, `refused` (rightly), `not read`
    (though it means something), `wrong`. A line whose id has no digit names nothing: it is
    read, as docs/model.md §4 says, and answered NOT_FOUND."""
    from loom.engine import registry
    from loom.language.lines import read
    from loom.language.refs import ParseError

    found: dict[str, list[str]] = {"understood": [], "refused": [], "not read": [], "wrong": []}
    for said, means in table:
        try:
            line = read(said, registry.language()).canonical.removeprefix("→ ")
        except ParseError:
            line = ""
        line = "" if _NOBODY.search(line) else line
        if line == means:
            found["understood" if means else "refused"].append(said)
        else:
            found["wrong" if line else "not read"].append(f"{said}  ({line or means})")
    return found


def main(shows_all: bool) -> None:
    """Prints the shares of the tables."""
    from tests.grammar.phrasings import KNOWN
    from tests.grammar.phrasings_apart import APART
    from tests.grammar.phrasings_fresh import FRESH

    for name, table in (("made with", KNOWN), ("kept apart", APART), ("fresh", FRESH)):
        found = judge(table)
        meant = len(found["understood"]) + len(found["not read"])
        print(
            f"wordings {name}: {len(table)}, {len(found['understood'])} of {meant} understood "
            f"({len(found['understood']) / meant:.0%}), {len(found['refused'])} rightly refused, "
            f"{len(found['wrong'])} wrong"
        )
        for kind in ("wrong", "not read") if shows_all else ():
            for one in found[kind]:
                print(f"  {kind}: {one}")


if __name__ == "__main__":
    open_installation()
    main("all" in sys.argv[1:])
