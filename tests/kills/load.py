"""Two people who write and ask while processes die, each with an outbox as browsers have one."""

import random
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.patience import PATIENCE_S

ASKED_AT_ONCE = 3
ASKS_EVERY = 5  # lines


@dataclass
class Told:
    """What was acknowledged: the text of each node by its id, the ids of the generations, the
    longest text that was seen of each while it ran, and which nodes were pruned and stayed so."""

    texts: dict[str, str] = field(default_factory=dict)
    generations: list[str] = field(default_factory=list)
    shown: dict[str, str] = field(default_factory=dict)
    pruned: set[str] = field(default_factory=set)
    repeated: int = 0


class Person(threading.Thread):
    """Sends lines one after the other; a line goes out with the same key until it is heard."""

    def __init__(
        self, client: httpx.Client, tree: str, name: str, seed: int, *, pause_s: float = 0.04
    ) -> None:
        super().__init__(daemon=True)
        self._client, self._tree, self._name = client, tree, name
        self._pause_s = pause_s  # between two lines, at most
        self._dice = random.Random(f"{seed}{name}")
        self._stopping = threading.Event()
        self._open: list[str] = []
        self.told = Told()
        self.error: Exception | None = None

    def finish(self) -> Told:
        """Stops after the line that is on its way; what was acknowledged."""
        self._stopping.set()
        self.join(3 * PATIENCE_S)
        assert not self.is_alive(), "a line is still on its way"
        if self.error is not None:
            raise self.error
        return self.told

    def run(self) -> None:
        number = 0
        try:
            while not self._stopping.wait(self._dice.uniform(0.0, self._pause_s)):
                number += 1
                self._do(number)
        except Exception as error:  # told by finish, in the thread of the test
            self.error = error

    def _do(self, number: int) -> None:
        if number % ASKS_EVERY == 0:
            self._ask()
        else:
            self._write(f"{self._name} says text {number}.")

    def _write(self, text: str) -> str:
        answer = self._sent(f'respond root "{text}"')
        named = str(answer["refs"][0])
        self.told.texts[named] = text
        return named

    def _ask(self) -> None:
        self._look()
        if len(self._open) < ASKED_AT_ONCE:
            generations = self._sent('continue from root using agent:"Scripted"')["generations"]
            self.told.generations += generations
            self._open += generations

    def _look(self) -> None:
        """Notes what somebody who looks on is shown of the generations that run."""
        for uid in list(self._open):
            row = self._got(f"/generations/{uid}")
            self.told.shown[uid] = max(self.told.shown.get(uid, ""), row["text"], key=len)
            if row["status"] not in ("queued", "running"):
                self._open.remove(uid)

    def _sent(self, line: str) -> dict[str, Any]:
        body = {"line": line, "key": uuid.uuid4().hex}
        answer = self._heard("POST", f"/trees/{self._tree}/commands", json=body)
        self.told.repeated += bool(answer.get("repeated"))
        return answer

    def _got(self, path: str) -> dict[str, Any]:
        return self._heard("GET", path)

    def _heard(self, method: str, path: str, **sent: Any) -> dict[str, Any]:
        """The answer, however often it takes. 5xx and 429 are no answers; others are wrong."""
        while True:
            try:
                answer = self._client.request(method, path, **sent)
            except httpx.TransportError:
                answer = None
            if answer is not None and answer.status_code in (200, 202):
                return dict(answer.json())
            if answer is not None and answer.status_code < 500 and answer.status_code != 429:
                raise AssertionError(f"{method} {path}: {answer.status_code} {answer.text}")
            threading.Event().wait(0.05)


class Pruner(Person):
    """Writes, prunes, restores and undoes. Nobody else may be signed in as this person: `undo`
    takes back their last step."""

    def _do(self, number: int) -> None:
        named = self._write(f"{self._name} says text {number}.")
        if number % 2:
            self._sent(f"prune {named}")
            self.told.pruned.add(named)
            if number % 4 == 1:
                self._sent(self._dice.choice(["undo", f"restore {named}"]))
                self.told.pruned.discard(named)
