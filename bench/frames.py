"""How long the escaping of one text takes (four million characters), by what it is made of: it
holds the interpreter, and with it everybody.

Run: python -m bench.frames [characters]
"""

import statistics
import sys
import time

from loom.text.frames import _escaped, marks_escaped

SIZE = 4_000_000
ROUNDS = 3
PIECES = {
    "line breaks": "\n",
    "blanks": " ",
    "blank lines and a frame": " \n",
    "prose": "a well-known word " * 4 + "[1]\n",
    "Russian prose": "— Привет, мир. Как дела?\n",
    "a list": "- item\n",
    "dashes": "-",
    "dashes and blanks": "- ",
    "brackets and soft breaks": "[a]\r",
    "frames": "---A\n",
    "headers": "[a] b (human)\n",
    "lines of a patch": "--- no\n",
}


def main(size: int) -> None:
    """Prints the medians in milliseconds."""
    for name, piece in PIECES.items():
        text = piece * (size // len(piece)) + ("---A" if "and a frame" in name else "")
        taken: dict[str, list[float]] = {"escaped": [], "marks": []}
        for _ in range(ROUNDS):
            for what, work in (("escaped", _escaped), ("marks", marks_escaped)):
                began = time.process_time()
                work(text)
                taken[what].append(time.process_time() - began)
        figures = ", ".join(f"{k} {statistics.median(v) * 1000:,.0f} ms" for k, v in taken.items())
        print(f"{name:28} {figures}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else SIZE)
