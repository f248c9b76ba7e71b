"""The launcher ``slurm``."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec.structs import asdict

from fairq.errors.launch import EngineError
from fairq.launch import run_directories
from fairq.launch.interface import AT_ONCE, Assignment, Condition, Known, Look, Node, Options, Queued, Refused, Slots
from fairq.launch.slurm import archive, attempt, nodes, submission, verdict
from fairq.launch.slurm.attempt import Attempt
from fairq.launch.slurm.commands import NoAnswerError, RefusedError, call, call_with_words
from fairq.launch.slurm.queue import Jobs, Record, accounted, exit_status, listing
from fairq.launch.slurm.submission import Need
from fairq.launch.supervisor.specification import complete

_AGAIN = 10.0
"""Seconds until a job that is to end is told so again."""

_SPARE = 60.0
"""Seconds after the grace of a job after which Slurm itself ends it."""


class Slurm:
    """Runs are batch jobs of this user, each pinned to a node."""

    is_engine = True

    def __init__(self, directory: Path, options: Options) -> None:
        """Keep the directories of runs inside *directory*, which the nodes must see as well."""
        self._directory = directory
        self._options = options
        self._settings = options.engine
        self._jobs = Jobs()
        self._silence = ""
        """Why Slurm did not answer when it was last asked; empty if it did."""
        self._told: dict[str, float] = {}

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Submit runs, those with the same need in one call."""
        answers: dict[str, Known | Refused] = {}
        tried = {one.run for one in assignments if attempt.read(self._directory / one.run) is not None}
        for run, found in self.look(dict.fromkeys(tried)).items() if tried else ():
            if isinstance(found.begun, Queued):
                answers[run] = found.begun
            elif found.condition is Condition.WAITING:
                tried.discard(run)
        free = [one for one in assignments if one.run not in tried]
        for need, members in submission.grouped(free, self._settings):
            if self._silence:
                answers |= dict.fromkeys((one.run for one in members), Refused(self._silence))
                continue
            try:
                answers |= self._submit_all(need, members)
            except NoAnswerError as error:
                # Some of these runs may be in Slurm. More calls would only wait for nothing.
                self._silence = _silent(error)
        return answers

    def look(self, runs: Mapping[str, Known | None]) -> dict[str, Look]:
        """Return the condition of runs, by one listing of Slurm's jobs."""
        places = {run: self._directory / run for run in runs}
        tried = {run: attempt.read(place) for run, place in places.items()}
        is_asked = any(known is not None or tried[run] is not None for run, known in runs.items())
        try:
            self._jobs = self._listed(runs, tried) if is_asked else Jobs()
            self._silence = ""
            looks = {run: self._look(places[run], known, tried[run]) for run, known in runs.items()}
            requeued = [
                one.begun.engine_id
                for one in looks.values()
                if one.condition is Condition.STRAY and isinstance(one.begun, Queued)
            ]
            if requeued:
                call("scancel", "--quiet", *requeued)
            return looks
        except (NoAnswerError, RefusedError) as error:
            self._silence = _silent(error)
            return dict.fromkeys(runs, Look(Condition.UNKNOWN, detail=self._silence))

    def stop(self, runs: Mapping[str, str]) -> None:
        """Cancel runs that wait; let the supervisors of the others end their jobs, or Slurm if they do not."""
        now = time.time()
        for run, word in runs.items():
            with suppress(OSError):
                attempt.cancel(self._directory / run, word)
        due = {run: word for run, word in runs.items() if now - self._told.get(run + word, 0) > _AGAIN}
        found = {run: self._id_of(run) for run in due}
        ids = {run: engine_id for run, engine_id in found.items() if engine_id is not None}
        late = [engine_id for run, engine_id in ids.items() if self._is_late(run, now)]
        with suppress(NoAnswerError, RefusedError):
            if ids:
                call("scancel", "--quiet", "--state=PENDING", *ids.values())
                call("scancel", "--quiet", "--state=RUNNING", "--batch", "--signal=TERM", *ids.values())
            if late:
                call("scancel", "--quiet", *late)
            self._told |= {run + runs[run]: now for run in ids}

    def runs(self) -> set[str]:
        """Return the runs that have a directory."""
        return run_directories.names(self._directory)

    def forget(self, runs: Iterable[str]) -> None:
        """Delete the directories of runs."""
        run_directories.delete(self._directory, runs)

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
        """Submit runs in one call, or in one each if Slurm takes no such array; raises NoAnswerError."""
        try:
            return self._submit(need, members)
        except RefusedError as error:
            if len(members) > 1 and "array" in str(error):
                return {run: one for member in members for run, one in self._submit_all(need, [member]).items()}
            return dict.fromkeys((one.run for one in members), Refused(f"Slurm refuses it: {error}"))
        except OSError as error:
            return dict.fromkeys((one.run for one in members), Refused(str(error)))

    def _submit(self, need: Need, members: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Submit runs in one call; raises NoAnswerError, RefusedError, OSError."""
        name = f"fairq-{members[0].job}-{os.urandom(4).hex()}"
        environment = submission.put_environment(self._made())
        program = archive.put(self._directory)
        attempts: dict[str, Attempt] = {}
        for index, one in enumerate(members):
            place = self._directory / one.run
            place.mkdir(0o700, exist_ok=True)
            # Slurm itself holds the memory of a batch job: no control group inside its own.
            spec = complete(asdict(one), str(place), self._options.keep_output, None)
            (place / "spec").write_text(json.dumps(spec), encoding="utf-8")
            attempts[one.run] = Attempt(name, index if len(members) > 1 else None, time.time())
            attempt.note(place, attempts[one.run])
        script = submission.script(self._directory, program, self._settings["python"], [one.run for one in members])
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

    def _made(self) -> Path:
        self._directory.mkdir(0o700, parents=True, exist_ok=True)
        return self._directory

    def _listed(self, runs: Mapping[str, Known | None], tried: Mapping[str, Attempt | None]) -> Jobs:
        """Return the jobs that Slurm knows, or has accounted for; raises NoAnswerError, RefusedError."""
        found = listing()
        jobs = Jobs(found)
        known = {one.engine_id for one in (*runs.values(), *tried.values()) if isinstance(one, Queued | Attempt)}
        forgotten = [engine_id for engine_id in known if engine_id is not None and not jobs.has(engine_id)]
        return Jobs([*found, *accounted(forgotten)]) if forgotten else jobs

    def _look(self, place: Path, known: Known | None, tried: Attempt | None) -> Look:
        job = self._job(known, tried)
        files = verdict.Files.of(place)
        if job is not None:
            return verdict.of_job(job, files, exit_status, place)
        known = known if isinstance(known, Queued) else None
        if known is None and tried is not None and tried.engine_id is not None:
            known = Queued(tried.engine_id)
        return verdict.without_job(known, tried, files)

    def _job(self, known: Known | None, tried: Attempt | None) -> Record | None:
        """Return Slurm's job of a run, by its id or by the name under which it was submitted."""
        name, index, engine_id = (tried.name, tried.index, tried.engine_id) if tried else (None, None, None)
        return self._jobs.find(known.engine_id if isinstance(known, Queued) else engine_id, name, index)

    def _id_of(self, run: str) -> str | None:
        tried = attempt.read(self._directory / run)
        if tried is None or tried.engine_id is not None:
            return None if tried is None else tried.engine_id
        job = self._job(None, tried)
        return None if job is None else job.id

    def _is_late(self, run: str, now: float) -> bool:
        """Tell whether a run should have ended long ago."""
        place = self._directory / run
        try:
            ordered = (place / "order").stat().st_mtime
            return now - ordered > (0 if self._is_at_once(run) else _grace(place)) + _SPARE
        except OSError:
            return False

    def _is_at_once(self, run: str) -> bool:
        return bool(json.loads((self._directory / run / "order").read_bytes())["order"] == AT_ONCE)


def _silent(error: Exception) -> str:
    return f"Slurm does not answer: {error}"


@cache
def _grace(place: Path) -> float:
    return float(json.loads((place / "spec").read_bytes())["grace"])
