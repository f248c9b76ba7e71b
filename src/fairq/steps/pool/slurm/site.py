"""All of a Slurm site together: its files as the dumps and settings of a pool."""

from __future__ import annotations

from typing import Any

import msgspec

from fairq.common.records import Ad
from fairq.formats.slurm import site as files
from fairq.formats.slurm.accounts import Accounts, read_accounts, read_usage
from fairq.formats.slurm.queue import read_queue
from fairq.formats.slurm.sacct import read_records
from fairq.formats.slurm.site import SiteFiles, read_files
from fairq.formats.slurm.text import duration, lines, moment
from fairq.formats.source import Held
from fairq.steps.pool.bundle import Bundle, SiteSettings, read_problems, read_time
from fairq.steps.pool.slurm.accounting import accounting_ads
from fairq.steps.pool.slurm.groups import Groups
from fairq.steps.pool.slurm.jobs import Work, ended_jobs, read_work
from fairq.steps.pool.slurm.machines import read_machines, read_partitions, slot_ads

_QUARTER = 900
"""Zones differ by quarters of an hour."""


def read_site(name: str, now: int) -> Bundle:
    """Return the site in *name*, a directory or an archive, as a pool; *now* is used where it does not tell its time.

    Raises UnreadableDumpError, EmptyInputError, InvalidDumpError.
    """
    site = read_files(name)
    time = read_time(site.note("time"))
    config = _config(site)
    as_of = moment(config.get("as of", ""))
    offset = 0 if time is None or as_of is None else round((as_of - time) / _QUARTER) * _QUARTER
    if time is None:
        time = None if as_of is None else as_of
    held = site.get(files.ACCOUNTS)
    accounts = None if held is None else read_accounts(held)
    groups = Groups(accounts)
    domain = config.get("ClusterName") or (accounts.cluster if accounts is not None else "") or "slurm"
    bundle = Bundle(missing=[*site.missing, *groups.not_imported()], time=time)
    bundle.missing += read_problems(site.note("problems"))
    moment_of = now if time is None else time
    work = _read_pool(bundle, site, groups, config, domain, moment_of, offset)
    bundle.missing += work.notes
    half_life = _half_life(bundle, site, config)
    usage, records = site.get(files.SHARES), site.get(files.RECORDS)
    if usage is not None or records is not None:
        past = [] if records is None else list(read_records(records))
        used = [] if usage is None else read_usage(usage)
        ads = accounting_ads(used, past, groups, domain, half_life, moment_of, offset)
        bundle.accounting = _held(name, "accounting", ads)
        bundle.ended = list(ended_jobs(past, groups, domain, offset))
    bundle.settings = SiteSettings(f"the Slurm site in {name}", _settings(groups, accounts, domain, half_life))
    return bundle


def _read_pool(
    bundle: Bundle, site: SiteFiles, groups: Groups, config: dict[str, str], domain: str, now: int, offset: int
) -> Work:
    """Put the slots and the jobs into *bundle*, and return the jobs."""
    held = site.get(files.PARTITIONS)
    partitions = {} if held is None else read_partitions(held)
    queue = site.get(files.QUEUE) or site.get(files.JOBS)
    work = Work() if queue is None else read_work(read_queue(queue, offset), groups, partitions)
    nodes = site.get(files.NODES)
    if nodes is not None:
        machines = read_machines(nodes)
        takes_most = "MAX_TRES" in config.get("PriorityFlags", "")
        ads = slot_ads(machines, work.parts, partitions, domain, now, takes_most=takes_most)
        bundle.slots = _held(nodes.name, "slots", list(ads))
        unknown = sorted(work.parts.keys() - machines.keys())
        if unknown:
            work.notes.append(f"jobs run on nodes that {nodes.name} does not have: {', '.join(unknown[:5])}")
    if queue is not None:
        bundle.jobs = _held(queue.name, "jobs", work.ads)
    return work


def _config(site: SiteFiles) -> dict[str, str]:
    """Return the values of slurm.conf by name, and the time of the answer as ``as of``."""
    held = site.get(files.CONFIG)
    values: dict[str, str] = {}
    for _, line in () if held is None else lines(held):
        if line.startswith("Configuration data as of "):
            values["as of"] = line.removeprefix("Configuration data as of ").strip()
        name, equals, value = line.partition("=")
        if equals and value.strip() not in ("(null)", "N/A"):
            values.setdefault(name.strip(), value.strip())
    return values


def _half_life(bundle: Bundle, site: SiteFiles, config: dict[str, str]) -> int:
    """Return the half-life in seconds; where there is none, that of fairq's default, with a note."""
    text = config.get("PriorityDecayHalfLife")
    half_life = duration(text or "")
    if half_life:
        return half_life
    if site.get(files.CONFIG) is not None:
        why = "config.txt has no PriorityDecayHalfLife" if text is None else f"PriorityDecayHalfLife is {text}"
        bundle.missing.append(f"the half-life: {why}; use is taken to decay with a half-life of one day")
    return 86400


def _settings(groups: Groups, accounts: Accounts | None, domain: str, half_life: int) -> dict[str, Any]:
    """Return the settings of the site as a TOML document."""
    document: dict[str, Any] = {
        "accounting": {"priority_halflife": half_life, "uid_domain": domain},
        "negotiator": {
            "group_accept_surplus": True,
            "negotiator_depth_first": True,
            "modify_request_expr_requestmemory": "RequestMemory",
        },
    }
    if accounts is not None:
        document["groups"] = groups.settings()
    return document


def _held(name: str, what: str, ads: list[Ad]) -> Held:
    """Return *ads* as a dump in memory."""
    return Held(f"{name} ({what})", msgspec.json.encode(ads))
