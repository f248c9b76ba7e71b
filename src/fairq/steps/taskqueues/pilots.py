"""The description of a pilot, compared with task queues: conditions, running limits and matching delays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from fairq.common.records import Ad, DelayState, JobRange, JobStatus
from fairq.engine.shares.groups import JOB_SHARING
from fairq.engine.shares.limits import (
    JOB_ATTRIBUTES,
    Bucket,
    Delay,
    Kind,
    RunningLimit,
    applied_delays,
    by_attribute,
    delayed,
    running_limits,
    started,
)
from fairq.engine.shares.match import Matcher
from fairq.engine.shares.needs import LISTS, given_names, normal_names
from fairq.engine.shares.options import Note
from fairq.engine.shares.pilot import (
    GENERIC_PILOT,
    HOSTS,
    Credentials,
    apply_credentials,
    apply_site,
    match_conditions,
)
from fairq.errors.base import InvalidNameError
from fairq.errors.shares import JobRequirementError, PilotDescriptionError
from fairq.state import jobs, pilot_slots
from fairq.state.connection import State
from fairq.steps.taskqueues.job_requirements import identity_of, plain_value, relevant
from fairq.steps.taskqueues.policy import SharePolicy
from fairq.steps.taskqueues.world import ShareWorld, check_group

GENERIC = Credentials(HOSTS, frozenset({GENERIC_PILOT}))
"""The credentials of a generic pilot, whose description names its VO."""


class Pilot(Struct, frozen=True):
    """A pilot that asks for work: its site, its resources, and the jobs that it accepts.

    Args:
        site: its site.
        cpu_time: its remaining CPU time, in HS06 seconds.
        grid_ce, platform, job_type: None: not given.
        tags, required_tags: the tags that it offers, and those that jobs must have.
        groups, owner: the jobs that it accepts, by group and owner; empty: all.
        vo: without groups, it accepts jobs of all groups of this virtual organisation; None: of any.
        proxy: the owner of a pilot that is not generic, as ``user@group``: it accepts only jobs of that group and,
            without job sharing, only of that user (rule point private_pilots); None: it is generic.
        processors: the number of its processors; None: not given.
        whole_node: whether it has an entire machine.
        max_ram: in MB; None: not given.
        reference: its own name.
    """

    site: str
    cpu_time: float
    grid_ce: str | None = None
    platform: str | None = None
    job_type: str | None = None
    tags: Sequence[str] = ()
    required_tags: Sequence[str] = ()
    groups: Sequence[str] = ()
    owner: str | None = None
    vo: str | None = None
    proxy: str | None = None
    processors: int | None = None
    whole_node: bool = False
    max_ram: float | None = None
    reference: str | None = None

    def description(self) -> dict[str, Any]:
        """Return the description for DIRAC's matcher; raises InvalidNameError for an invalid site."""
        if not self.site or any(letter.isspace() or letter == "@" for letter in self.site):
            raise InvalidNameError(what="the site", value=self.site, expected="give its name, such as LCG.CERN.cern")
        described = {
            "Site": self.site,
            "CPUTime": _integer_if_whole(self.cpu_time),
            "GridCE": self.grid_ce,
            "Platform": self.platform,
            "JobType": self.job_type,
            "OwnerGroup": list(self.groups) or None,
            "Owner": self.owner,
            "VirtualOrganization": self.vo,
            "NumberOfProcessors": self.processors,
            "MaxRAM": None if self.max_ram is None else _integer_if_whole(self.max_ram),
            "Tag": list(self.tags) or None,
        }
        if self.whole_node:
            described["WholeNode"] = True
        if self.required_tags:
            described |= {"Tag": list(self.tags), "RequiredTag": list(self.required_tags)}
        return {name: value for name, value in described.items() if value is not None}


def _integer_if_whole(number: float) -> float:
    """Return a number without decimals as an integer, which DIRAC requires."""
    return int(number) if float(number).is_integer() else number


Values = Mapping[str, tuple[str, ...]]
"""The values of a job's attributes; a job may have several JobTypes."""


class SiteRestrictions(Struct, frozen=True):
    """The jobs that a site may not start now: the limits *reached*, and the remaining seconds of each delay."""

    reached: tuple[RunningLimit, ...] = ()
    delayed: Mapping[Kind, float] = field(default_factory=dict)

    @property
    def limited(self) -> dict[str, list[str]]:
        """The values at their limit, by attribute."""
        return by_attribute((limit.attribute, limit.value) for limit in self.reached)

    @property
    def negative(self) -> dict[str, list[str]]:
        """The negative condition for task queues: the excluded values, by attribute."""
        return by_attribute([*((limit.attribute, limit.value) for limit in self.reached), *self.delayed])


