"""Converts condor_q's single-dash options to fairq's own."""

from __future__ import annotations

from fairq.cli.single_dash import Dialect, Spelling

_SPELLINGS = (
    Spelling("wide", effect=False),
    Spelling("long"),
    Spelling("xml", 3),
    Spelling("limit", 3, 1),
    Spelling("jsonl", 5, meaning="ndjson"),
    Spelling("json"),
    Spelling("pool"),
    Spelling("name"),
    Spelling("submitter", values=1, bare=True),
    Spelling("constraint", values=1),
    Spelling("af", 2),
    Spelling("autoformat", 5, meaning="af"),
    Spelling("global", effect=False),
    Spelling("allusers", 3, effect=False),
    Spelling("attributes", 2),
    Spelling("format"),
    Spelling("better-analyze", 2),
    Spelling("batch", 2, effect=False),
    Spelling("analyze"),
    Spelling("run", meaning="running"),
    Spelling("hold", 2, meaning="held"),
    Spelling("held", 2),
    Spelling("idle", 2),
    Spelling("nobatch", 3, meaning="procs"),
    Spelling("totals", 3),
    Spelling("debug"),
)
"""The options in the order in which condor_q checks them."""

_OWN = (
    Spelling("running"),
    Spelling("procs"),
    Spelling("sort", values=1),
    Spelling("mine"),
    Spelling("user", values=1),
)

_ABSENT = {
    "xml": "use --json",
    "pool": "a pool is one state file: choose it with --state FILE",
    "name": "a pool is one state file: choose it with --state FILE",
    "attributes": "name them with --af",
    "format": "use --af",
    "better-analyze": "use fairq why JOB",
    "analyze": "use fairq why JOB",
    "debug": "there is no debug log; set FAIRQ_DEBUG=1 for internal errors",
}

QUEUE = Dialect("queue", _SPELLINGS, _OWN, _ABSENT, keep="hqv")
"""``-global``, ``-allusers`` and ``-batch`` ask for what fairq always does."""
