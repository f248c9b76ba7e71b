"""Converts condor_history's single-dash options to fairq's own."""

from __future__ import annotations

from fairq.cli.single_dash import Dialect, Spelling

_SPELLINGS = (
    Spelling("long"),
    Spelling("xml", 3),
    Spelling("backwards", effect=False),
    Spelling("forwards"),
    Spelling("limit", 3, 1),
    Spelling("match", 1, 1, meaning="limit"),
    Spelling("jsonl", 5, meaning="ndjson"),
    Spelling("json"),
    Spelling("pool"),
    Spelling("name"),
    Spelling("file", 2),
    Spelling("constraint", values=1),
    Spelling("completedsince", 3, 1, meaning="since"),
    Spelling("af", 2),
    Spelling("autoformat", 5, meaning="af"),
    Spelling("attributes", 2),
    Spelling("format"),
    Spelling("wide", effect=False),
    Spelling("epochs", 2),
)
"""The options in the order in which condor_history checks them."""

_OWN = (Spelling("since", values=1), Spelling("until", values=1), Spelling("user", values=1))

_ABSENT = {
    "xml": "use --json",
    "pool": "a pool is one state file: choose it with --state FILE",
    "name": "a pool is one state file: choose it with --state FILE",
    "file": "a pool is one state file: choose it with --state FILE",
    "attributes": "name them with --af",
    "format": "use --af",
    "forwards": "newest jobs come first; sort the output",
    "epochs": "fairq log JOB shows the runs of a job",
}

HISTORY = Dialect("history", _SPELLINGS, _OWN, _ABSENT, keep="hqv")
"""``-backwards`` and ``-wide`` ask for what fairq always does."""
