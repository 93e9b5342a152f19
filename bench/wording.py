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

    outcomes: dict[str, list[str]] = {"understood": [], "refused": [], "not read": [], "wrong": []}
    for wording, means in table:
        try:
            line = read(wording, registry.language()).canonical.removeprefix("→ ")
        except ParseError:
            line = ""
        line = "" if _NOBODY.search(line) else line
        if line == means:
            outcomes["understood" if means else "refused"].append(wording)
        else:
            outcomes["wrong" if line else "not read"].append(f"{wording}  ({line or means})")
    return outcomes


def main(shows_all: bool) -> None:
    """Prints the shares of the tables."""
    from tests.grammar.phrasings import KNOWN
    from tests.grammar.phrasings_apart import APART
    from tests.grammar.phrasings_fresh import FRESH

    for name, table in (("made with", KNOWN), ("kept apart", APART), ("fresh", FRESH)):
        outcomes = judge(table)
        meant = len(outcomes["understood"]) + len(outcomes["not read"])
        print(
            f"wordings {name}: {len(table)}, {len(outcomes['understood'])} of {meant} understood "
            f"({len(outcomes['understood']) / meant:.0%}), "
            f"{len(outcomes['refused'])} rightly refused, {len(outcomes['wrong'])} wrong"
        )
        for kind in ("wrong", "not read") if shows_all else ():
            for wording in outcomes[kind]:
                print(f"  {kind}: {wording}")


if __name__ == "__main__":
    open_installation()
    main("all" in sys.argv[1:])
