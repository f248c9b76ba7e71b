"""``fairq broker pseudoqueues``: the pseudo queues of unified queues."""

from __future__ import annotations

from fairq.cli.command import App, Context
from fairq.cli.output import Column, Table, View, emit

app = App()


@app.listing("pseudoqueues", examples="""fairq broker pseudoqueues --constraint 'unified == "CERN"'""")
def pseudoqueues(context: Context) -> None:
    """Show how unified queues are split into pseudo queues.

    A unified queue (capability ucore) is split by the resource types that fit into its slots (see broker types).
    Cores and memory are those of a job's part of a slot.
    """
    from fairq.steps.broker.lists import pseudo_queues

    invocation, output = context.obj, context.obj.output
    names = ("queue", "resource_type", "status", "corecount", "minrss", "maxrss", "maxwdir", "maxtime")
    empty = "there are no unified queues"
    records = pseudo_queues(invocation.state_path)
    fields = ["queue", "unified", *names[1:]]
    columns = [Column(name, name, level=level) for level, name in enumerate(names)]
    emit(View(tables=[Table(columns, records, empty=empty)], fields=fields), output)
