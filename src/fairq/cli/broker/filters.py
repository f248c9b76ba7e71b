"""``fairq broker filters``: what tasks go through, in order."""

from __future__ import annotations

from fairq.cli.command import App
from fairq.cli.invocation import Invocation
from fairq.cli.output import Column, Output, Table, View, emit

app = App()


@app.command(
    "filters",
    examples="""
        fairq broker filters --constraint 'Activity == "analysis"'
        fairq broker filters --constraint 'Origin != "fairq"'     # plugins only
    """,
)
def filters(invocation: Invocation, output: Output) -> None:
    """List the filters and weights of the brokerage in their order.

    All of them are plugins. An installed distribution adds its own by the entry points fairq.broker.filters and
    fairq.broker.weights, each of which names one object, or a sequence of them, of the shapes that the module
    fairq.engine.brokerage.flow.plugin describes: a name, a place in the order, a stage and its reasons. per_queue there
    makes a filter of a function (task, queue, world) that returns what it compared, or None where the queue passes;
    per_queue_weight makes a weight.

    JSON has Activity, Kind (filter or weight), Place, Stage, Name, Reasons, Origin (the entry point) and Meanings.
    """
    from fairq.steps.broker.filters import look

    columns = [
        Column("Activity", "Activity"),
        Column("Kind", "Kind"),
        Column("Place", "Place", lambda place: f"{place:g}", "right"),
        Column("Stage", "Stage"),
        Column("Name", "Name"),
        Column("Reasons", "Reasons", lambda reasons: ", ".join(dict.fromkeys(reasons))),
        Column("Origin", "Origin"),
    ]
    emit(View(tables=[Table(columns, look())]), output)
