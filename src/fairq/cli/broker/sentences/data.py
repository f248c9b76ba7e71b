"""The notes about data that do not fit together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fairq.cli.figures import counted

if TYPE_CHECKING:
    from fairq.steps.broker.world import Disagreement

_SHOWN = 3
"""Number of tasks that are named."""


def data_notes(unknown_sites: Mapping[int, Sequence[str]], clash: Disagreement | None) -> Iterator[str]:
    """Yield notes about unknown sites of tasks, and about statistics that disagree with imported jobs."""
    for task in list(unknown_sites)[:_SHOWN]:
        yield f"site of task {task} names {', '.join(unknown_sites[task])}, which is no queue"
    if len(unknown_sites) > _SHOWN:
        yield f"the same is true of {counted(len(unknown_sites) - _SHOWN, 'more task')}"
    if clash is not None:
        share = f" of share {clash.share}" if clash.share else ""
        yield (
            f"statistics and imported jobs disagree at {counted(clash.queues, 'queue')}, first at {clash.queue}: "
            f"{clash.told} and {counted(clash.counted, f'{clash.state} job')}{share}; the statistics count"
        )
