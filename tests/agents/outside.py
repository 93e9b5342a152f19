"""Somebody who knows Heddle by its REST API alone, and asks an agent for turns."""

from typing import Any

from rest_framework.test import APIClient

from loom.people.models import Participant
from loom.trees.models import Tree
from loom.turns.models import Turn
from tests.agents.acting import went


class Outside:
    """Somebody with an API key, and the agent that they ask."""

    def __init__(self, client: APIClient, tree: Tree, agent: Participant) -> None:
        self.client, self.tree, self.agent = client, tree, agent

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.post(f"/api/{path}", body, format="json")
        return {"http": answer.status_code, **answer.json()}

    def get(self, path: str) -> dict[str, Any]:
        answer = self.client.get(f"/api/{path}")
        return {"http": answer.status_code, **answer.json()}

    def say(self, line: str, **more: Any) -> dict[str, Any]:
        return self.post(f"trees/{self.tree.uid}/commands", {"line": line, **more})

    def ask(self, node: str, **more: Any) -> dict[str, Any]:
        body = {"participant": self.agent.uid, "node": node, **more}
        return self.post(f"trees/{self.tree.uid}/turns", body)

    def turn(self, node: str, **more: Any) -> dict[str, Any]:
        """A turn that has ended."""
        asked = self.ask(node, **more)
        assert asked["http"] == 202, asked
        went(Turn.objects.get(uid=asked["id"]))
        return self.get(f"turns/{asked['id']}")

    def lines(self, turn: dict[str, Any]) -> list[tuple[str, str]]:
        """(line, outcome) of the turn's steps."""
        rows = self.get(f"steps?turn={turn['id']}")["results"]
        return [(row["canonical"] or row["line"], row["outcome"]) for row in rows]

    def node(self, local_id: str) -> dict[str, Any]:
        return self.get(f"trees/{self.tree.uid}/nodes/{local_id}")

    def texts(self) -> list[str]:
        """The texts of all nodes, in order of creation."""
        rows = self.get(f"trees/{self.tree.uid}/nodes?limit=1000")["results"]
        return [self.node(row["id"])["text"] for row in rows]
