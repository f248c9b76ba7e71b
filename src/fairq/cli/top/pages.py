"""The pages of ``fairq top``: the queue, the slots, and the groups, read in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Record
from fairq.cli.output.cells import values

_FIRST, _BATCH = 1024, 16384

Rows = list[dict[str, Any]]
Take = Callable[[Sequence[Column], Rows], None]
"""A function that a page calls with its columns and each batch of its rows."""


class Page(Struct, frozen=True):
    """A page: its *name*, the attribute *key* that names a row, and how it is read; *read* returns its summary."""

    name: str
    key: str
    read: Callable[[Invocation, Take], str]


def _queue(invocation: Invocation, take: Take) -> str:
    from fairq.cli.queue import queue_columns, shown_rows, summary_line
    from fairq.steps.jobs.view import queue_pages

    with queue_pages(invocation.existing_state, invocation.settings, invocation.now()) as pages:
        _pass_rows(queue_columns(pages), shown_rows(pages.rows(), waits=pages.has_waits()), take)
        return summary_line(pages, is_brief=True)


def _slots(invocation: Invocation, take: Take) -> str:
    from fairq.cli.slots_views import slot_columns
    from fairq.steps.pool.current_ads import has_gpus, look

    ads = look(invocation.existing_state, [], invocation.now())
    drained = any("LastDrainStartTime" in ad for ad in ads)
    _pass_rows(slot_columns(drained=drained, gpus=has_gpus(ads)), ads, take)
    claimed = sum(ad.get("State") == "Claimed" for ad in ads)
    return f"{len(ads)} slots; {claimed} claimed"


def _groups(invocation: Invocation, take: Take) -> str:
    from fairq.cli.userprio_tree import tree_view
    from fairq.steps.userprio.tree import share_tree

    table = tree_view(*share_tree(invocation.existing_state, invocation.settings, invocation.now()), ()).tables[0]
    _pass_rows(table.columns, table.records, take, ("is_group",))
    return table.title or ""


PAGES = (Page("queue", "Jobs", _queue), Page("slots", "Name", _slots), Page("groups", "name", _groups))
"""The pages; administrators see all, others the first."""


def _pass_rows(columns: Sequence[Column], records: Iterable[Record], take: Take, extra: Sequence[str] = ()) -> None:
    """Pass rows to *take*: the values of *columns*, and the *extra* attributes that their colours read."""
    names = [*(column.attribute for column in columns), *extra]
    read = [Column(name, name) for name in names]
    remaining = iter(records)
    size = _FIRST
    while batch := list(islice(remaining, size)):
        take(
            columns,
            [
                dict(zip(names, row, strict=True))
                for row in zip(*(values(column, batch) for column in read), strict=True)
            ],
        )
        size = _BATCH
    if size == _FIRST:
        take(columns, [])
