"""The zoo: for every schema that was ever released, a state file of it and the document it holds.

``python -m tests.state.zoo`` adds the pair of today's schema, before its release; an old pair is never
made anew.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.state.pools import fill

from fairq.state import checksums, document
from fairq.state.connection import reading, writing
from fairq.state.schema import MIGRATIONS

ZOO = Path(__file__).parent.parent / "data" / "states"


def main() -> None:
    """Write the file and the document of today's schema."""
    state = ZOO / f"schema{len(MIGRATIONS)}.db"
    with writing(state) as opened:
        fill(opened)
    with closing(sqlite3.connect(state)) as connection:
        checksums.register(connection)
        # Small pages: the file is kept for ever.
        connection.executescript("PRAGMA page_size = 512; VACUUM")
    with reading(state) as opened:
        text = json.dumps(document.export(opened), indent=1)
    state.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main()
