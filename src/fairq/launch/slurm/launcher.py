"""The launcher ``slurm``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec.structs import asdict

from fairq.errors.launch import EngineError
from fairq.launch.interface import AT_ONCE, Assignment, Condition, Known, Look, Node, Options, Queued, Refused, Slots
from fairq.launch.run_directories import RunDirectories
from fairq.launch.slurm import archive, attempt, nodes, submission, verdict
from fairq.launch.slurm.attempt import Attempt
from fairq.launch.slurm.commands import NoAnswerError, RefusedError, call, call_with_words
from fairq.launch.slurm.queue import Jobs, Record, accounted, exit_status, listing
from fairq.launch.slurm.submission import Need
from fairq.launch.supervisor.specification import complete

_REPEAT = 10.0
"""Seconds until the order to end a job is repeated."""

_SPARE = 60.0
"""Seconds after the grace of a job after which Slurm itself ends it."""


class Slurm(RunDirectories):
    """Runs are batch jobs of this user, each pinned to a node."""

    is_engine = True

    def __init__(self, directory: Path, options: Options) -> None:
        """Keep the directories of runs inside *directory*, which the nodes must share."""
        super().__init__(directory)
        self._options = options
        self._settings = options.engine
        self._jobs = Jobs()
        self._outage = ""
        """Why Slurm did not answer when it was last asked; empty if it did."""
        self._ordered_at: dict[str, float] = {}

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Submit runs, those with the same need in one call."""
        answers: dict[str, Known | Refused] = {}
        tried = {
            assignment.run for assignment in assignments if attempt.read(self._directory / assignment.run) is not None
        }
        for run, look in self.look(dict.fromkeys(tried)).items() if tried else ():
            if isinstance(look.begun, Queued):
                answers[run] = look.begun
            elif look.condition is Condition.WAITING:
                tried.discard(run)
        untried = [assignment for assignment in assignments if assignment.run not in tried]
        for need, members in submission.grouped(untried, self._settings):
            if self._outage:
                answers |= dict.fromkeys((assignment.run for assignment in members), Refused(self._outage))
                continue
            try:
                answers |= self._submit_all(need, members)
            except NoAnswerError as error:
                # Some of these runs may be in Slurm. More calls would only wait for nothing.
                self._outage = _outage_reason(error)
        return answers

    def look(self, runs: Mapping[str, Known | None]) -> dict[str, Look]:
        """Return the condition of runs, from one listing of Slurm's jobs."""
        paths = {run: self._directory / run for run in runs}
        tried = {run: attempt.read(path) for run, path in paths.items()}
        needs_listing = any(recorded is not None or tried[run] is not None for run, recorded in runs.items())
        try:
            self._jobs = self._find_jobs(runs, tried) if needs_listing else Jobs()
            self._outage = ""
            looks = {run: self._look(paths[run], recorded, tried[run]) for run, recorded in runs.items()}
            requeued = [
                look.begun.engine_id
                for look in looks.values()
                if look.condition is Condition.STRAY and isinstance(look.begun, Queued)
            ]
            if requeued:
                call("scancel", "--quiet", *requeued)
            return looks
        except (NoAnswerError, RefusedError) as error:
            self._outage = _outage_reason(error)
            return dict.fromkeys(runs, Look(Condition.UNKNOWN, detail=self._outage))

    def stop(self, runs: Mapping[str, str]) -> None:
        """Cancel waiting runs; let the supervisors of the others end their jobs, or Slurm if they do not."""
        now = time.time()
        for run, reason in runs.items():
            with suppress(OSError):
                attempt.cancel(self._directory / run, reason)
        due = {run: reason for run, reason in runs.items() if now - self._ordered_at.get(run + reason, 0) > _REPEAT}
        recorded_ids = {run: self._id_of(run) for run in due}
        ids = {run: engine_id for run, engine_id in recorded_ids.items() if engine_id is not None}
        late = [engine_id for run, engine_id in ids.items() if self._is_late(run, now)]
        with suppress(NoAnswerError, RefusedError):
            if ids:
                call("scancel", "--quiet", "--state=PENDING", *ids.values())
                call("scancel", "--quiet", "--state=RUNNING", "--batch", "--signal=TERM", *ids.values())
            if late:
                call("scancel", "--quiet", *late)
            self._ordered_at |= {run + runs[run]: now for run in ids}

    def slots(self) -> Slots:
        """Return no cores: the jobs run elsewhere."""
        return Slots(())

    def nodes(self, partition: str | None = None) -> list[Node]:
        """Return the nodes of Slurm, or those of a *partition*; raises EngineError."""
        try:
            return nodes.nodes(partition, self._settings["partition"])
        except (NoAnswerError, RefusedError) as error:
            cure = "see that slurmctld runs and that SLURM_CONF, if set, names its configuration, then try again"
            raise EngineError(engine="Slurm", reason=error, cure=cure) from None

    def close(self) -> None:
        """Do nothing: Slurm keeps the jobs."""

    def _submit_all(self, need: Need, members: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Submit runs in one call, or one by one if Slurm refuses the array; raises NoAnswerError."""
        try:
            return self._submit(need, members)
        except RefusedError as error:
            if len(members) > 1 and "array" in str(error):
                return {run: answer for member in members for run, answer in self._submit_all(need, [member]).items()}
            return dict.fromkeys((answer.run for answer in members), Refused(f"Slurm refuses it: {error}"))
        except OSError as error:
            return dict.fromkeys((answer.run for answer in members), Refused(str(error)))

    def _submit(self, need: Need, members: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Submit runs in one call; raises NoAnswerError, RefusedError, OSError."""
        name = f"fairq-{members[0].job}-{os.urandom(4).hex()}"
        environment = submission.put_environment(self._create_directory())
        program = archive.put(self._directory)
        attempts: dict[str, Attempt] = {}
        for index, assignment in enumerate(members):
            path = self._directory / assignment.run
            path.mkdir(0o700, exist_ok=True)
            # Slurm itself holds the memory of a batch job: no control group inside its own.
            spec = complete(asdict(assignment), str(path), self._options.keep_output, None)
            (path / "spec").write_text(json.dumps(spec), encoding="utf-8")
            attempts[assignment.run] = Attempt(name, index if len(members) > 1 else None, time.time())
            attempt.note(path, attempts[assignment.run])
        script = submission.script(
            self._directory, program, self._settings["python"], [assignment.run for assignment in members]
        )
        words = submission.command(name, need, len(members), self._settings, environment)
        try:
            answer = call_with_words(words, script)
        except RefusedError:
            for run in attempts:
                attempt.drop(self._directory / run)
            raise
        ids = {run: submission.id_of(answer, index, len(members)) for index, run in enumerate(attempts)}
        for run, engine_id in ids.items():
            attempt.note_id(self._directory / run, attempts[run], engine_id)
        return {run: Queued(engine_id) for run, engine_id in ids.items()}

    def _create_directory(self) -> Path:
        self._directory.mkdir(0o700, parents=True, exist_ok=True)
        return self._directory

    def _find_jobs(self, runs: Mapping[str, Known | None], tried: Mapping[str, Attempt | None]) -> Jobs:
        """Return the jobs that Slurm knows, or has accounted for; raises NoAnswerError, RefusedError."""
        records = listing()
        jobs = Jobs(records)
        engine_ids = {
            start.engine_id for start in (*runs.values(), *tried.values()) if isinstance(start, Queued | Attempt)
        }
        forgotten = [engine_id for engine_id in engine_ids if engine_id is not None and not jobs.has(engine_id)]
        return Jobs([*records, *accounted(forgotten)]) if forgotten else jobs

    def _look(self, path: Path, recorded: Known | None, last_attempt: Attempt | None) -> Look:
        job = self._job(recorded, last_attempt)
        files = verdict.Files.of(path)
        if job is not None:
            return verdict.of_job(job, files, exit_status, path)
        recorded = recorded if isinstance(recorded, Queued) else None
        if recorded is None and last_attempt is not None and last_attempt.engine_id is not None:
            recorded = Queued(last_attempt.engine_id)
        return verdict.without_job(recorded, last_attempt, files)

    def _job(self, recorded: Known | None, last_attempt: Attempt | None) -> Record | None:
        """Return Slurm's job of a run, by its id or by the name under which it was submitted."""
        name, index, engine_id = (
            (last_attempt.name, last_attempt.index, last_attempt.engine_id) if last_attempt else (None, None, None)
        )
        return self._jobs.find(recorded.engine_id if isinstance(recorded, Queued) else engine_id, name, index)

    def _id_of(self, run: str) -> str | None:
        last_attempt = attempt.read(self._directory / run)
        if last_attempt is None or last_attempt.engine_id is not None:
            return None if last_attempt is None else last_attempt.engine_id
        job = self._job(None, last_attempt)
        return None if job is None else job.id

    def _is_late(self, run: str, now: float) -> bool:
        """Return whether a run should have ended long ago."""
        path = self._directory / run
        try:
            ordered_at = (path / "order").stat().st_mtime
            return now - ordered_at > (0 if self._is_at_once(run) else _grace(path)) + _SPARE
        except OSError:
            return False

    def _is_at_once(self, run: str) -> bool:
        return bool(json.loads((self._directory / run / "order").read_bytes())["order"] == AT_ONCE)


def _outage_reason(error: Exception) -> str:
    return f"Slurm does not answer: {error}"


@cache
def _grace(path: Path) -> float:
    return float(json.loads((path / "spec").read_bytes())["grace"])
