"""``fairq broker``: PanDA's scheme. Its commands and their modules.

A command is a module with an ``app`` (see `fairq.cli.command`) and a line in `COMMANDS`. The kinds of data have
``import`` and ``list``, generated from their description.
"""

from __future__ import annotations

from fairq.cli.command import App, Listing
from fairq.columns.broker.kinds import KINDS

_DATA = "fairq.cli.broker.data"

COMMANDS: dict[str, Listing] = {
    "import": Listing("fairq.cli.broker.bundle", "Import all kinds of data from a directory or archive."),
    "status": Listing("fairq.cli.broker.status", "Show the grid at a glance: queues, tasks, and why they are pending."),
    "run": Listing("fairq.cli.broker.run", "Assign waiting tasks to queues."),
    "diff": Listing("fairq.cli.broker.diff", "Show what changed between two runs, and why."),
    "why": Listing("fairq.cli.broker.why", "Explain why a task has its queues or none, or why tasks wait."),
    "timeouts": Listing("fairq.cli.broker.timeouts", "Find jobs past their time limit; end or rebroker them."),
    "lint": Listing("fairq.cli.broker.lint", "List likely queue misconfigurations."),
    "filters": Listing("fairq.cli.broker.filters", "List the filters and weights of the brokerage."),
    "pseudoqueues": Listing("fairq.cli.broker.pseudoqueues", "Show how unified queues are split."),
    "nuclei": Listing("fairq.cli.broker.nuclei", "Show the nuclei, their queues and storage."),
    "config": Listing("fairq.cli.broker.config", "Manage PanDA's settings (gdpconfig): list, set, unset, import."),
    "demo": Listing("fairq.cli.broker.demo", "Show a small grid on a scratch state."),
    **{name: Listing(_DATA, kind.summary, is_one=True) for name, kind in KINDS.items()},
}
"""Every command, in the order of the help."""


_HELP = (
    "PanDA's brokerage: assign tasks to queues and explain why.",
    "broker import reads all data of the pool from a directory or archive; each kind also has an import of its own. "
    "broker run assigns waiting tasks to queues; broker why explains the decisions.",
    "An imported record updates the stored record with the same keys; columns that it lacks stay unchanged. With "
    "--replace, stored records that are not in the file are removed. Numbers may be texts; null and an empty cell mean "
    "the default. A list is JSON, or texts separated by commas. A time is in seconds since 1970 or ISO 8601, in UTC "
    "unless it has a zone. If some records are invalid, the command reports them by name, imports the others, and "
    "exits with 80. If no record is valid, nothing is changed. If a value is not valid and is read as another one, the "
    "exit code is 117; --lenient accepts these values.",
)


app = App(help="\n\n".join(_HELP), epilog="Run 'fairq broker COMMAND --help' for more.", lazy=COMMANDS)
