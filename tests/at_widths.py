"""fairq on a terminal of 80 columns that shows everything it prints at the other WIDTHS as well.

``python -m tests.at_widths queue`` is ``fairq queue``. What is printed is drawn by the same code once for each width:
the terminal gets that width, a line with MARK and the width, and the text. After the last one comes MARK alone.
"""

from __future__ import annotations

import fcntl
import math
import struct
import sys
import termios
from typing import Any

from fairq.cli.app import main
from fairq.cli.output import messages, progress_line, renderer

WIDTHS = (60, 120, 80)
MARK = "\x1d"


def _resize(cells: int) -> None:
    fcntl.ioctl(sys.stdout.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, cells, 0, 0))


def _at_each_width(emit: Any) -> Any:
    def emit_at_each(view: renderer.View, output: renderer.Output, stream: Any) -> None:
        if not stream.isatty() or output.format != "table":
            emit(view, output, stream)
            return
        if view.text is not None and not isinstance(view.text, str):
            view.text = list(view.text)
        for table in view.tables:
            table.records = list(renderer._selected(table, output))
        for cells in WIDTHS:
            _resize(cells)
            stream.write(f"{MARK}{cells}\n")
            emit(view, output, stream)
        stream.write(f"{MARK}\n")

    return emit_at_each


def _told_at_each_width(prose: Any) -> Any:
    def lines(line: str, cells: int | None) -> list[str]:
        if cells is None:
            return prose(line, cells)
        return [text for size in WIDTHS for text in (f"{MARK}{size}", *prose(line, size))] + [MARK]

    return lines


if __name__ == "__main__":
    progress_line.PATIENCE = math.inf  # a busy machine shows no bar more than an idle one
    renderer._emit = _at_each_width(renderer._emit)
    messages.prose = _told_at_each_width(messages.prose)
    sys.exit(main())
