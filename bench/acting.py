"""Whether the embedded model, held to its grammar, acts with valid lines only.

Starts the model and asks it to act, with the grammar and without; prints how many lines it
gave and how many of them are read. Run: python -m bench.acting [replies]
"""

import json
import re
import subprocess
import sys
import time
import urllib.request
from collections import Counter

from bench.installation import open_installation

SYSTEM = (
    "You are Analyst. You read a text that grows as a tree of nodes. Lines that begin with → are "
    'commands:\n→ view a7x2 full\n→ annotate a7x2 "why?"\n→ help\nGive commands, then stop.'
)
ASKED = (
    "[a7x2] Ada (human)\nShe isn't angry at Thomas. The quarrel is the nearest shape for "
    "something older.\n\n[b3k9] Ada (human)\nThen what does Thomas stand for?\n\nUse a command."
)
TOKENS = 100
AT_ONCE = 4


def start() -> tuple[subprocess.Popen[str], str]:
    """The embedded model's server on a free port, and its address."""
    words = [sys.executable, "-m", "agents.providers.local_server", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if match := re.match(r"ready (\S+)", line):
            return process, match[1]
    raise SystemExit("The embedded model did not start.")


def replies(url: str, grammar: str, many: int) -> list[tuple[str, bool]]:
    """Answers of the model at a high temperature, each with whether it ended by itself."""
    answers: list[tuple[str, bool]] = []
    while len(answers) < many:
        body = {
            "model": "smollm2",
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": ASKED},
            ],
            "max_tokens": TOKENS,
            "temperature": 1.3,
            "n": AT_ONCE,
        }
        if grammar:
            body["grammar"] = grammar
        sent = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{url}/chat/completions", sent, headers)
        with urllib.request.urlopen(request, timeout=120) as answer:
            for choice in json.load(answer)["choices"]:
                ended = choice["finish_reason"] == "stop"
                answers.append((choice["message"]["content"], ended))
    return answers


def judge(texts: list[tuple[str, bool]]) -> Counter[str]:
    """Lines that are read, not read, or cut off by the limit of tokens; and who gave any."""
    from loom.engine import registry
    from loom.language.batches import Batch, segments_of

    counter: Counter[str] = Counter()
    for text, ended in texts:
        parts = segments_of(text, registry.language(), finished=ended)
        commands = [
            command for part in parts if isinstance(part, Batch) for command in part.commands
        ]
        counter["acting"] += bool(commands)
        for number, command in enumerate(commands, 1):
            is_last = number == len(commands) and not ended
            kind = "read" if command.line else "cut off" if is_last else "not read"
            counter[kind] += 1
            if kind == "not read":
                sys.stdout.write(f"  not read: {command.text!r}\n")
    return counter


def main(many: int) -> int:
    """Prints a row each without a grammar, with it, and with one that begins with a line."""
    from loom.engine import registry
    from loom.language.gbnf import Known, grammar_of
    from loom.links.link_types import STANDARD
    from loom.permissions import GENERATE, LOOM, WRITE

    forms = [
        command.form
        for command in registry.every()
        if command.permissions <= {LOOM, WRITE, GENERATE}
    ]
    known = Known(("a7x2", "b3k9"), STANDARD.names("writer"), ("Muse",))
    kinds = {
        "no grammar": "",
        "grammar": grammar_of(forms, known),
        "grammar that acts": grammar_of(forms, known, acts=True),
    }
    process, url = start()
    wrong = 0
    try:
        for name, grammar in kinds.items():
            began = time.perf_counter()
            counts = judge(replies(url, grammar, many))
            taken = time.perf_counter() - began
            print(
                f"{name:18} {many} replies, {counts['acting']} acting; "
                f"lines: {counts['read']} read, "
                f"{counts['not read']} not read, {counts['cut off']} cut off · {taken:.1f} s"
            )
            wrong += counts["not read"] if grammar else 0
    finally:
        process.terminate()
        process.wait()
    return 1 if wrong else 0


if __name__ == "__main__":
    open_installation()
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
