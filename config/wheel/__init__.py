"""What the wheel adds to a checkout: the command `heddle`, and where its data is.

In the wheel this file is the package heddle_loom, and the program lies beside it as it does in a
checkout, in `program/`. So nothing but heddle_loom is put among the packages of an environment.

    heddle [--port 8000] [--data FOLDER] …   as script/server
    heddle manage COMMAND …                  as manage.py
"""

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "program"


def main() -> None:
    """Replaces this process by the one that is asked for."""
    from platformdirs import user_data_path

    os.environ.setdefault("HEDDLE_DATA", str(user_data_path("heddle", appauthor=False)))
    words = sys.argv[1:]
    if words[:1] == ["manage"]:
        command = [str(PROGRAM / "manage.py"), *words[1:]]
    else:
        # A relative --data is meant from where the caller stands.
        os.environ["HEDDLE_STARTED_IN"] = str(Path.cwd())
        os.chdir(PROGRAM)
        command = ["-m", "config.supervisor", *words]
    os.execv(sys.executable, [sys.executable, *command])  # noqa: S606 (our own program)
