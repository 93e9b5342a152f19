"""`python -m config.supervisor`: the whole run of script/server."""

import errno
import signal
import sys
from functools import partial
from types import FrameType

from config.supervisor import processes, startup
from config.supervisor.processes import Keeper, Options, StartError, read
from config.supervisor.startup import locked, prepare

_CANNOT_WRITE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _stop_on_signals() -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        # Once is enough: a second Ctrl-C must not interrupt the stopping.
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, signal.SIG_IGN)
        raise SystemExit(0)

    for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(name, stop)


def _run(options: Options, keeper: Keeper) -> None:
    env = processes.environment(options)
    if "REDIS_URL" not in env:
        env["REDIS_URL"] = startup.start(keeper, options.data, env)
    greeting = prepare(options, processes.with_provider_keys(env))
    for child in processes.children(options, env):
        keeper.start(child)
    try:
        startup.wait(options, env, keeper)
    finally:
        for line in greeting:
            _say(line)
    for line in processes.origins_lines(options, env):
        _say(line)
    _say(f"ready {options.url}")
    startup.open_browser(options, greeting)
    keeper.watch(startup.WorkerWatch(keeper, partial(startup.worker_state, options, env)).look)


def main() -> int:
    """Runs until stopped; returns the exit code. Everything started is stopped again."""
    _stop_on_signals()
    keeper = Keeper(_say)
    try:
        options = read(sys.argv[1:])
        with locked(options.data):
            try:
                _run(options, keeper)
            finally:
                keeper.stop_all()
    except StartError as sentence:
        sys.stderr.write(f"{sentence}\n")
        return 1
    except OSError as error:
        if error.errno not in _CANNOT_WRITE:
            raise
        sys.stderr.write(f"The data folder can't be written: {error.strerror}.\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
