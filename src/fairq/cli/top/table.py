"""A table of many rows of which only those on the screen are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from msgspec.structs import replace
from rich.console import Console
from rich.style import Style as RichStyle
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from fairq.cli.output import Column, Table
from fairq.cli.output.terminal import Style
from fairq.cli.output.terminal_table import Drawing

_SAMPLED = 500
"""Number of rows, from all parts of the table, that determine the widths of the columns."""
_MARK = "*"
_CONSOLE = Console(width=10_000, color_system="standard", force_terminal=True)


class RowTable(ScrollView, can_focus=True):
    """Rows of which one has the cursor, and some are selected."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "go(0)", show=False),
        Binding("end,G", "go(-1)", show=False),
        Binding("space", "select", show=False),
        Binding("asterisk", "select_all", show=False),
        Binding("c", "select_none", show=False),
    ]

    class Moved(Message):
        """The cursor, the selection or the rows have changed."""

    def __init__(self, *, colour: bool, dots: str) -> None:
        super().__init__(id="table")
        self._colour, self._dots = colour, dots
        self._columns: Sequence[Column] = ()
        self._key = ""
        self._drawing: Drawing | None = None
        self._drawn: dict[int, Strip] = {}
        self.rows: Sequence[dict[str, Any]] = []
        self.cursor = 0
        self.selected: dict[str, None] = {}
        self.headings: list[Text] = []

    def show(self, columns: Sequence[Column], rows: Sequence[dict[str, Any]], key: str) -> None:
        """Show *rows*, which are named by *key*; the cursor stays on its row if that still exists."""
        former_name = self.named() if key == self._key else ""
        is_shown_first = not self.rows or key != self._key
        self._columns = [replace(column, narrow="cut") if column.narrow == "wrap" else column for column in columns]
        self._key, self.rows = key, rows
        if is_shown_first:
            self.cursor = 0
        elif former_name != self.named():
            index = next((index for index, row in enumerate(rows) if row[key] == former_name), None)
            self.cursor = min(self.cursor, max(0, len(rows) - 1)) if index is None else index
        self._lay_out()

    def named(self) -> str:
        """Return the name of the row with the cursor; empty for no row."""
        return str(self.rows[self.cursor][self._key]) if self.cursor < len(self.rows) else ""

    def chosen(self) -> list[str]:
        """Return the names of the selected rows, else that of the row with the cursor."""
        return list(self.selected) or list(filter(None, [self.named()]))

    def _lay_out(self) -> None:
        step = max(1, len(self.rows) // _SAMPLED)
        sample = [*self.rows[:_SAMPLED], *self.rows[::step], *self.rows[-1:]]
        style = Style(max(20, self.size.width - 2), self._colour, self._dots)
        self._drawing = Drawing(Table(self._columns, []), sample, True, style, False)
        self.headings = [Text.from_ansi(line) for line in self._drawing.lines([])]
        self._drawn.clear()
        self.virtual_size = Size(self.size.width, len(self.rows))
        self._show_cursor()
        self.refresh()

    def on_resize(self) -> None:
        """Fit the columns to the new width."""
        if self._columns:
            self._lay_out()
            self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        """Return a line of the screen."""
        index = self.scroll_offset.y + y
        width = self.size.width
        if index >= len(self.rows):
            return Strip.blank(width)
        if index not in self._drawn:
            self._draw(self.scroll_offset.y, self.scroll_offset.y + self.size.height)
        line = self._drawn.get(index, Strip.blank(width))
        mark = _MARK if self.rows[index][self._key] in self.selected else " "
        line = Strip.join([Strip(Text(f"{mark} ").render(_CONSOLE)), line]).adjust_cell_length(width)
        return line.apply_style(RichStyle(reverse=True)) if index == self.cursor else line

    def _draw(self, first: int, end: int) -> None:
        assert self._drawing is not None
        lines = self._drawing.lines(self.rows[first:end])
        self._drawn = {
            first + number: Strip(segment for segment in Text.from_ansi(line).render(_CONSOLE) if segment.text != "\n")
            for number, line in enumerate(lines)
        }

    def action_move(self, by: int) -> None:
        """Move the cursor *by* rows."""
        self._go(self.cursor + by)

    def action_page(self, by: int) -> None:
        """Move the cursor *by* screens."""
        self._go(self.cursor + by * max(1, self.size.height - 1))

    def action_go(self, index: int) -> None:
        """Move the cursor to the first row, or, for -1, to the last one."""
        self._go(index % max(1, len(self.rows)))

    def _go(self, index: int) -> None:
        self.cursor = max(0, min(index, len(self.rows) - 1))
        self._show_cursor()
        self.refresh()
        self.post_message(self.Moved())

    def _show_cursor(self) -> None:
        self.scroll_to_region(Region(0, self.cursor, 1, 1), animate=False, x_axis=False)

    def action_select(self) -> None:
        """Select or deselect the row with the cursor; go to the next one."""
        name = self.named()
        if name and self.selected.pop(name, name) is not None:
            self.selected[name] = None
        self.action_move(1)

    def action_select_all(self) -> None:
        """Select all rows that are shown."""
        self.selected = dict.fromkeys(str(row[self._key]) for row in self.rows)
        self._go(self.cursor)

    def action_select_none(self) -> None:
        """Select no row."""
        self.selected = {}
        self._go(self.cursor)
