"""Write the whole state as one JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO

from fairq.dumps.json_form import as_unicode
from fairq.state import document
from fairq.state.connection import reading


def export_document(path: Path, stream: IO[str]) -> None:
    """Write a snapshot of the state at *path* to *stream*; `import_document` reads it."""
    with reading(path) as state:
        whole = document.export(state)
    pieces = json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(whole)
    stream.writelines(map(as_unicode, pieces))
    stream.write("\n")
