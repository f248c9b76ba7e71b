"""``fairq broker nuclei``: the sites that collect the output of tasks."""

from __future__ import annotations

from fairq.cli.command import App, Context
from fairq.cli.output import Column, Table, View, emit

app = App()


@app.listing("nuclei", examples="fairq broker nuclei --json")
def nuclei(context: Context) -> None:
    """Show the nuclei: sites with that role, their queues, and the endpoint where output is gathered.

    The column sharing lists online queues of other sites whose default output storage the nucleus can read.
    """
    from fairq.steps.broker.flows import rules_in_force
    from fairq.steps.broker.lists import nuclei as step

    invocation, output = context.obj, context.obj.output
    columns = [
        Column("nucleus", "nucleus"),
        Column("queues", "queues", ",".join),
        Column("output", "output", level=2),
        Column("write_wan", "write_wan", level=3),
        Column("bareNucleus", "bareNucleus", level=4),
        Column("sharing", "sharing", ",".join, level=1),
    ]
    records = step(invocation.state_path, rules_in_force(invocation.settings))
    empty = "there is no nucleus; give a site that role with fairq broker sites import"
    emit(View(tables=[Table(columns, records, empty=empty)]), output)
