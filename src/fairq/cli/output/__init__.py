"""The only place that prints: a command passes a `View` and the `Output` that its user requested."""

from __future__ import annotations

from fairq.cli.output.emit import emit, write_text
from fairq.cli.output.machine import write_json
from fairq.cli.output.progress import progress
from fairq.cli.output.selection import Output, Report
from fairq.cli.output.view import Column, Record, Table, View

__all__ = ["Column", "Output", "Record", "Report", "Table", "View", "emit", "progress", "write_json", "write_text"]
