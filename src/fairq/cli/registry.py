"""The commands: their names and modules, and their lines in ``fairq --help``."""

from __future__ import annotations

from msgspec import Struct


class Entry(Struct, frozen=True):
    """A command's module, and its line in ``fairq --help``."""

    module: str
    help: str


REGISTRY: dict[str, Entry] = {
    "submit": Entry("fairq.cli.submit", "Queue jobs from a submit description, or one command."),
    "queue": Entry("fairq.cli.queue", "Show jobs."),
    "remove": Entry("fairq.cli.remove", "Remove jobs from the queue."),
    "hold": Entry("fairq.cli.hold", "Hold jobs."),
    "release": Entry("fairq.cli.release", "Release held jobs."),
    "prio": Entry("fairq.cli.prio", "Change the priority of jobs."),
    "finish": Entry("fairq.cli.finish", "Record that running jobs have ended."),
    "slots": Entry("fairq.cli.slots", "Manage slots: add, detect, list, remove, drain."),
    "status": Entry("fairq.cli.status", "Show the pool at a glance."),
    "negotiate": Entry("fairq.cli.negotiate", "Run one negotiation cycle."),
    "run": Entry("fairq.cli.run", "Run jobs: negotiate whenever something has changed."),
    "wait": Entry("fairq.cli.wait", "Wait until jobs have ended."),
    "tail": Entry("fairq.cli.tail", "Print the end of the output of a job."),
    "log": Entry("fairq.cli.log", "Show what happened to a job."),
    "history": Entry("fairq.cli.history", "Show jobs that have ended."),
    "why": Entry("fairq.cli.why", "Explain why a job is idle, or what a submitter or group gets."),
    "userprio": Entry("fairq.cli.userprio", "Show and change priorities and usage."),
    "quotas": Entry("fairq.cli.quotas", "Show, preview and check the quotas of groups."),
    "taskqueues": Entry("fairq.cli.taskqueues", "DIRAC's scheme: task queues, shares, pilots."),
    "broker": Entry("fairq.cli.broker", "PanDA's brokerage: assign tasks to queues and explain why."),
    "undo": Entry("fairq.cli.undo", "Take back a change."),
    "report": Entry("fairq.cli.report", "Show who used what: by user, group, slot, day, month."),
    "plot": Entry("fairq.cli.plot", "Draw use, shares, priorities or the queue."),
    "metrics": Entry("fairq.cli.metrics", "Print metrics of the pool for Prometheus."),
    "config": Entry("fairq.cli.config", "Show, change, check and import settings."),
    "import": Entry("fairq.cli.import_", "Import slots, jobs, accounting, or a whole state."),
    "export": Entry("fairq.cli.export", "Export the state, or slots, jobs or accounting."),
    "pool": Entry("fairq.cli.pool", "Show, check, create and remove pools."),
    "simulate": Entry("fairq.cli.simulate", "Simulate a trace of jobs under one or more policies."),
    "state": Entry("fairq.cli.state", "Manage the state file: path, check, backup, restore, history."),
    "demo": Entry("fairq.cli.demo", "Show a day of a small pool on a scratch state."),
}
"""Every command, in the order of the help."""
