#!/usr/bin/env python3
"""Django's command line for Heddle. Any Python may start it: it goes on in `.venv`."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

OWN = Path(__file__).resolve().parent / ".venv" / "bin" / "python"

if __name__ == "__main__":
    if find_spec("django") is None and OWN.exists():
        os.execv(OWN, [str(OWN), *sys.argv])  # noqa: S606 (the words are the caller's own)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
