"""The commands: their names and modules, and their lines in ``fairq --help``."""

from __future__ import annotations

from typing import Any

import typer

from fairq.cli.command import App, Listing

REGISTRY: dict[str, Listing] = {
    "submit": Listing("fairq.cli.submit", "Queue jobs from a submit description, or one command."),
    "queue": Listing("fairq.cli.queue", "Show jobs."),
    "top": Listing("fairq.cli.top", "Show the queue on the whole screen, and change its jobs."),
    "remove": Listing("fairq.cli.job_words", "Remove jobs from the queue.", is_one=True),
    "hold": Listing("fairq.cli.job_words", "Hold jobs.", is_one=True),
    "release": Listing("fairq.cli.job_words", "Release held jobs.", is_one=True),
    "prio": Listing("fairq.cli.prio", "Change the priority of jobs."),
    "edit": Listing("fairq.cli.edit", "Change attributes of jobs."),
    "rerun": Listing("fairq.cli.rerun", "Run jobs again that have ended."),
    "finish": Listing("fairq.cli.job_words", "Record that running jobs have ended.", is_one=True),
    "slots": Listing("fairq.cli.slots", "Manage slots: add, detect, list, remove, drain, reserve."),
    "status": Listing("fairq.cli.status", "Show the pool at a glance."),
    "negotiate": Listing("fairq.cli.negotiate", "Run one negotiation cycle."),
    "run": Listing("fairq.cli.run", "Run jobs: negotiate whenever something has changed."),
    "shell": Listing("fairq.cli.shell", "Open a terminal in a slot of this machine."),
    "wait": Listing("fairq.cli.wait", "Wait until jobs have ended."),
    "tail": Listing("fairq.cli.tail", "Print the end of the output of jobs."),
    "log": Listing("fairq.cli.log", "Show what happened to a job."),
    "history": Listing("fairq.cli.history", "Show jobs that have ended."),
    "why": Listing("fairq.cli.why", "Explain why a job is idle, or what a submitter or group gets."),
    "userprio": Listing("fairq.cli.userprio", "Show and change priorities and usage."),
    "quotas": Listing("fairq.cli.quotas", "Show, preview, check and change the quotas of groups."),
    "taskqueues": Listing("fairq.cli.taskqueues", "DIRAC's scheme: task queues, shares, pilots."),
    "broker": Listing("fairq.cli.broker", "PanDA's brokerage: assign tasks to queues and explain why."),
    "undo": Listing("fairq.cli.undo", "Take back a change."),
    "report": Listing("fairq.cli.report", "Show who used what: by user, group, slot, day, month."),
    "plot": Listing("fairq.cli.plot", "Draw use, shares, priorities or the queue."),
    "page": Listing("fairq.cli.page", "Write the pool as a page for a browser."),
    "metrics": Listing("fairq.cli.metrics", "Print metrics of the pool for Prometheus."),
    "config": Listing("fairq.cli.config", "Show, change, check and import settings."),
    "import": Listing("fairq.cli.import_", "Import slots, jobs, accounting, or a whole state."),
    "export": Listing("fairq.cli.export", "Export the state, or slots, jobs or accounting."),
    "pool": Listing("fairq.cli.pool", "Show, check, pause, create and remove pools."),
    "simulate": Listing("fairq.cli.simulate", "Simulate a trace of jobs under one or more policies."),
    "state": Listing("fairq.cli.state", "Manage the state file: path, check, backup, restore, history."),
    "demo": Listing("fairq.cli.demo", "Show a day of a small pool on a scratch state."),
    "help": Listing("fairq.cli.help", "Show the help of a command."),
}
"""Every command, in the order of the help."""


def root() -> Any:
    """Return the ``fairq`` command itself."""
    app = App(
        help="Fair share for shared computers: the rules of HTCondor, DIRAC and PanDA over one state file.",
        epilog="Run 'fairq COMMAND --help' for a command's options, 'man fairq' for the manual.",
        lazy=REGISTRY,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    return typer.main.get_command(app)
