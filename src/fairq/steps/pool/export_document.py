"""Write the whole state as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from fairq.formats.json_form import as_unicode
from fairq.state import document
from fairq.state.connection import reading

_TOGETHER = 1000
"""Elements of a long list that are written at a time."""


def export_document(path: Path, stream: IO[str]) -> None:
    """Write a snapshot of the state at *path* to *stream*; `import_document` reads it."""
    with reading(path) as state:
        whole = document.export(state)
    before = "{"
    for name, value in whole.items():
        stream.write(f"{before}\n {json.dumps(name)}: ")
        stream.writelines(_pieces(value))
        before = ","
    stream.write("\n}\n")


def _pieces(value: Any) -> Iterator[str]:
    """Yield the text of a member of the document."""
    if not isinstance(value, list) or len(value) <= _TOGETHER:
        yield _text(value)
        return
    before = "["
    for start in range(0, len(value), _TOGETHER):
        yield before + _text(value[start : start + _TOGETHER]).removeprefix("[").removesuffix("\n ]")
        before = ","
    yield "\n ]"


def _text(value: Any) -> str:
    text = as_unicode(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    try:
        # Python's json would take five times as long to indent it.
        indented = msgspec.json.format(text, indent=1)
    except msgspec.DecodeError:  # of a lone surrogate, or a number that is none
        indented = as_unicode(json.dumps(value, ensure_ascii=False, indent=1))
    return indented.replace("\n", "\n ")
