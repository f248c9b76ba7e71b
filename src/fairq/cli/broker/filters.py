"""``fairq broker filters``: the filters and weights in order."""

from __future__ import annotations

from fairq.cli.broker.sentences.reasons import meaning_of
from fairq.cli.command import App, Context
from fairq.cli.output import Column, Table, View, emit

app = App()


@app.listing(
    "filters",
    examples="""
        fairq broker filters --constraint 'activity == "analysis"'
        fairq broker filters --constraint 'origin != "fairq"'     # plugins only
    """,
)
def filters(context: Context) -> None:
    """List the filters and weights of the brokerage in their order.

    An installed package can add filters and weights through the entry points fairq.broker.filters and
    fairq.broker.weights. Each entry point names one object or a sequence of objects. The module
    fairq.engine.brokerage.flow.plugin describes them: a name, a stage, reasons and, optionally, a place in the order.
    Its function per_queue turns a function of task, queue and world into a filter. That function returns the values
    compared, or None if the queue passes. per_queue_weight turns a function into a weight.

    JSON has activity, kind (filter or weight), place, stage, name, reasons, origin (the entry point) and meanings.
    """
    from fairq.steps.broker.flows import list_filters

    output = context.obj.output
    columns = [
        Column("Activity", "activity", level=3),
        Column("Kind", "kind", level=1),
        Column("Place", "place", lambda place: f"{place:g}", "right", level=5),
        Column("Stage", "stage", level=2),
        Column("Name", "name"),
        Column("Reasons", "reasons", lambda reasons: ", ".join(dict.fromkeys(reasons)), level=1),
        Column("Origin", "origin", level=4),
    ]
    records = list_filters()
    for record in records:
        for reason in record["meanings"]:
            reason["meaning"] = meaning_of(reason["reason"], record["stage"], reason["meaning"])
    emit(View(tables=[Table(columns, records)]), output)
