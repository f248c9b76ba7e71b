"""``fairq metrics``: metrics of the pool in Prometheus format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.metric import Metric
from fairq.cli.metrics_grid import metrics_of_grid, metrics_of_sites
from fairq.cli.options import Now
from fairq.cli.output.renderer import write_text
from fairq.common import files
from fairq.errors.report import ReportFileError

if TYPE_CHECKING:
    from fairq.steps.reports.status import Standing, SubmitterStanding
    from fairq.steps.reports.totals import Histogram, Totals

app = App()

_MODE = 0o644
"""Mode of the file: the collector of metrics runs as another user."""

_BUCKET = "_bucket"
_OTHERS = "other"
_LIMIT = "concurrency limit reached"


@app.command(
    examples="""
        fairq metrics                                                                   # print them
        fairq metrics --out /var/lib/prometheus/node-exporter/fairq.prom                # for node_exporter
        fairq metrics --users 0 --out /var/lib/prometheus/node-exporter/fairq.prom      # no names of users
    """,
)
def metrics(
    context: Context,
    out: Annotated[
        str | None, Option("--out", metavar="FILE", help="Write this file, in one step, instead of stdout.")
    ] = None,
    users: Annotated[
        int | None,
        Option("--users", metavar="N", min=0, help="Submitters by name [default: metrics.submitters]."),
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
    from fairq.steps.reports.status import standing
    from fairq.steps.reports.totals import totals
    from fairq.steps.taskqueues.limits import site_limits

    invocation = context.obj
    settings, path, time = invocation.settings, invocation.state_path, invocation.now(now)
    pool = standing(path, settings, time)
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
            samples.append(((*values, limit), float(total)))
            suffixes.append(_BUCKET)
        samples += [(values, histogram.sum), (values, float(total))]
        suffixes += ["_sum", "_count"]
    return Metric(name, "histogram", text, labels, samples, suffixes)


def _metrics(pool: Standing, counters: Totals, named_count: int, rules: str) -> Iterator[Metric]:
    from fairq import __version__

    def gauge(name: str, text: str, value: float | None) -> Iterator[Metric]:
        if value is not None:
            yield Metric(f"fairq_{name}", "gauge", text, (), [((), value)])

    build = [((__version__, rules), 1.0)]
    yield Metric("fairq_info", "gauge", "Version of fairq and rules in force.", ("version", "rules"), build)
    yield from gauge("slots", "Slots, without those carved out of partitionable slots.", float(pool.slots))
    yield from gauge("slots_draining", "Slots that are draining.", float(pool.drained))
    yield from gauge(
        "slots_claimed", "Slots in use, those that were carved out of others among them.", float(pool.claims)
    )
    yield from gauge("pool_slot_weight", "Weight of all slots in the last cycle.", pool.weight)
    yield from gauge("in_use_slot_weight", "Weight of the slots in use.", pool.weight_in_use)
    states = [((name,), float(pool.count(name))) for name in ("idle", "running", "held")]
    yield Metric("fairq_jobs", "gauge", "Jobs in the queue.", ("state",), states)
    runs = [((name,), float(number)) for name, number in sorted(counters.runs.items())]
    yield Metric(
        "fairq_runs_ended_total", "counter", "Runs that ended; finished ones had the exit code 0.", ("outcome",), runs
    )
    if counters.waits:
        from fairq.steps.reports.totals import WAIT_LIMITS

        text = "Time from submission to the first start of ended jobs."
        waits: dict[tuple[str, ...], Histogram] = {
            (group,): histogram for group, histogram in sorted(counters.waits.items())
        }
        yield _histogram("fairq_job_wait_seconds", text, ("group",), WAIT_LIMITS, waits)
    yield from _of_submitters(pool, named_count)
    yield from _of_groups(pool)
    yield from _of_cycles(pool, counters, gauge)
    size = Path(pool.state).stat().st_size if Path(pool.state).exists() else 0
    yield from gauge("state_size_bytes", "Size of the state file.", float(size))
    yield from gauge("metrics_timestamp_seconds", "Time at which these metrics were written.", float(pool.now))


def _of_submitters(pool: Standing, named_count: int) -> Iterator[Metric]:
    ranked = sorted(pool.submitters, key=lambda submitter: (-submitter.in_use, -submitter.idle, submitter.submitter))
    named, others = ranked[:named_count], ranked[named_count:]

    def samples(value: Callable[[SubmitterStanding], float | None]) -> list[tuple[Sequence[str], float]]:
        of_named = [((submitter.submitter,), number) for submitter in named if (number := value(submitter)) is not None]
        others_sum = fsum(number for submitter in others if (number := value(submitter)) is not None)
        return [*of_named, *([((_OTHERS,), others_sum)] if others else [])]

    jobs: list[tuple[Sequence[str], float]] = []
    for name in ("idle", "running", "held"):
        counts = samples(lambda submitter, status=name: getattr(submitter, status))  # type: ignore[misc]
        jobs += [((*labels, name), number) for labels, number in counts]
    yield Metric("fairq_submitter_jobs", "gauge", "Jobs of a submitter.", ("submitter", "state"), jobs)
    summed: tuple[tuple[str, str, str, Callable[[Any], float | None]], ...] = (
        (
            "in_use_slot_weight",
            "gauge",
            "Weight of the slots in use by a submitter.",
            lambda submitter: submitter.in_use,
        ),
        (
            "entitled_slot_weight",
            "gauge",
            "Weight that the last cycle allowed to a submitter.",
            lambda submitter: submitter.entitled,
        ),
        (
            "usage_slot_seconds_total",
            "counter",
            "Accumulated weighted usage of a submitter.",
            lambda submitter: submitter.usage,
        ),
    )
    for name, kind, text, value in summed:
        yield Metric(f"fairq_submitter_{name}", kind, text, ("submitter",), samples(value))
    single: tuple[tuple[str, str, Callable[[Any], float]], ...] = (
        ("priority", "Effective priority of a submitter; lower is better.", lambda submitter: submitter.priority),
        ("real_priority", "Real priority of a submitter; lower is better.", lambda submitter: submitter.real_priority),
        ("priority_factor", "Priority factor of a submitter.", lambda submitter: submitter.factor),
    )
    for name, text, value in single:
        values = [((submitter.submitter,), float(value(submitter))) for submitter in named]
        yield Metric(f"fairq_submitter_{name}", "gauge", text, ("submitter",), values)


def _of_groups(pool: Standing) -> Iterator[Metric]:
    figures = (
        ("configured_quota_slot_weight", "Quota of a group as configured.", "config_quota"),
        ("quota_slot_weight", "Quota of a group with all its subgroups in the last cycle.", "subtree_quota"),
        ("requested_slot_weight", "Weight that a group requested in the last cycle.", "requested"),
        ("allocated_slot_weight", "Weight allocated to a group in the last cycle.", "allocated"),
    )
    for name, text, member in figures:
        values = [
            ((str(group["group"]),), float(group[member])) for group in pool.groups if group.get(member) is not None
        ]
        if values:
            yield Metric(f"fairq_group_{name}", "gauge", text, ("group",), values)
    used = [((name,), use.weight) for name, use in pool.used_by_groups.items()]
    yield Metric(
        "fairq_group_in_use_slot_weight", "gauge", "Weight in use of a group and its subgroups.", ("group",), used
    )
    priorities = [((name,), use.priority) for name, use in pool.used_by_groups.items()]
    yield Metric("fairq_group_priority", "gauge", "Effective priority of a group.", ("group",), priorities)


def _of_cycles(
    pool: Standing, counters: Totals, gauge: Callable[[str, str, float | None], Iterator[Metric]]
) -> Iterator[Metric]:
    from fairq.steps.reports.totals import CYCLE_LIMITS

    yield Metric("fairq_cycles_total", "counter", "Negotiation cycles held.", (), [((), float(counters.cycles))])
    failed = [((kind,), float(number)) for kind, number in sorted(counters.errors.items())]
    text = "Cycles that failed, by kind of error."
    yield Metric("fairq_cycle_errors_total", "counter", text, ("kind",), failed or [(("none",), 0.0)])
    text = "Jobs held because of an error that nobody foresaw in their part of a cycle."
    yield Metric("fairq_job_errors_total", "counter", text, (), [((), float(counters.job_errors))])
    text = "How long cycles took."
    yield _histogram("fairq_cycle_duration_seconds", text, (), CYCLE_LIMITS, {(): counters.durations})
    if pool.cycle is None:
        return
    rejected: Counter[str] = Counter()
    for reason, number in pool.rejected.items():
        # The number of limit names is unbounded.
        rejected[_LIMIT if reason.startswith("concurrency limit") else reason] += number
    reasons = [((reason,), float(number)) for reason, number in sorted(rejected.items())]
    if reasons:
        text = "Requests that the last cycle rejected."
        yield Metric("fairq_rejected_requests", "gauge", text, ("reason",), reasons)
    yield from gauge("cycle_last_timestamp_seconds", "Time of the last cycle.", float(pool.cycle.time))
    yield from gauge("cycle_last_duration_seconds", "How long the last cycle took.", counters.cycle_seconds)
    yield from gauge("cycle_last_matches", "Matches of the last cycle.", float(pool.cycle.matches))
    yield from gauge("cycle_last_spins", "Spins of the last cycle.", float(pool.cycle.spins))
