"""Each section of a prompt has words of its own in the page's Context."""

import json
import shutil
import subprocess
from pathlib import Path

from agents.context.values import SECTIONS
from tests.patience import PATIENCE_S

ROOT = Path(__file__).parents[2]
NAMES = """
const { sectionNames } = await import(`${process.argv[1]}/tree/context-view.js`);
process.stdout.write(JSON.stringify(sectionNames()));
"""


def test_the_page_has_words_for_every_section() -> None:
    node = shutil.which("node")
    assert node, "Node.js is needed, as for script/build.mjs"
    ran = subprocess.run(
        [node, "--input-type=module", "-e", NAMES, str(ROOT / "static/src/js")],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
    )
    names = json.loads(ran.stdout)
    assert names["CLAIMS"] == "Claims"
    assert set(SECTIONS) - set(names) == set()
