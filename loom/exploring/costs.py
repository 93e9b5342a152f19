"""What the texts and judgements of an exploration cost at most."""

from collections.abc import Sequence
from dataclasses import dataclass

from loom.access import Actor
from loom.exploring.budget import RATING_TOKENS, Amount, Shape
from loom.money import spending
from loom.money.queries.token_counts import path_tokens
from loom.money.spending import CandidateRequest
from loom.people.models import Participant
from loom.trees.models import Node, Tree, Workspace

BEFORE = 2_000  # characters of the text above that a judge reads with a text
QUESTION = 400  # tokens of the instructions and the goal that a judge reads


@dataclass(frozen=True)
class Callers:
    """Who writes, how many tokens at most, and who judges."""

    agent: Participant
    length: int
    judge: Participant | None

    def of_text(self, path: int) -> Amount:
        """What one text below a path of so many tokens costs at most, with its judgement."""
        share = spending.most_of(CandidateRequest(self.agent, 1, self.length), path)
        cost = Amount(1, share.reading + self.length, share.reserved)
        return cost + self.of_rating() if self.judge is not None else cost

    def of_rating(self) -> Amount:
        """What one judgement costs at most."""
        if self.judge is None:
            return Amount()
        request = CandidateRequest(self.judge, 1, RATING_TOKENS)
        share = spending.most_of(request, self.read_by_judge)
        return Amount(1, share.reading + RATING_TOKENS, share.reserved)

    @property
    def read_by_judge(self) -> int:
        """The tokens that a judge reads at most."""
        return BEFORE // 3 + self.length + QUESTION


def most_in_all(callers: Callers, shape: Shape, path: int) -> Amount:
    """What all rounds cost at most from a path of so many tokens on."""
    total, front = Amount(), 1
    for level in range(shape.depth):
        texts = front * shape.n
        total += callers.of_text(path + level * callers.length).times(texts)
        front = min(shape.keep, texts)
    return total


def of_points(
    callers: Callers,
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    points: Sequence[Node],
) -> list[Amount]:
    """What one text below each of these nodes costs at most."""
    return [callers.of_text(path_tokens(actor, tree, workspace, point)) for point in points]
