"""The only place that prints: a command passes a `View` and the `Output` that its user requested.

Names are loaded on first use, so that a command without output loads none of them. No module here has the name of
an object that it defines: once loaded, Python would find the module instead of the object.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fairq.cli.output.machine import write_json
    from fairq.cli.output.progress_line import progress
    from fairq.cli.output.renderer import emit, write_text
    from fairq.cli.output.selection import Output
    from fairq.cli.output.view import Column, Form, Record, Table, View

__all__ = [
    "Column",
    "Form",
    "Output",
    "Record",
    "Table",
    "View",
    "emit",
    "progress",
    "write_json",
    "write_text",
]

_HOMES = {
    "renderer": ("emit", "write_text"),
    "machine": ("write_json",),
    "progress_line": ("progress",),
    "selection": ("Output",),
    "view": ("Column", "Form", "Record", "Table", "View"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
