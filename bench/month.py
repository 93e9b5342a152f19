"""A month of use: how much the database grows for each byte that was written, and where.

Run: python -m bench.month [days] [acts a day]

Two people and a model write in a tree and a document. Of a hundred acts 45 are answers of the
model (a provider on loopback, 600 to 2,400 characters, 4 to a token, half of them two candidates),
25 texts that people type (100 to 900 characters, of which drafts are stored on the way), 8 other
wordings, 8 passages typed in the document, 14 are prunes, undos, moves, searches and tags. Texts
are runs of words from `docs/`. Every night the worker's trimming runs as if the day were over: what
models were sent and answered, typing in documents that rest, events of views and receipts are kept
for 7 days.

Bytes that were written are those of texts that stay: of nodes and of documents, once each. Figures
are after VACUUM, as in `bench.storage`. On SQLite, or where DATABASE_URL is. What an installation
has before the first text (4 MB of empty tables, and the catalogues of a server) is no growth: it is
measured first and taken off, of each table. At the end the rows and indexes that grew most are
listed, and what the second half of the month cost by itself, without the first page of each.
"""

import random
import sys
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from bench.installation import open_installation
from bench.storage import parts, prose, sizes

RULES = {
    **{"view_events": 7, "look_steps": 30, "call_requests": 7, "call_answers": 7},
    "document_updates": 7,
}
RECEIPT_DAYS = 7
REPORTS = (1, 3, 7, 14, 21, 30)  # days at whose end the sizes are printed
OTHERS = ("prune here", "undo", "switch up", 'find "the words"', "tag here #kept", "view here")


class Clock:
    """Moves what the program takes for now."""

    def __init__(self) -> None:
        from django.utils import timezone

        self._now: Callable[[], datetime] = timezone.now
        self.ahead = timedelta()
        timezone.now = lambda: self._now() + self.ahead

    def tomorrow(self) -> None:
        """A day later."""
        self.ahead += timedelta(days=1)