class SiteLoad(Struct):
    """The data for a site's limits and delays: its pilots' jobs and its token buckets. Matches update both.

    *running* has the computing element and the values of each job.
    """

    policy: SharePolicy
    site: str
    running: list[tuple[str | None, Values]] = field(default_factory=list)
    buckets: dict[Kind, Bucket] = field(default_factory=dict)
    touched: set[Kind] = field(default_factory=set)
    notes: list[Note | str] = field(default_factory=list)

    def restrictions(self, grid_ce: str | None, now: int) -> SiteRestrictions:
        """Return the restrictions for a pilot of *grid_ce* at *now*."""
        if not self.is_limited:
            return SiteRestrictions()
        limits = running_limits(self.policy.job_scheduling, self.site, grid_ce, self.count, self.policy.rules)
        delays, notes = self.delays()
        self.notes = [*limits.notes, *notes]
        # Jobs of other sites do not run here, so a limit on other sites excludes nothing.
        reached = tuple(limit for limit in limits.reached if limit.attribute != "Site" or limit.value == self.site)
        return SiteRestrictions(reached, delayed(delays, self.buckets, now))

    def delays(self) -> tuple[dict[Kind, Delay], tuple[Note, ...]]:
        """Return the delays that are applied, and notes about the others."""
        return applied_delays(self.policy.job_scheduling, self.site, self.policy.rules)

    @property
    def is_limited(self) -> bool:
        """Whether anything is limited or delayed at the site."""
        scheduling = self.policy.job_scheduling
        return self.site in scheduling["RunningLimit"] or self.site in scheduling["MatchingDelay"]

    def count(self, attribute: str, grid_ce: str | None) -> Mapping[str, int]:
        """Count the site's (or a CE's) running jobs by their value of *attribute*."""
        return Counter(
            value
            for ce, values in self.running
            if grid_ce is None or ce == grid_ce
            for value in values.get(attribute, ())
        )

    def start(self, values: Values, grid_ce: str | None, now: int) -> None:
        """Count a job, with the *values* of its attributes, that a pilot starts at *now*."""
        self.running.append((grid_ce, values))
        changed_buckets = started(self.delays()[0], self.buckets, values, now)
        self.buckets |= changed_buckets
        self.touched |= changed_buckets.keys()

    def delay_states(self) -> list[DelayState]:
        """Return the token buckets that matches have changed."""
        return [DelayState(self.site, *kind, *self.buckets[kind]) for kind in sorted(self.touched)]


LIMITED_STATUSES = (JobStatus.RUNNING,)
"""Jobs with these statuses count towards a site's limits; DIRAC's Matched, Running and Stalled jobs are all running."""


def load_site(state: State, policy: SharePolicy, site: str) -> SiteLoad:
    """Load the jobs of pilots at *site*, if it has limits."""
    load = SiteLoad(policy, site)
    if not load.is_limited:
        return load
    delays = pilot_slots.load_delays(state, site)
    load.buckets = {(delay.attribute, delay.value): Bucket(delay.tokens, delay.time) for delay in delays}
    running = jobs.select(state, statuses=LIMITED_STATUSES)
    ads = jobs.ads(state, {job.ad_id for job in running})
    by_cluster: dict[tuple[str, int], list[JobRange]] = {}
    for job in running:
        by_cluster.setdefault((job.schedd, job.cluster), []).append(job)
    for schedd, cluster, proc, grid_ce in pilot_slots.jobs_at(state, site):
        for job in by_cluster.get((schedd, cluster), ()):
            if job.first_proc <= proc <= job.last_proc:
                ad = job.ad_of(ads[job.ad_id], proc)
                load.running.append((grid_ce, limited_values(ad, job.owner, site, _job_types(ad, policy))))
    return load


def limited_values(ad: Ad, owner: str, site: str, job_types: Sequence[str]) -> Values:
    """Return a job's values of the attributes that can be limited; *job_types* are those of its task queue."""
    user, group = identity_of(relevant(ad), owner)
    attribute_names = {name.lower(): name for name in JOB_ATTRIBUTES}
    values_by_name = {
        attribute_names[name.lower()]: (str(value),)
        for name, value in ad.items()
        if name.lower() in attribute_names and isinstance(value, str | int | float)
    }
    return values_by_name | {"Owner": (user,), "OwnerGroup": (group,), "Site": (site,), "JobType": tuple(job_types)}


def _job_types(ad: Ad, policy: SharePolicy) -> tuple[str, ...]:
    """Return the JobTypes of a running job, as in its task queue."""
    try:
        needs = {name: plain_value(value) for name, value in relevant(ad).items()}
        names = given_names(needs, "job_types")
        return normal_names(LISTS["job_types"], names, policy.job_defaults.rules)
    except JobRequirementError:  # it was matched under other rules, or changed since
        return ()


def _credentials(pilot: Pilot, policy: SharePolicy) -> Credentials | None:
    """Return the credentials of the pilot; None: it accepts all jobs that its conditions allow."""
    if pilot.proxy is None:
        return None if pilot.vo is None else GENERIC
    if pilot.vo is not None:
        raise PilotDescriptionError(
            what="proxy", reason="only a generic pilot works for a VO", cure="give only one of the two"
        )
    user, _, group = pilot.proxy.partition("@")
    if not user or not group:
        raise PilotDescriptionError(what="proxy", reason=f"it is {pilot.proxy!r}", cure="write USER@GROUP")
    has_sharing = group in policy.groups and policy.groups[group].job_sharing
    return Credentials(group, frozenset({JOB_SHARING} if has_sharing else ()), owner=user)


def check_groups(state: State, world: ShareWorld, pilot: Pilot) -> None:
    """Raise UnknownShareGroupError if the *pilot* names an unknown group."""
    for group in pilot.groups:
        check_group(state, world, group, "--group")
    if pilot.proxy is not None:
        check_group(state, world, pilot.proxy.partition("@")[2] or None, "--proxy")


def matcher_of(pilot: Pilot, policy: SharePolicy, negative: Mapping[str, Sequence[str]]) -> Matcher:
    """Return the matcher of the *pilot*; *negative* are the limits of its site (`SiteLoad`).

    Raises PilotDescriptionError.
    """
    conditions = apply_site(match_conditions(pilot.description(), policy.rules), policy.usable_sites)
    credentials = _credentials(pilot, policy)
    if credentials is not None:
        conditions = apply_credentials(conditions, credentials, policy.groups, policy.rules)
    return Matcher(conditions, policy.groups, policy.rules, negative)
