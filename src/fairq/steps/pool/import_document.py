"""Import a whole state: the JSON document of an export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairq.common.depth import DEEPEST, deeper_than
from fairq.errors.pool import InvalidDumpError
from fairq.formats.source import Source, opened
from fairq.state import document, jobs, slots, submitters
from fairq.state.connection import in_memory, writing

_OWN_LEVELS = 5
"""Nesting levels of the document above the values of ads."""


def import_document(path: Path, name: str, *, dry_run: bool = False) -> dict[str, int]:
    """Replace the state at *path* by the state in the document *name*; return its counts.

    With *dry_run*, the document is imported only into a state in memory.

    Raises UnreadableDumpError, InvalidDumpError, InvalidDocumentError, or the state's errors; then nothing
    is changed.
    """
    with opened(name) as source:
        whole = _object(source)
    with in_memory() if dry_run else writing(path) as state:
        document.restore(state, whole)
        return {
            "slots": slots.count(state),
            "jobs": sum(map(sum, jobs.counts_by_submitter(state).values())),
            "accounting_records": len(submitters.load_all(state)),
        }


LARGEST_DOCUMENT = 1 << 31
"""Maximum characters of a document; one with a hundred thousand jobs has about ten million."""


def _object(source: Source) -> dict[str, Any]:
    def problem(what: str, line: int = 1) -> InvalidDumpError:
        cure = "give the document that fairq export writes; dumps go with --slots, --jobs or --accounting"
        return InvalidDumpError.at_line(source.name, line, what, cure)

    text = source.read_all(LARGEST_DOCUMENT)
    if not text.strip():
        raise problem("it is empty")
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as failure:
        raise problem(f"not JSON ({failure.msg})", failure.lineno) from None
    except RecursionError:
        raise problem("it is nested too deeply") from None
    except ValueError:
        raise problem("a number in it has too many digits") from None
    if deeper_than(whole, DEEPEST + _OWN_LEVELS):
        raise problem("it is nested too deeply")
    if not isinstance(whole, dict):
        raise problem("not a state document, which is one object")
    return whole