class Use:
    """An installation in use, and how many bytes were written in it."""

    def __init__(self, provider: Any, clock: Clock) -> None:
        from bench.trees import make_owner
        from loom.access import get_actor
        from loom.documents import actions as document_actions
        from loom.people.models import Participant
        from loom.trees.commands import trees
        from tests.conftest import join, make_user

        self.provider, self.clock = provider, clock
        self.dice = random.Random(7)
        self.words = prose(1, 400_000)[0]
        owner = make_owner("bench")
        other = make_user("other")
        join(owner.grove, other, "writer")
        self.people = [owner, get_actor(other, owner.grove)]
        self.model = Participant.objects.create(
            grove=owner.grove, kind="model", name="Echo", model_ref="openai:echo-1",
            base_url=provider.url,
        )  # fmt: skip
        self.tree = trees.new_tree(owner, title="A month")
        self.document = document_actions.make_document(owner, title="Notes", text="Notes\n")
        self.written = self.keys = 0

    def text(self, least: int, most: int) -> str:
        """A passage that was not there before, of so many characters."""
        length = self.dice.randrange(least, most)
        at = self.dice.randrange(len(self.words) - length)
        return self.words[at : at + length].strip().rstrip("\\")

    def counted(self, text: str) -> str:
        """A text whose bytes are written, and stay."""
        self.written += len(text.encode())
        return text

    def line(self, who: Any, line: str) -> Any:
        """The answer of a line, sent with a key, as pages and programs do."""
        from loom.engine.context import Request
        from loom.engine.execute import execute_line
        from loom.errors import CommandError

        self.keys += 1
        try:
            return execute_line(who, self.tree, Request(line, key=f"key-{self.keys}")).body
        except CommandError as refused:
            return {"refs": [], "message": refused.message}

    def day(self, acts: int) -> None:
        """What is done on a day, and the trimming at its end."""
        from django.conf import settings

        from agents import tasks
        from loom.operations import trim

        for _ in range(acts):
            self.act(self.dice.choice(self.people))
        self.clock.tomorrow()
        settings.RECEIPT_DAYS = RECEIPT_DAYS
        trim.trim(seconds=600)
        tasks.delete_old()

    def act(self, who: Any) -> None:
        """One act of a person."""
        share = self.dice.random()
        if share < 0.45:
            self.answer(who)
        elif share < 0.70:
            self.type(who)
        elif share < 0.78:
            text = self.counted(self.text(100, 900))
            self.line(who, f"edit here as:version\n{text}\n←")
        elif share < 0.86:
            self.type_in_document(who)
        else:
            lines = (
                "prune here",
                "undo",
                "switch up",
                'find "the words"',
                "tag here #kept",
                "view here",
            )
            self.line(who, self.dice.choice(lines))

    def type(self, who: Any) -> None:
        """A text is typed: drafts are stored on the way, then it is sent."""
        from loom.access import workspace_of
        from loom.trees.commands import drafts
        from loom.trees.commands.drafts import SentDraft

        text = self.counted(self.text(100, 900))
        view = workspace_of(who.participant, self.tree)
        for part in (3, 2, 1):
            sent = SentDraft("buffer", text[: len(text) // part])
            drafts.save(who, view, view.position, sent)
        self.line(who, f"respond here\n{text}\n←")

    def answer(self, who: Any) -> None:
        """The model continues, once or twice, and the person goes on from the first."""
        from loom.turns.models import Generation
        from tests.agents.acting import run_lane
        from tests.providers.scripts import says

        many = self.dice.choice((1, 2))
        texts = [self.counted(self.text(600, 2_400)) for _ in range(many)]
        for text in texts:
            pieces = [text[at : at + 4] for at in range(0, len(text), 4)]
            self.provider.script(says(*pieces))
        self.line(who, f'continue from here n:{many} using agent:"Echo"')
        waiting = Generation.objects.filter(ended_at=None)
        for lane in waiting.order_by("lane").values_list("lane", flat=True).distinct():
            run_lane(lane)
        generations = Generation.objects.filter(node__isnull=False).order_by("-pk")
        self.line(who, f"switch to {generations.values_list('node__local_id', flat=True)[0]}")

    def type_in_document(self, who: Any) -> None:
        """A passage is typed at the end of the document, in three pauses."""
        from loom.documents import log as document_log
        from loom.text.edits import Edit

        text = self.counted(self.text(90, 600))
        third = len(text) // 3
        for piece in (text[:third], text[third : 2 * third], text[2 * third :]):
            end = len(document_log.opened(self.document).text)
            update = document_log.opened(self.document).edit([Edit(end, end, piece)])
            document_log.append_typed(self.document, update, [who.participant.uid])
        document_log.settle(self.document)


def report(day: int, use: Use, before: dict[str, int], most: int = 14) -> None:
    """Prints what each written byte has cost so far, by table."""
    now = sizes()
    grown = {name: size - before.get(name, 0) for name, size in now.items()}
    rows = sorted(grown.items(), key=lambda row: -row[1])
    print(f"day {day}: {use.written:,} bytes written; the database grew by {grown['all']:,}")
    for name, size in rows[: most + 1]:
        if size > use.written / 200:
            print(f"  {name:28} {size / use.written:6.2f}", flush=True)


def list_parts(use: Use, before: dict[str, int]) -> None:
    """Prints the rows and indexes that grew most."""
    grown = {name: size - before.get(name, 0) for name, size in parts().items()}
    for name, size in sorted(grown.items(), key=lambda row: -row[1]):
        if size > use.written / 70:
            print(f"  {name:60} {size / use.written:6.3f}")


def main(days: int, acts: int) -> None:
    """Simulates the month."""
    from django.conf import settings

    from loom.operations import trim
    from tests.providers.scripted import ScriptedProvider

    with ScriptedProvider() as provider:
        settings.PROVIDER_ALLOW = (provider.entry,)
        use = Use(provider, Clock())
        for name, kept in RULES.items():
            trim.choose(name, kept)
        before, parts_before = sizes(), parts()
        half = (0, 0)
        for day in range(1, days + 1):
            use.day(acts)
            if day in REPORTS or day == days:
                report(day, use, before)
            if day == days // 2:
                half = use.written, sizes()["all"]
        grown = (sizes()["all"] - half[1]) / (use.written - half[0])
        print(f"the second half alone: {grown:.2f}")
        list_parts(use, parts_before)


if __name__ == "__main__":
    open_installation()
    given = [int(argument) for argument in sys.argv[1:]]
    main(*(given + [30, 30][len(given) :]))
