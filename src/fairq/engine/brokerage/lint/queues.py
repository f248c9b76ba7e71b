"""All likely misconfigurations of a pool; fields of queues that no task can match or that have another effect.

Unknown words, limits that exclude each other, flags, and storage (docs/panda.md, Queues, Connectivity, Estimates and
Production filters).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from fairq.engine.brokerage.criteria.storage import STORAGE_TYPE
from fairq.engine.brokerage.lint.finding import Finding, finding, nearest, number
from fairq.engine.brokerage.lint.policies import policy_findings
from fairq.engine.brokerage.lint.software import release_findings, software_findings
from fairq.engine.brokerage.pool.columns import split_queue
from fairq.engine.brokerage.pool.cric import SEEDS, STATES, TYPES, read_queue
from fairq.engine.brokerage.pool.flags import NUCLEUS_MODES
from fairq.engine.brokerage.pool.rules import Rules
from fairq.engine.brokerage.pool.world import UCORE, Queue, ResourceType, World
from fairq.engine.brokerage.software.check import ALL


def lint(world: World, rules: Rules, further: Mapping[str, Mapping[str, Any]] | None = None) -> list[Finding]:
    """Return the findings about the queues of *world* under *rules*, by queue.

    *further*: other fields of CRIC, by queue.
    """
    findings: list[Finding] = []
    for name, queue in sorted(world.queues.items()):
        findings += word_findings(queue, rules, (further or {}).get(name, {}))
        findings += limit_findings(queue, rules, world.resource_types)
        findings += release_findings(queue, rules, world.software)
        findings += policy_findings(queue, rules)
        findings += flag_findings(queue)
        findings += storage_findings(queue, world)
    for name, entry in sorted(world.software.items()):
        findings += software_findings(name, rules, entry)
    return [*findings, *stray_findings(world)]


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
    """Yield findings about unknown words of *queue*; *further*: its other fields of CRIC."""
    report = partial(finding, queue.name)
    if queue.status not in STATES:
        words = sorted(STATES)
        problem = "status not online" if rules.online_only else ""
        yield report("status", "status", queue.status, problem, meant=nearest(queue.status, words), known=words)
    if queue.type not in TYPES:
        words = sorted(TYPES)
        problem = "type not for analysis" if rules.every_queue else ""
        yield report("type", "type", queue.type, problem, meant=nearest(queue.type, words), known=words)
    if queue.type == "production" and not queue.cloud and not rules.every_queue:
        yield report("cloud", "no cloud", "")
    if queue.capability != UCORE and nearest(queue.capability, (UCORE, "score", "mcore", "himem")) == UCORE:
        yield report("capability", "capability", queue.capability)
    if queue.jobseed and queue.jobseed not in SEEDS:
        words = sorted(SEEDS)
        yield report("jobseed", "jobseed", queue.jobseed, meant=nearest(queue.jobseed, words), known=words)
    yield from _connectivity_findings(queue, rules)
    yield from _value_findings(queue, further)
    yield from _name_findings(queue, further)


def _connectivity_findings(queue: Queue, rules: Rules) -> Iterator[Finding]:
    report = partial(finding, queue.name, "wnconnectivity", "connectivity", queue.wnconnectivity)
    network, *stacks = queue.wnconnectivity.split("#")
    if network and network not in NETWORKS:
        yield report("unknown network", meant=nearest(network, NETWORKS), known=NETWORKS)
    if len(stacks) > 1 or (stacks and stacks[0] and stacks[0] not in STACKS):
        is_unused = rules.ip_stack_of_queue and len(stacks) == 1
        yield report("unused ip stack" if is_unused else "unknown ip stack", network=network or "full")


def _value_findings(queue: Queue, further: Mapping[str, Any]) -> Iterator[Finding]:
    for field, value, value_used in read_queue(queue.name, further).complaints if further else ():
        if value != value_used:  # equal ones are unknown words, which have findings of their own
            read_as = None if value_used in (None, "") else str(value_used)
            yield finding(queue.name, field, "value", _short(value), "value not understood", taken=read_as)


def _name_findings(queue: Queue, further: Mapping[str, Any]) -> Iterator[Finding]:
    for name, value in further.items():
        if name in OTHERS or name in READ:
            continue
        meant = nearest(name, READ)
        if meant is not None:
            yield finding(queue.name, name, "misspelt", _short(value), "misspelt field", name=name, meant=meant)


def _short(value: Any) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def limit_findings(queue: Queue, rules: Rules, types: Iterable[ResourceType]) -> Iterator[Finding]:
    """Yield findings about limits of *queue* that few or no tasks can meet under *rules*."""
    report = partial(finding, queue.name)
    if queue.is_unified:
        yield from _unified_findings(queue, tuple(types))
    else:
        yield from _core_findings(queue)
    if _is_empty(queue):
        yield report("minrss", "memory", f"{number(queue.minrss)} to {number(queue.maxrss)}")
    if queue.maxtime and queue.mintime > queue.maxtime:
        yield report("mintime", "walltime", f"{number(queue.mintime)} to {number(queue.maxtime)}")
    if queue.maxtime and not queue.corepower:
        yield report("corepower", "power", "0")
    yield from _scratch_findings(queue, rules)
    for name in ("corecount", "maxrss", "minrss", "maxwdir", "maxtime", "mintime", "corepower", "transferringlimit"):
        value = getattr(queue, name)
        if value is not None and value < 0:
            yield report(name, "negative", number(value))


def _unified_findings(queue: Queue, types: tuple[ResourceType, ...]) -> Iterator[Finding]:
    report = partial(finding, queue.name)
    pseudo = split_queue(queue, types)
    if not pseudo:
        yield report("corecount", "no pseudo queues", number(queue.corecount))
        return
    absent = [name for name in ("maxrss", "minrss") if getattr(queue, name) is None]
    if absent:
        yield report(absent[0], "no limits", "none", absent=" and ".join(absent))
    if all(map(_is_empty, pseudo)) and not _is_empty(queue):
        ranges = ", ".join(
            f"{pseudo_queue.resource_type} {number(pseudo_queue.minrss)} to {number(pseudo_queue.maxrss)}"
            for pseudo_queue in pseudo
        )
        yield report("maxrss", "empty pseudo queues", ranges)
    if queue.corecount <= 0:
        yield report("corecount", "cores", number(queue.corecount), "no cores")


def _core_findings(queue: Queue) -> Iterator[Finding]:
    report = partial(finding, queue.name, "corecount", "cores", number(queue.corecount))
    if queue.capability == "mcore" and queue.corecount <= 1:
        yield report("mcore with one core")
    if queue.capability == "score" and queue.corecount > 1:
        yield report("score with several cores")


def _scratch_findings(queue: Queue, rules: Rules) -> Iterator[Finding]:
    report = partial(finding, queue.name, "maxwdir", "scratch", number(queue.maxwdir))
    # The minimum output that every production job is assumed to need.
    minimum, is_divided = rules.scratch_floor, rules.scratch_per_core or queue.is_unified or queue.corecount <= 1
    if (queue.type == "analysis" and not rules.every_queue) or not queue.maxwdir or queue.maxwdir < 0:
        return

    def lacks(scratch: float) -> bool:
        return scratch <= minimum if rules.scratch_must_exceed else scratch < minimum

    if lacks(queue.maxwdir):
        yield report(least=number(minimum))
    elif is_divided and lacks(queue.maxwdir / max(1, queue.corecount)):
        jobs = "production job" if rules.scratch_per_core else "single-core production job"
        yield report("scratch of a core", least=number(minimum), cores=queue.corecount, jobs=jobs)


def _is_empty(queue: Queue) -> bool:
    return bool(queue.minrss and queue.maxrss) and (queue.minrss or 0) > (queue.maxrss or 0) > 0


PLAIN = (
    "useJumboJobs",
    "gpu",
    "grandly_unified",
    "use_only_local_data",
    "disableReassign",
    "per_core_attr",
    "allow_no_pilot",
)
"""Flags without a value; the name alone sets them."""

VALUED = (
    "nSimEvents",
    "minEventsForJumbo",
    "maxDiskPerCore",
    "jobChunkSize",
    "bareNucleus",
    "secondaryNucleus",
    "allowed_processing",
    "excluded_processing",
)
"""Flags that have a value."""

_NUMBERS = VALUED[:4]


def flag_findings(queue: Queue) -> Iterator[Finding]:
    """Yield the findings about the flags of *queue*."""
    report = partial(finding, queue.name)
    for item in queue.catchall.split(",") if queue.catchall else ():
        yield from _catchall_findings(queue, item)
    for name in PLAIN:
        if name in queue.params and not queue.params[name]:
            yield report("params", "flag set", f"{name}: {queue.params[name]}", "flag set in params", name=name)
    for name in queue.params:
        if name not in PLAIN and name not in VALUED and name.lower() in {flag.lower() for flag in (*PLAIN, *VALUED)}:
            meant = nearest(name, (*PLAIN, *VALUED))
            yield report("params", "unknown flag", name, name=name, meant=meant)


def _catchall_findings(queue: Queue, item: str) -> Iterator[Finding]:
    name, separator, value = item.partition("=")
    if not item.strip():
        return
    report = partial(finding, queue.name, "catchall")
    if item != item.lstrip() and any(item.lstrip().startswith(flag) for flag in (*PLAIN, *VALUED)):
        yield report("blank", item, "flag behind a blank", name=item.strip())
        return
    prefix = next((flag for flag in PLAIN if item.startswith(flag) and name != flag), None)
    if prefix:
        yield report("flag set", item, "flag set by prefix", name=prefix)
    elif name in PLAIN and separator and value.lower() in ("0", "false", "no", "off", "none"):
        yield report("flag set", item, "flag set to no", name=name, item=item)
    elif name in _NUMBERS and not value.strip().isdigit():
        yield report("flag value", item, "flag without number", name=name, value=value)
    elif name == "bareNucleus" and value not in NUCLEUS_MODES:
        yield report("flag value", item, "nucleus mode")
    elif name in READ and str(getattr(queue, name, "")) != value:
        yield report("not a flag", item, name=name, value=str(getattr(queue, name, "")) or "empty")
    elif name not in PLAIN and name not in VALUED and name not in READ:
        meant = nearest(name, (*PLAIN, *VALUED))
        if meant is not None:
            yield report("unknown flag", item, name=name, meant=meant)


def storage_findings(queue: Queue, world: World) -> Iterator[Finding]:
    """Yield findings about missing storage of *queue*; none if no storage was imported."""
    report = partial(finding, queue.name, "relations")
    if not world.relations or not world.storages:
        return
    used = world.relations.get(queue.name, ())
    unknown = sorted({relation.rse for relation in used} - world.storages.keys())
    if unknown:
        listed = ", ".join(unknown[:3]) + (f" and {len(unknown) - 3} more" if len(unknown) > 3 else "")
        yield report("unknown endpoint", listed, meant=nearest(unknown[0], world.storages))
    relations = [relation for relation in used if relation.rse in world.storages]
    for role in ("read_lan", "write_lan"):
        usable = [relation for relation in relations if role in relation.roles]
        if not usable:
            yield report("no storage", role, f"no storage to {role}", role=role)
        elif queue.type == "production" and not any(
            world.storages[relation.rse].type == STORAGE_TYPE for relation in usable
        ):
            yield report("no datadisk", role, f"no datadisk to {role}", type=STORAGE_TYPE)
    if used and not any(relation.default_write for relation in relations):
        yield report("no default", "default_write")


def stray_findings(world: World) -> Iterator[Finding]:
    """Yield findings about records of queues or resource types that do not exist."""
    described = {
        "software": sorted(set(world.software) - {ALL}),
        "slots": sorted({request.queue for request in world.slots}),
        "relations": sorted(world.relations),
    }
    names = {
        *world.queues,
        *(f"{name}/{resource_type.name}" for name in world.queues for resource_type in world.resource_types),
    }
    for field, queues in described.items():
        for name in queues:
            if name not in names:
                yield finding(name, field, "unknown queue", name, meant=nearest(name, world.queues))
    types = {resource_type.name for resource_type in world.resource_types}
    for request in world.slots:
        if request.resource_type and request.resource_type not in types:
            meant = nearest(request.resource_type, types)
            yield finding(
                request.queue, "slots", "unknown type", request.resource_type, "unknown resource type", meant=meant
            )
