"""``fairq broker pseudoqueues``: what unified queues are brokered as."""

from __future__ import annotations

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Output, Table, View, emit

app = App()


@app.command("pseudoqueues", examples="""fairq broker pseudoqueues --constraint 'unified == "CERN"'""")
def pseudoqueues(invocation: Invocation, output: Output) -> None:
    """Show what the unified queues are brokered as.

    A unified queue (capability ucore) is split by the resource types that its slots can hold, see broker types. Cores
    and memory are those of a job's part of a slot.
    """
    from fairq.steps.broker.derived import pseudo_queues

    names = ("queue", "resource_type", "status", "corecount", "minrss", "maxrss", "maxwdir", "maxtime")
    empty = "there are no unified queues"
    records = pseudo_queues(invocation.state_path)
    fields = ["queue", "unified", *names[1:]]
    emit(View(tables=[Table([Column(name, name) for name in names], records, empty=empty)], fields=fields), output)
