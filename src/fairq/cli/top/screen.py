"""The screen of ``fairq top``: pages of rows, and what can be done to jobs."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from fairq.cli.figures import counted
from fairq.cli.invocation import Invocation
from fairq.cli.job_options import job_editor
from fairq.cli.output import Column
from fairq.cli.output.terminal import is_plain
from fairq.cli.top.dialogs import Page as TextPage
from fairq.cli.top.dialogs import Printed, Question
from fairq.cli.top.pages import PAGES, Page, Rows
from fairq.cli.top.table import RowTable
from fairq.errors.base import FairqError

_KEYS = "q quit  / filter  s sort  t tail  w why  h hold  l release  x remove  ? all keys"
_HELP = """\
Arrows, j k      move the cursor         PgUp PgDn Home End   move it further
1 2 3            queue, slots, groups (2 and 3 for administrators)
s  S             sort by the next column; turn the order round
/                show only rows with all the words that you type; Esc: all rows
Space  *  c      select a row, all rows that are shown, none
r                look at the pool at once

On the selected jobs, else on the job of the cursor:
t                tail: follow the output
w                why the job waits, or what it waits for
h  l  x          hold, release, remove, after a question

?  this page     q, Ctrl-C  end          Ctrl-Z  suspend
"""
_DONE = {"hold": "held", "release": "released", "remove": "removed"}
_SHOWN_NAMES = 5
_TOLD = 8.0
"""Seconds for which a message stays."""
_LONGEST = 60.0
"""Seconds between two looks at a state that has not changed: running jobs have run longer."""
_SHARE = 10
"""How many times longer than the last look took, the next one waits."""


class Screen(App[None]):
    """The program; *ended_by* is the signal that has ended it, *fault* the error."""

    CSS = """
    Screen { layout: vertical; background: ansi_default; color: ansi_default; }
    Static { height: auto; background: ansi_default; text-wrap: nowrap; text-overflow: ellipsis; }
    #head { height: 2; text-style: bold; }
    RowTable { height: 1fr; overflow-x: hidden; scrollbar-size-vertical: 1; background: ansi_default; }
    #foot { text-style: reverse; height: 1; }
    #filter { display: none; height: 1; border: none; padding: 0; background: ansi_default; }
    Question { align: center middle; background: transparent; }
    #question { width: auto; max-width: 90%; border: ascii ansi_default; padding: 0 1; background: ansi_default; }
    TextPage, Printed { background: ansi_default; }
    #page, #log { height: 1fr; background: ansi_default; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", show=False, priority=False),
        Binding("ctrl+z", "suspend_process", show=False),
        *(Binding(str(number), f"page({number - 1})", show=False) for number in range(1, len(PAGES) + 1)),
        Binding("s", "sort", show=False),
        Binding("S", "reverse", show=False),
        Binding("slash", "filter", show=False),
        Binding("escape", "all_rows", show=False),
        Binding("r", "look", show=False),
        Binding("t", "tail", show=False),
        Binding("w", "why", show=False),
        Binding("h", "change('hold')", show=False),
        Binding("l", "change('release')", show=False),
        Binding("x,delete", "change('remove')", show=False),
        Binding("question_mark,f1", "keys", show=False),
    ]
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, invocation: Invocation, path: Path, every: int) -> None:
        super().__init__(ansi_color=True)
        self.ended_by = 0
        self.fault: Exception | None = None
        self._invocation, self._path, self._every = invocation, path, every
        self._pages = PAGES if invocation.actor(invocation.now()).administrator else PAGES[:1]
        self._page = self._pages[0]
        self._columns: Sequence[Column] = ()
        self._rows: Rows = []
        self._summary = ""
        self._sorted: Column | None = None
        self._is_reverse = False
        self._words: list[str] = []
        self._is_looking = False
        self._looked, self._took, self._stamp = 0.0, 0.0, 0
        self._message, self._told = "", 0.0

    def compose(self) -> ComposeResult:
        """Lay out the screen: the head, the headings, the rows, an input line, the keys."""
        yield Static(id="head")
        yield Static(id="headings")
        yield RowTable(
            colour=not os.environ.get("NO_COLOR"), dots=".." if is_plain(sys.__stdout__ or sys.stdout) else "…"
        )
        yield Input(id="filter", select_on_focus=False)
        yield Static(id="foot")

    def on_mount(self) -> None:
        """Read the first page, and start looking for changes from time to time."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, number)
        self.query_one(RowTable).focus()
        self._look()
        self.set_interval(1, self._tick)

    def _print_error_renderables(self) -> None:
        """Leave an error to the command, which reports it in one line."""
        self.fault = self._exception
        self._exit_renderables.clear()

    def _end(self, number: int) -> None:
        self.ended_by = number
        self.exit()

    def _tick(self) -> None:
        """Look again if the state may have changed; show the time."""
        since = time.monotonic() - self._looked
        is_due = since >= _LONGEST or (since >= max(self._every, _SHARE * self._took) and self._changed())
        if is_due and not self._is_looking:
            self._look()
        self._show_head()
        self._show_foot()

    def _changed(self) -> bool:
        with suppress(OSError):
            return self._path.stat().st_mtime_ns != self._stamp
        return True

    def _look(self) -> None:
        self._is_looking = True
        self._looked = time.monotonic()
        with suppress(OSError):
            self._stamp = self._path.stat().st_mtime_ns
        self._read(self._page)

    @work(thread=True, exclusive=True, group="read", exit_on_error=False)
    def _read(self, page: Page) -> None:
        """Read a page; the first rows are shown at once where none are."""
        rows: Rows = []
        columns: Sequence[Column] = ()

        def take(page_columns: Sequence[Column], batch: Rows) -> None:
            nonlocal columns
            columns = page_columns
            rows.extend(batch)
            if not self._rows:
                self.call_from_thread(self._take, page, columns, list(rows), "reading")

        try:
            summary = page.read(self._invocation, take)
        except (FairqError, OSError) as error:
            self.call_from_thread(self._tell, str(error))
            summary = ""
        self.call_from_thread(self._take, page, columns, rows, summary, is_all=True)

    def _take(self, page: Page, columns: Sequence[Column], rows: Rows, summary: str, *, is_all: bool = False) -> None:
        if is_all:
            self._is_looking = False
            self._took = time.monotonic() - self._looked
        if page is self._page:
            self._columns, self._rows, self._summary = columns, rows, summary
            self._show_rows()

    def _show_rows(self) -> None:
        """Show the rows with all words of the filter, in order."""
        rows: Sequence[dict[str, Any]] = self._rows
        if self._words:
            names = [column.attribute for column in self._columns]
            rows = [row for row in rows if _has(row, names, self._words)]
        if self._sorted is not None and self._sorted.attribute != self._page.key:
            attribute = self._sorted.attribute
            rows = sorted(rows, key=lambda row: _order(row.get(attribute)), reverse=self._is_reverse)
        elif self._is_reverse:
            rows = rows[::-1]
        self.query_one(RowTable).show(self._columns, rows, self._page.key)
        self.on_row_table_moved()

    def on_row_table_moved(self) -> None:
        """Show the parts that depend on the rows: headings, numbers, keys."""
        table = self.query_one(RowTable)
        headings = Text("\n").join(Text("  ") + line for line in table.headings)
        self.query_one("#headings", Static).update(headings)
        self._show_head()
        self._show_foot()

    def _show_head(self) -> None:
        table = self.query_one(RowTable)
        tabs = "  ".join(
            f"[{number}]{page.name}" if page is self._page else f" {number} {page.name}"
            for number, page in enumerate(self._pages, 1)
        )
        column = self._columns[0] if self._columns else None
        by = (self._sorted or column) if self._columns else None
        first = Text("  ".join(["fairq top", *([tabs] if len(self._pages) > 1 else []), time.strftime("%H:%M:%S")]))
        parts = [
            self._summary,
            *([f"by {by.heading}{' down' if self._is_reverse else ''}"] if by else []),
            *([f"{len(table.rows)} with {' '.join(self._words)}"] if self._words else []),
            *([f"{len(table.selected)} selected"] if table.selected else []),
        ]
        second = Text("  ".join(filter(None, parts)))
        self.query_one("#head", Static).update(first + Text("\n") + second)

    def _show_foot(self) -> None:
        is_told = self._message and time.monotonic() < self._told + _TOLD
        text = self._message if is_told else _KEYS
        self.query_one("#foot", Static).update(Text(text))

    def _tell(self, message: str) -> None:
        self._message, self._told = message, time.monotonic()
        self._show_foot()

    def action_page(self, number: int) -> None:
        """Show another page."""
        if number >= len(self._pages):
            self._tell("slots and groups are for administrators of the pool")
            return
        if self._pages[number] is not self._page:
            self._page, self._rows, self._sorted, self._is_reverse = self._pages[number], [], None, False
            self.action_all_rows()
            self.query_one(RowTable).selected = {}
            self._look()

    def action_look(self) -> None:
        """Look at the pool at once."""
        if not self._is_looking:
            self._look()

    def action_sort(self) -> None:
        """Sort by the next column."""
        columns = list(self._columns)
        if columns:
            index = columns.index(self._sorted) if self._sorted in columns else 0
            self._sorted = columns[(index + 1) % len(columns)]
            self._show_rows()

    def action_reverse(self) -> None:
        """Turn the order round."""
        self._is_reverse = not self._is_reverse
        self._show_rows()

    def action_filter(self) -> None:
        """Let the user type the words of the filter."""
        line = self.query_one(Input)
        line.display = True
        line.value = " ".join(self._words)
        self.screen.set_focus(line)  # at once: the next key belongs to it

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Show only rows with the words that were typed."""
        self._filter(event.value.lower().split())

    def action_all_rows(self) -> None:
        """Show all rows."""
        self._filter([])

    def _filter(self, words: list[str]) -> None:
        self.query_one(Input).display = False
        self.screen.set_focus(self.query_one(RowTable))
        if words != self._words:
            self._words = words
            self._show_rows()

    def _jobs(self) -> list[str]:
        """Return the chosen jobs; if there are none, show a message."""
        if self._page is not self._pages[0]:
            self._tell("jobs are on page 1")
            return []
        chosen = self.query_one(RowTable).chosen()
        if not chosen:
            self._tell("there is no job")
        return chosen

    def action_tail(self) -> None:
        """Follow the output of the chosen jobs."""
        if chosen := self._jobs():
            self.push_screen(Printed(["tail", "-f", "-n", "200", *chosen], f"tail {_named(chosen)}", follow=True))

    def action_why(self) -> None:
        """Explain why the job of the cursor waits."""
        if self._jobs():
            job = self.query_one(RowTable).named().partition("-")[0]
            self.push_screen(Printed(["why", job], f"why {job}"))

    def action_keys(self) -> None:
        """Show the keys."""
        self.push_screen(TextPage(_HELP))

    def action_change(self, word: str) -> None:
        """Hold, release or remove the chosen jobs, after a question."""
        chosen = self._jobs()

        def answered(yes: bool | None) -> None:
            if yes:
                self._change(word, chosen)

        if chosen:
            self.push_screen(Question(f"{word.capitalize()} {_named(chosen)}?"), answered)

    @work(thread=True, group="change", exit_on_error=False)
    def _change(self, word: str, jobs: list[str]) -> None:
        from fairq.steps.jobs.selection import selection_of

        try:
            editor, _ = job_editor(self._invocation, None, None, dry_run=False)
            changed = getattr(editor, word)(selection_of(jobs), None)
            count = sum(number for _, number in changed.targets)
            message = f"{counted(count, 'job')} {_DONE[word]}"
        except FairqError as error:
            message = str(error)
        self.call_from_thread(self._changed_jobs, message)

    def _changed_jobs(self, message: str) -> None:
        self._tell(message)
        self.query_one(RowTable).selected = {}
        self.action_look()


def _named(jobs: Sequence[str]) -> str:
    shown = ", ".join(jobs[:_SHOWN_NAMES])
    return shown if len(jobs) <= _SHOWN_NAMES else f"{shown} and {len(jobs) - _SHOWN_NAMES} more"


def _has(row: dict[str, Any], names: Sequence[str], words: Sequence[str]) -> bool:
    text = " ".join(str(row.get(name, "")) for name in names).lower()
    return all(word in text for word in words)


def _order(value: Any) -> tuple[int, float, str]:
    """Return the sort key of a value: numbers, then texts, then nothing."""
    if isinstance(value, bool | int | float):
        return (0, value, "")
    return (2, 0, "") if value is None else (1, 0, str(value).lower())
