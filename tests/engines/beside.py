"""One cycle of the real negotiator and one of fairq on the same pool of ads."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.htcondor_cycle import DOMAIN
from tests.engines.ad_pool import AdPool, Held, hold
from tests.golden.command_line import scratch

Decided = tuple[list[tuple[str, str, str, list[str]]], list[tuple[str, str, str]]]
"""Matches (job, submitter, slot, preempted slots) and rejections (job, submitter, reason), as in `Held`."""


def beside(made: AdPool, folder: Path) -> tuple[Decided, Decided]:
    """Return what fairq decides on a pool, and what the real negotiator decided; fairq's input goes to *folder*."""
    with tempfile.TemporaryDirectory(prefix="fairq-ads-", dir="/tmp", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        held = hold(made, Path(name) / "htcondor")
    return decided(made, held, folder), (held.matches, held.rejections)


def decided(made: AdPool, held: Held, folder: Path) -> Decided:
    """Return what fairq decides on the pool that the real negotiator had."""
    macros = {"UID_DOMAIN": DOMAIN, "DEFAULT_PRIO_FACTOR": 1, "PRIORITY_HALFLIFE": "1e30", **made.macros}
    accounts = [{"Name": name, **record} for name, record in made.accounts.items()]
    texts = {"slots": held.slots, "jobs": held.jobs, "accounting": json.dumps(accounts)}
    words: list[object] = []
    for name, text in texts.items():
        (folder / f"{name}.json").write_text(text)
        words += [f"--{name}", folder / f"{name}.json"]
    (folder / "pool.conf").write_text("".join(f"{macro} = {value}\n" for macro, value in macros.items()))
    with scratch() as fairq:
        fairq.run("config", "import", folder / "pool.conf")
        fairq.run("config", "set", "negotiator.rules", "htcondor")
        fairq.run("import", *words, "--now", held.began)
        cycle = fairq.json("negotiate", "--now", held.began)
    matches = [(one["job"], one["submitter"], one["slot"], _preempted(one)) for one in cycle["matches"]]
    return matches, [(one["job"], one["submitter"], one["reason"]) for one in cycle["rejections"]]


def _preempted(match: dict[str, Any]) -> list[str]:
    found = match["preempted"]
    return [] if found is None else sorted(found.get("slots", [match["slot"]]))
