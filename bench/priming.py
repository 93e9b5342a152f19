"""Tokens saved where one candidate goes ahead and the others read its path from the cache.

Five candidates below a path of 5,000, 20,000 and 500 tokens, asked of the scripted provider,
which keeps marked beginnings as soon as an answer has begun: with priming, and without it.
A unit is a token at the price of one sent anew (cached 0.1, kept 1.25).
Run: python -m bench.priming
"""

from bench.installation import open_installation

open_installation()

from dataclasses import replace  # noqa: E402
from typing import Any  # noqa: E402
from unittest.mock import patch  # noqa: E402

from django.conf import settings  # noqa: E402
from django.utils import timezone  # noqa: E402

from agents import runs  # noqa: E402
from agents.providers import orders  # noqa: E402
from loom.access import get_actor  # noqa: E402
from loom.engine.context import Request  # noqa: E402
from loom.engine.execute import execute_line  # noqa: E402
from loom.participants.prices import counts_of  # noqa: E402
from loom.people.commands import groves  # noqa: E402
from loom.people.models import Participant, User  # noqa: E402
from loom.trees.commands import trees  # noqa: E402
from loom.turns.models import Generation  # noqa: E402
from tests.agents.acting import run_lane  # noqa: E402
from tests.providers.scripted import ScriptedProvider  # noqa: E402
from tests.providers.scripts import Script, used  # noqa: E402

MANY = 5
PRICES = {"input": 1.0, "output": 5.0, "cached": 0.1, "written": 1.25}


def units(rows: list[Generation]) -> float:
    """The number of tokens read in total, weighted as uncached ones."""
    sums = 0.0
    for row in rows:
        counts = counts_of(row.usage)
        sums += counts.read - counts.cached - counts.kept
        sums += 0.1 * counts.cached + 1.25 * counts.kept
    return sums


class Bench:
    """One grove with one model behind the scripted provider."""

    def __init__(self, provider: ScriptedProvider) -> None:
        user = User.objects.create(username="bench")
        grove = groves.make_grove(user, "Bench")
        groves.change_grove(get_actor(user, grove), settings={"daily_budget_usd": 0})
        self.actor = get_actor(user, grove)
        self.model = Participant.objects.create(
            grove=grove,
            kind="model",
            name="Echo",
            model_ref="anthropic:scripted",
            base_url=provider.url,
            prices=PRICES,
            context_limit=200_000,
        )

    def ask(self, length: int) -> list[Generation]:
        """MANY candidates below a fresh path of `length` tokens, all ended."""
        tree = trees.new_tree(self.actor)
        text = f"{timezone.now()} " + "word " * (length * 4 // 5)
        execute_line(self.actor, tree, Request(f"respond\n{text}\n←"))
        uids = execute_line(self.actor, tree, Request(f"continue n:{MANY}")).body["generations"]
        asked = Generation.objects.filter(uid__in=uids)
        run_lane(asked[0].lane)
        return list(asked.filter(status="done"))


def _unprimed(*held: Any) -> Any:
    calls = _by_calls(*held)
    return [replace(call, primes=None, waits_for=None) for call in calls]


_by_calls = orders.by_calls


def main() -> None:
    """Prints a line for each length."""
    # Nothing for a quarter of a second, as of a provider that reads; then eight tokens.
    slow = Script(("", *(f"word{n} " for n in range(8))), rate=4, usage=used(8))
    with ScriptedProvider(default=slow) as provider:
        settings.PROVIDER_ALLOW = (provider.entry,)
        bench = Bench(provider)
        bench.ask(10)  # warm
        for length in (500, 5_000, 20_000):
            primed = units(bench.ask(length))
            with patch.object(runs, "by_calls", _unprimed):
                plain = units(bench.ask(length))
            less = 1 - primed / plain
            print(
                f"{MANY} candidates below {length:,} tokens: units read at once {plain:,.0f},"
                f" primed {primed:,.0f} ({less:.0%} less); without any cache {MANY * length:,}"
            )


if __name__ == "__main__":
    main()
