"""``--out FILE``: the actions needed in PanDA, as JSON or CSV for an operator's script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from fairq.errors.base import UsageError
from fairq.errors.pool import UnwritableExportError

Out = Annotated[
    Path | None,
    Option("--out", metavar="FILE", help="Write the calls and updates for PanDA to FILE (.json or .csv)."),
]
"""``out: Out = None``; pass it to `writer_of`."""

_COLUMNS = (
    "list", "action", "task", "job", "queues", "before", "after", "reason", "code", "method", "path", "data", "update"
)  # fmt: skip


def writer_of(out: Path | None) -> Callable[[dict[str, Any]], None] | None:
    """Return the function that writes a document of actions to *out*, None if *out* is None.

    Raises UsageError for a name that ends in neither ``.json`` nor ``.csv``.
    """
    if out is None:
        return None
    if out.suffix not in (".json", ".csv"):
        raise UsageError(message=f"--out {out}: give a file whose name ends in .json or .csv")

    def write(document: dict[str, Any]) -> None:
        from fairq.common import files

        text = as_csv(document) if out.suffix == ".csv" else as_json(document)
        try:
            files.write(files.followed(out), text.encode())
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise UnwritableExportError(target=out, reason=reason, cure="name another file with --out") from None

    return write


def as_json(document: dict[str, Any]) -> str:
    """Return a document of actions as JSON, one action per line."""
    import json

    from fairq.steps.broker.actions import LISTS

    members = []
    for name, value in document.items():
        if name in LISTS:
            lines = ",\n".join(f"  {json.dumps(action)}" for action in value)
            members.append(f"{json.dumps(name)}: [\n{lines}\n]" if value else f"{json.dumps(name)}: []")
        else:
            members.append(f"{json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def as_csv(document: dict[str, Any]) -> str:
    """Return the actions of a document as CSV: queues separated by blanks, the data of calls and updates as JSON."""
    import csv
    import io
    import json

    from fairq.steps.broker.actions import actions_in

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for action in actions_in(document):
        call = action["call"] or {"method": "", "path": ""}
        data, update = (json.dumps(value) if value else "" for value in (call.get("data"), action["update"]))
        row = {**action, **call, "queues": " ".join(action["queues"]), "data": data, "update": update}
        writer.writerow(row[column] for column in _COLUMNS)
    return text.getvalue()
