"""``fairq run``: negotiation cycles in the foreground."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from fairq.cli.command import App, Context
from fairq.cli.figures import counted
from fairq.cli.invocation import Invocation
from fairq.cli.options import duration_option
from fairq.cli.output.messages import tell_error
from fairq.common.interrupts import INTERRUPTED
from fairq.errors import alerts
from fairq.errors.pool import PoolPausedError

if TYPE_CHECKING:
    from fairq.common.records import Launch
    from fairq.state.pause import Pause
    from fairq.steps.launch.outcome import Outcome
    from fairq.steps.launch.run import QueueCounts
    from fairq.steps.launch.turn import Turn

app = App()

_EVERY = 60


@app.command(
    examples="""
        fairq run                       # until Ctrl-C
        fairq run --until-idle          # until no job runs and no more can start
        fairq -q run --every 10m        # from a service manager
    """
)
def run(
    context: Context,
    until_idle: Annotated[bool, Option("--until-idle", help="End when no job runs and none can start.")] = False,
    every: Annotated[
        int | None,
        duration_option("--every", "Longest time between two cycles [seconds or 10m; default: 60]."),
    ] = None,
    stop: Annotated[bool, Option("--stop", help="On Ctrl-C, end the running jobs and requeue them.")] = False,
) -> None:
    """Run jobs: negotiate whenever something has changed.

    The command works like fairq negotiate: it collects the jobs that have ended, matches idle jobs, and starts them. It
    runs the next cycle as soon as a job has ended or another command has changed the state, and at least once every
    --every.

    While the pool is paused (fairq pool pause), no job starts. With --until-idle, the command then ends with 97 when no
    job runs, if idle jobs are left.

    Ctrl-C or SIGTERM ends the command. The jobs continue to run; the next fairq run or fairq negotiate collects them.
    With --stop, the command ends the jobs first; they return to the queue.
    """
    from fairq.steps.launch.run import queue_counts, stop_all
    from fairq.steps.launch.run import run as step

    invocation = context.obj
    line = _Progress(invocation)
    reported: set[str] = set()
    pause: Pause | None = None

    def report(turn: Turn, now: QueueCounts) -> None:
        nonlocal pause
        pause = turn.pause
        line.clear()
        for note in turn.notes:
            # A persistent problem, for example an unwritable log, is reported once.
            if note not in reported:
                invocation.note(note)
        reported.clear()
        reported.update(turn.notes)
        if not invocation.quiet:
            _write(turn)
        line.show(now)

    def alert(text: str) -> None:
        line.clear()
        tell_error(text)

    alerts.LISTENER.set(alert)
    settings = invocation.settings_of_cycle(invocation.now())
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        counts = step(
            invocation.state_path,
            settings,
            lambda: invocation.actor(invocation.now()),
            report,
            every=max(1, _EVERY if every is None else every),
            until_idle=until_idle,
        )
    except KeyboardInterrupt:
        line.clear()
        if stop:
            stop_all(invocation.state_path, invocation.settings, invocation.actor(invocation.now()))
        running = queue_counts(invocation.state_path, invocation.settings).running
        if running:
            status = "still ending" if stop else "still running"
            invocation.note(f"{counted(running, 'job')} {status}; the next fairq run or fairq negotiate collects them")
        raise SystemExit(INTERRUPTED) from None
    line.clear()
    if counts.idle and pause is not None:
        raise PoolPausedError(counts.idle, pause.until)
    if counts.idle:
        invocation.note(f"{counted(counts.idle, 'idle job')} left that fit no free slot; 'fairq why JOB' shows why")
    if counts.waiting:
        waits = "job waits" if counts.waiting == 1 else "jobs wait"
        invocation.note(f"{counts.waiting} {waits} for other jobs or for a time; 'fairq queue' shows for what")
    if counts.held:
        invocation.note(f"{counted(counts.held, 'held job')} left; 'fairq queue --held' shows why")


def _interrupt(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _write(turn: Turn) -> None:
    from fairq.cli.output.renderer import write_text

    lines = [_ended(launch, outcome) for launch, outcome in turn.ended]
    lines += [_started(launch) for launch in turn.started]
    write_text("\n".join(lines))
    sys.stdout.flush()


def _started(launch: Launch) -> str:
    if launch.engine_id is not None:
        return f"{launch.job} is in the queue of {launch.launcher} as {launch.engine_id}, for {launch.slot}"
    return f"{launch.job} started on {launch.slot}"


def _ended(launch: Launch, outcome: Outcome | None) -> str:
    facts = launch.ended or {}
    end = ""
    if facts.get("signal") is not None:
        end = f" by signal {facts['signal']}"
    elif facts.get("exit_code") is not None:
        end = f" with exit code {facts['exit_code']}"
    how = "ended" if outcome is None else outcome.how
    reason = f": {outcome.reason}" if outcome is not None and outcome.reason else ""
    return f"{launch.job} {how}{end}{reason}"


class _Progress:
    """One line on a terminal with the current state of the pool."""

    def __init__(self, invocation: Invocation) -> None:
        self._is_shown = sys.stderr.isatty() and not invocation.quiet
        self._is_there = False

    def clear(self) -> None:
        if self._is_there:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._is_there = False

    def show(self, counts: QueueCounts) -> None:
        if self._is_shown:
            idle = counts.idle + counts.waiting
            sys.stderr.write(f"{counts.running} running, {idle} idle, {counts.held} held")
            sys.stderr.flush()
            self._is_there = True
