"""Write a made-up grid into a directory, as an operator would have it: ``python -m tests.grid.write DIRECTORY``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.grid.published import Grid, published
from tests.grid.tables import dumped

PUBLISHED = frozenset({"queues", "sites", "storages", "relations", "links", "software"})
"""Kinds that CRIC, Rucio and the network publish; a grid has them from there."""


def write(directory: Path, grid: Grid | None = None) -> None:
    """Write the published documents, and what PanDA's tables alone have."""
    grid = grid or Grid()
    directory.mkdir(parents=True, exist_ok=True)
    for name, document in published(grid).items():
        (directory / name).write_text(json.dumps(document))
    for kind, text in dumped(grid).items():
        if kind not in PUBLISHED:
            (directory / f"{kind}.csv").write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
