"""``fairq metrics``: metrics of the pool in Prometheus format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from fairq.cli.command import App, Context
from fairq.cli.options import Now, valued
from fairq.cli.output.renderer import write_text
from fairq.common import files
from fairq.errors.report import ReportFileError

if TYPE_CHECKING:
    from fairq.steps.broker.status import GridStatus
    from fairq.steps.reports.status import PoolStatus
    from fairq.steps.reports.totals import Histogram, Totals

app = App()

_MODE = 0o644
"""Mode of the file: the collector of metrics runs as another user."""

_BUCKET = "_bucket"
_OTHERS = "other"
_LIMIT = "concurrency limit reached"
_STATES = ("idle", "running", "held")


class Metric(Struct, frozen=True):
    """One metric: name, type, help, label names, and for each sample its label values and its value.

    The name of a histogram's sample ends in *suffixes* of the same place, and its buckets have one more label, ``le``.
    """

    name: str
    kind: str
    help: str
    labels: Sequence[str]
    samples: Sequence[tuple[Sequence[str], float]]
    suffixes: Sequence[str] = ()


@app.command(
    examples="""
        fairq metrics                                                                   # print them
        fairq metrics --out /var/lib/prometheus/node-exporter/fairq.prom                # for node_exporter
        fairq metrics --users 0 --out /var/lib/prometheus/node-exporter/fairq.prom      # no names of users
    """,
)
def metrics(
    context: Context,
    out: Annotated[str | None, valued("--out", "Write this file, in one step, instead of stdout.", "FILE")] = None,
    users: Annotated[
        int | None,
        valued("--users", "Submitters by name [default: metrics.submitters].", "N", min=0),
    ] = None,
    now: Now = None,
) -> None:
    """Print metrics of the pool in the text format of Prometheus.

    With --out, they are written to a file for the textfile collector of node_exporter. The file is replaced in one step
    and everybody may read it. Weights are slot weights. The submitters with the most in use are shown by name. The
    others are summed up as "other", without a priority. All groups are shown.
    fairq_cycle_errors_total counts the cycles that failed, by the name of the error without "Error".
    fairq_job_errors_total counts the jobs that a cycle has held because fairq failed at their part of it.

    Where task queues have sites with limits or delays, and where the grid has queues or tasks, what taskqueues limits
    and broker status show is among the metrics, as fairq_taskqueues_... and fairq_broker_....

    fairq_cycle_last_timestamp_seconds is the time of the last cycle: alert if it is too long ago. Counters count from
    the beginning of the pool.
    """
    from fairq.steps.broker.status import grid_status
    from fairq.steps.reports.status import pool_status
    from fairq.steps.reports.totals import totals
    from fairq.steps.taskqueues.limits import site_limits

    invocation = context.obj
    settings, path, time = invocation.settings, invocation.state_path, invocation.now(now)
    pool = pool_status(path, settings, time)
    named_count = settings["metrics.submitters"] if users is None else users
    rules = settings["negotiator.rules"]
    all_metrics = [
        *_metrics(pool, totals(path, settings), named_count, rules),
        *metrics_of_sites(site_limits(path, settings, time)),
        *metrics_of_grid(grid_status(path, time)),
    ]
    text = "".join(map(_text, all_metrics))
    if out is None:
        write_text(text)
        return
    try:
        with files.replacing(files.followed(Path(out)), _MODE) as stream:
            stream.write(text.encode())
    except OSError as error:
        raise ReportFileError(target=out, reason=error.strerror or error) from error


def _text(metric: Metric) -> str:
    lines = [f"# HELP {metric.name} {_escaped(metric.help)}", f"# TYPE {metric.name} {metric.kind}"]
    for (values, number), suffix in zip(metric.samples, metric.suffixes or repeat(""), strict=False):
        names = [*metric.labels, "le"] if suffix == _BUCKET else metric.labels
        pairs = [f'{name}="{_quoted(value)}"' for name, value in zip(names, values, strict=True)]
        labels = f"{{{','.join(pairs)}}}" if pairs else ""
        lines.append(f"{metric.name}{suffix}{labels} {_number(number)}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))


def _histogram(
    name: str,
    text: str,
    labels: Sequence[str],
    limits: Sequence[float],
    histograms: Mapping[tuple[str, ...], Histogram],
) -> Metric:
    """Return a histogram with a series for each tuple of label values; its buckets are cumulated."""
    samples: list[tuple[Sequence[str], float]] = []
    suffixes: list[str] = []
    for values, histogram in histograms.items():
        total = 0
        for limit, count in zip([*map(_number, limits), "+Inf"], histogram.counts, strict=True):
            total += count
            samples.append(((*values, limit), total))
            suffixes.append(_BUCKET)
        samples += [(values, histogram.sum), (values, total)]
        suffixes += ["_sum", "_count"]
    return Metric(name, "histogram", text, labels, samples, suffixes)


def _one(name: str, text: str, value: float | None, kind: str = "gauge") -> Iterator[Metric]:
    """Yield the metric of one value, if there is one."""
    if value is not None:
        yield Metric(f"fairq_{name}", kind, text, (), [((), value)])


def _by(label: str, name: str, text: str, values: Iterable[tuple[str, float]], kind: str = "gauge") -> Metric:
    """Return the metric of a value for each of some names, which stand behind a *label*."""
    return Metric(f"fairq_{name}", kind, text, (label,), [((key,), value) for key, value in values])


def _metrics(pool: PoolStatus, counters: Totals, named_count: int, rules: str) -> Iterator[Metric]:
    from fairq import __version__
    from fairq.steps.reports.totals import WAIT_LIMITS

    build = [((__version__, rules), 1)]
    yield Metric("fairq_info", "gauge", "Version of fairq and rules in force.", ("version", "rules"), build)
    yield from _one("slots", "Slots, without those carved out of partitionable slots.", pool.slots)
    yield from _one("slots_draining", "Slots that are draining.", pool.drained)
    yield from _one("slots_claimed", "Slots in use, those that were carved out of others among them.", pool.claims)
    yield from _one("pool_slot_weight", "Weight of all slots in the last cycle.", pool.weight)
    yield from _one("in_use_slot_weight", "Weight of the slots in use.", pool.weight_in_use)
    yield _by("state", "jobs", "Jobs in the queue.", ((name, pool.count(name)) for name in _STATES))
    text = "Runs that ended; finished ones had the exit code 0."
    yield _by("outcome", "runs_ended_total", text, sorted(counters.runs.items()), "counter")
    if counters.waits:
        text = "Time from submission to the first start of ended jobs."
        waits = sorted(counters.waits.items())
        yield _histogram("fairq_job_wait_seconds", text, ("group",), WAIT_LIMITS, {(group,): of for group, of in waits})
    yield from _of_submitters(pool, named_count)
    yield from _of_groups(pool)
    yield from _of_cycles(pool, counters)
    size = Path(pool.state).stat().st_size if Path(pool.state).exists() else 0
    yield from _one("state_size_bytes", "Size of the state file.", size)
    yield from _one("metrics_timestamp_seconds", "Time at which these metrics were written.", pool.now)


def _of_submitters(pool: PoolStatus, named_count: int) -> Iterator[Metric]:
    ranked = sorted(pool.submitters, key=lambda submitter: (-submitter.in_use, -submitter.idle, submitter.submitter))
    named, others = ranked[:named_count], ranked[named_count:]

    def values(member: str) -> list[tuple[str, float]]:
        """Return a figure of each submitter shown by name, and the sum of the others."""
        each = [(submitter.submitter, getattr(submitter, member)) for submitter in named]
        rest = fsum(number for submitter in others if (number := getattr(submitter, member)) is not None)
        return [pair for pair in [*each, *([(_OTHERS, rest)] if others else [])] if pair[1] is not None]

    jobs = [((name, state), number) for state in _STATES for name, number in values(state)]
    yield Metric("fairq_submitter_jobs", "gauge", "Jobs of a submitter.", ("submitter", "state"), jobs)
    for name, kind, text, member in (
        ("in_use_slot_weight", "gauge", "Weight of the slots in use by a submitter.", "in_use"),
        ("entitled_slot_weight", "gauge", "Weight that the last cycle allowed to a submitter.", "entitled"),
        ("usage_slot_seconds_total", "counter", "Accumulated weighted usage of a submitter.", "usage"),
    ):
        yield _by("submitter", f"submitter_{name}", text, values(member), kind)
    for name, text, member in (
        ("priority", "Effective priority of a submitter; lower is better.", "priority"),
        ("real_priority", "Real priority of a submitter; lower is better.", "real_priority"),
        ("priority_factor", "Priority factor of a submitter.", "factor"),
    ):
        single = ((submitter.submitter, getattr(submitter, member)) for submitter in named)
        yield _by("submitter", f"submitter_{name}", text, single)


def _of_groups(pool: PoolStatus) -> Iterator[Metric]:
    for name, text, member in (
        ("configured_quota_slot_weight", "Quota of a group as configured.", "config_quota"),
        ("quota_slot_weight", "Quota of a group with all its subgroups in the last cycle.", "subtree_quota"),
        ("requested_slot_weight", "Weight that a group requested in the last cycle.", "requested"),
        ("allocated_slot_weight", "Weight allocated to a group in the last cycle.", "allocated"),
    ):
        values = [(str(group["group"]), group[member]) for group in pool.groups if group.get(member) is not None]
        if values:
            yield _by("group", f"group_{name}", text, values)
    used = pool.used_by_groups
    text = "Weight in use of a group and its subgroups."
    yield _by("group", "group_in_use_slot_weight", text, ((name, use.weight) for name, use in used.items()))
    text = "Effective priority of a group."
    yield _by("group", "group_priority", text, ((name, use.priority) for name, use in used.items()))


def _of_cycles(pool: PoolStatus, counters: Totals) -> Iterator[Metric]:
    from fairq.steps.reports.totals import CYCLE_LIMITS

    yield from _one("cycles_total", "Negotiation cycles held.", counters.cycles, "counter")
    failed = sorted(counters.errors.items()) or [("none", 0)]
    yield _by("kind", "cycle_errors_total", "Cycles that failed, by kind of error.", failed, "counter")
    text = "Jobs held because of an error that nobody foresaw in their part of a cycle."
    yield from _one("job_errors_total", text, counters.job_errors, "counter")
    text = "How long cycles took."
    yield _histogram("fairq_cycle_duration_seconds", text, (), CYCLE_LIMITS, {(): counters.durations})
    if pool.cycle is None:
        return
    rejected: Counter[str] = Counter()
    for reason, number in pool.rejected.items():
        # The number of limit names is unbounded.
        rejected[_LIMIT if reason.startswith("concurrency limit") else reason] += number
    if rejected:
        text = "Requests that the last cycle rejected."
        yield _by("reason", "rejected_requests", text, sorted(rejected.items()))
    yield from _one("cycle_last_timestamp_seconds", "Time of the last cycle.", pool.cycle.time)
    yield from _one("cycle_last_duration_seconds", "How long the last cycle took.", counters.cycle_seconds)
    yield from _one("cycle_last_matches", "Matches of the last cycle.", pool.cycle.matches)
    yield from _one("cycle_last_spins", "Spins of the last cycle.", pool.cycle.spins)


_OF_SITES = (
    ("running_jobs", "Jobs of pilots that run at a site, by what is limited or delayed.", "running"),
    ("running_limit", "Most jobs of pilots that may run at a site.", "limit"),
    ("delay_left_seconds", "Time until the next start that a matching delay allows at a site.", "delay_left"),
)


def metrics_of_sites(limits: Sequence[Mapping[str, Any]]) -> Iterator[Metric]:
    """Yield the metrics of running *limits* and matching delays, as ``taskqueues limits`` shows them."""
    labels = ("site", "ce", "attribute", "value")
    for name, text, member in _OF_SITES:
        samples = [
            (tuple(str(limit[label] or "") for label in labels), limit[member])
            for limit in limits
            if limit[member] is not None
        ]
        if samples:
            yield Metric(f"fairq_taskqueues_{name}", "gauge", text, labels, samples)


def metrics_of_grid(status: GridStatus) -> Iterator[Metric]:
    """Yield the metrics of PanDA's grid, as ``broker status`` shows it; none without queues and tasks."""
    if not (status.queues or status.tasks):
        return
    reasons = {pending.reason: pending.tasks for pending in status.reasons}
    last_run = status.run.counts if status.run else {}
    groups = (
        ("queues", "Queues of the grid, by their status in CRIC.", "status", status.queues),
        ("tasks", "Tasks of the grid.", "state", status.tasks),
        ("jobs", "Imported jobs of the grid.", "state", status.jobs),
        ("pending_tasks", "Tasks that are pending, by the reason of their last run.", "reason", reasons),
        ("last_run_tasks", "Tasks of the last run, by their new state.", "state", last_run),
    )
    for name, text, label, counts in groups:
        if counts:
            yield _by(label, f"broker_{name}", text, counts.items())
    yield from _one("broker_due_tasks", "Tasks that a run would broker now.", status.due)
    yield from _one("broker_used_queues", "Queues that have an assigned task.", status.used_queues)
    if status.run:
        yield from _one("broker_run_last_timestamp_seconds", "Time of the last run.", status.run.time)
