"""Each verb whose changes undo takes back has words of its own in the page's message of it."""

import inspect
import json
import shutil
import subprocess
from pathlib import Path

from loom.engine import registry
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
# Changes that undo passes over, or that are undo itself.
PASSED_OVER = {
    *("address", "augment", "check", "commit", "conclude", "discard", "linktype", "pipe", "redo"),
    *("run", "trail", "undo", "veto", "withdraw"),
}
# From stdin the verbs; the message after the undo of a line of each.
MESSAGES = """
import { readFileSync } from "node:fs";
const { statusText } = await import(`${process.argv[1]}/tree/status-text.js`);
const verbs = JSON.parse(readFileSync(0, "utf8"));
const message = (verb) => statusText("undo", { undone: [{ verb, who: "Ada" }] });
const messages = Object.fromEntries(verbs.map((verb) => [verb, message(verb)]));
process.stdout.write(JSON.stringify(messages));
"""


def _undone() -> set[str]:
    """The verbs that change what others see, without those that undo passes over."""
    changing = {row.verb for row in registry.every() if row.world or row.group == "Make"}
    return changing - PASSED_OVER


def test_the_message_of_an_undo_says_for_every_verb_what_was_undone() -> None:
    node = shutil.which("node")
    assert node, "Node.js is needed, as for script/build.mjs"
    ran = subprocess.run(
        [node, "--input-type=module", "-e", MESSAGES, str(ROOT / "static/src/js")],
        input=json.dumps(sorted(_undone())),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    messages: dict[str, str] = json.loads(ran.stdout)
    assert len(messages) > 20
    bare = [verb for verb, message in messages.items() if not message.startswith("Undone: ")]
    assert bare == [], "give them words in takenBack() of static/src/js/tree/status-text.js"


def test_what_undo_passes_over_has_no_inverse() -> None:
    for row in registry.every():
        if row.verb in PASSED_OVER:
            assert "inverse=" not in inspect.getsource(row.run), row.name
