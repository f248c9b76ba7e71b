"""Words that the brokerage does not know, and misspelt fields.

Source: docs/panda.md, Queues and Connectivity.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fairq.engine.brokerage.flow.rules import Rules
from fairq.engine.brokerage.lint.finding import Finding, finding, nearest
from fairq.engine.brokerage.pool.cric import SEEDS, STATES, TYPES, read_queue
from fairq.engine.brokerage.pool.model import UCORE, Queue

NETWORKS = ("full", "http", "none")
STACKS = ("IPv4", "IPv6")

READ = frozenset(
    """
    atlas_site cloud type status capability workflow corecount maxrss minrss maxwdir maxtime mintime maxinputsize
    corepower releases fairsharepolicy wnconnectivity transferringlimit pledgedcpu maxdiskio direct_access_lan
    direct_access_wan jobseed catchall params
    """.split()  # noqa: SIM905
)
"""The fields of CRIC that the brokerage reads."""

OTHERS = frozenset(
    """
    accesscontrol acopytools allow_lan allow_wan allowednode allowjem appdir astorages availablecpu cachedse comment
    container_options container_type copytools corepower_data country countrygroup depthboost description dq2url
    email environ envsetup envsetupin gocname gstat harvester harvester_template hc_param hc_suite id is_cvmfs
    is_default is_virtual last_modified localqueue maxdiskio_data maxswap name nickname nodes panda_queue
    panda_resource panda_site parent pilot_manager pilot_version pilotlimit probe ptest queues rc rc_country rc_site
    rc_site_state region resource_type retry role site site_state siteid special_par stageinretry stageoutretry state
    state_comment state_update system tags tier tier_level timefloor tmpdir transtimehi transtimelo uconfig
    validatedreleases vo_name wansinklimit wansourcelimit wntmpdir zip_time_gap
    """.split()  # noqa: SIM905
)
"""Fields of CRIC that the brokerage does not read; some resemble fields that it reads."""


def word_findings(queue: Queue, rules: Rules, further: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the unknown words of *queue* under *rules*; *further*: its other fields of CRIC."""
    found = partial(finding, queue.name)
    if queue.status not in STATES:
        known = sorted(STATES)
        problem = "status not online" if rules.online_only else ""
        yield found("status", "status", queue.status, problem, meant=nearest(queue.status, known), known=known)
    if queue.type not in TYPES:
        known = sorted(TYPES)
        problem = "type not for analysis" if rules.every_queue else ""
        yield found("type", "type", queue.type, problem, meant=nearest(queue.type, known), known=known)
    if queue.type == "production" and not queue.cloud and not rules.every_queue:
        yield found("cloud", "no cloud", "")
    if queue.capability != UCORE and nearest(queue.capability, (UCORE, "score", "mcore", "himem")) == UCORE:
        yield found("capability", "capability", queue.capability)
    if queue.jobseed and queue.jobseed not in SEEDS:
        known = sorted(SEEDS)
        yield found("jobseed", "jobseed", queue.jobseed, meant=nearest(queue.jobseed, known), known=known)
    yield from _connectivity(queue, rules)
    yield from _not_understood(queue, further)
    yield from _misspelt(queue, further)


def _connectivity(queue: Queue, rules: Rules) -> Iterator[Finding]:
    found = partial(finding, queue.name, "wnconnectivity", "connectivity", queue.wnconnectivity)
    network, *stacks = queue.wnconnectivity.split("#")
    if network and network not in NETWORKS:
        yield found("unknown network", meant=nearest(network, NETWORKS), known=NETWORKS)
    if len(stacks) > 1 or (stacks and stacks[0] and stacks[0] not in STACKS):
        alone = rules.ip_stack_of_queue and len(stacks) == 1
        yield found("unused ip stack" if alone else "unknown ip stack", network=network or "full")


def _not_understood(queue: Queue, further: Mapping[str, Any]) -> Iterator[Finding]:
    for field, value, taken in read_queue(queue.name, further).complaints if further else ():
        if value != taken:  # equal ones are unknown words, which have findings of their own
            read_as = None if taken in (None, "") else str(taken)
            yield finding(queue.name, field, "value", _short(value), "value not understood", taken=read_as)


def _misspelt(queue: Queue, further: Mapping[str, Any]) -> Iterator[Finding]:
    for name, value in further.items():
        if name in OTHERS or name in READ:
            continue
        meant = nearest(name, READ)
        if meant is not None:
            yield finding(queue.name, name, "misspelt", _short(value), "misspelt field", name=name, meant=meant)


def _short(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
