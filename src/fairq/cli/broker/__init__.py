"""``fairq broker``: PanDA's scheme. Its commands, and in which module each is.

A command of its own is a module with an ``app``, as `fairq.cli.app` says, and a line in `COMMANDS`. The kinds of data
have ``import`` and ``list``, made from their description.
"""

from __future__ import annotations

import importlib
from typing import Any

from fairq.brokerdata.kinds import KINDS
from fairq.cli.tree import Branch, Entry

_DATA = "fairq.cli.broker.data"

COMMANDS: dict[str, Entry] = {
    "run": Entry("fairq.cli.broker.run", "Assign the tasks that wait to queues."),
    "why": Entry("fairq.cli.broker.why", "Explain why a task goes to its queues, or has none."),
    "timeouts": Entry("fairq.cli.broker.timeouts", "Find the jobs whose time is over, and end or rebroker them."),
    "lint": Entry("fairq.cli.broker.lint", "Tell what about the queues does not mean what it seems."),
    "filters": Entry("fairq.cli.broker.filters", "The filters and weights that tasks go through."),
    "pseudoqueues": Entry("fairq.cli.broker.pseudoqueues", "What the unified queues are brokered as."),
    "nuclei": Entry("fairq.cli.broker.nuclei", "The nuclei, their queues and storage."),
    "config": Entry("fairq.cli.broker.config", "PanDA's own settings (gdpconfig): list, set, unset, import."),
    **{name: Entry(_DATA, kind.summary) for name, kind in KINDS.items()},
}
"""Every command in the order of the help."""


def _load(name: str) -> Any:
    module = importlib.import_module(COMMANDS[name].module)
    app = module.app_of(KINDS[name]) if COMMANDS[name].module == _DATA else module.app
    return app.build(name)


_HELP = (
    "PanDA's brokerage: assign tasks to queues, and say why.",
    "The data of the pool are imported from JSON or CSV, a kind at a time; broker run decides about the tasks that "
    "wait, broker why explains it.",
    "In a file to be imported, a record takes the place of the one with the same keys, but columns that it does not "
    "name stay as they are; with --replace, what is not in the file is removed. Texts for numbers are taken; null and "
    "an empty cell stand for the default. A list is JSON, or texts between commas. A time is in seconds since 1970 or "
    "ISO 8601, UTC without a zone. A record that cannot be used is refused by name, and the others are taken: then the "
    "exit code is 80. If none can be used, nothing is changed.",
)


class _Broker:
    """Builds the command."""

    def build(self, name: str) -> Branch:
        """Return the command under *name*."""
        return Branch(
            COMMANDS,
            _load,
            name=name,
            help="\n\n".join(_HELP),
            epilog="Run 'fairq broker COMMAND --help' for more.",
        )


app = _Broker()
