"""The launcher ``htcondor``: a run is a job in the queue of a schedd, found again by an attribute with the run's name.

A run has a directory, made before its job is submitted. So a run without one was never submitted, and one whose job is
not in the queue must be looked for in the schedd's history.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from fairq.common import files, lock_wait
from fairq.errors.launch import EngineError
from fairq.launch.htcondor import ads, machines
from fairq.launch.htcondor.ads import Ad
from fairq.launch.htcondor.description import RUN, item
from fairq.launch.htcondor.schedd import NotMadeError, Schedd
from fairq.launch.interface import AT_ONCE, Assignment, Condition, Known, Look, Node, Options, Queued, Refused, Slots
from fairq.launch.run_directories import RunDirectories

_CANCELLED = "cancelled"
"""The file in the directory of a run that must not begin any more."""


class HTCondor(RunDirectories):
    """The launcher ``htcondor``; see `fairq.launch.interface.Launcher`."""

    is_engine = True

    def __init__(self, directory: Path, options: Options) -> None:
        """Keep the directories of runs inside *directory*."""
        super().__init__(directory)
        engine = options.engine
        self._schedd = Schedd(
            engine.get("pool"), engine.get("schedd"), engine.get("accounting_group"), engine.get("spool", False)
        )

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Submit the runs that the schedd does not have yet, in one transaction."""
        answers: dict[str, Known | Refused] = {}
        with self._locked():
            try:
                looks = self._look({assignment.run: None for assignment in assignments})
            except EngineError as error:
                return {assignment.run: Refused(str(error)) for assignment in assignments}
            items: dict[str, dict[str, str]] = {}
            for assignment in assignments:
                look = looks[assignment.run]
                if look.begun is not None:
                    answers[assignment.run] = look.begun
                elif look.condition is Condition.WAITING:
                    path = self._directory / assignment.run
                    try:
                        items[assignment.run] = item(assignment, path)
                        path.mkdir(0o700, exist_ok=True)
                        if assignment.output_directory is not None:
                            Path(assignment.output_directory).mkdir(0o700, parents=True, exist_ok=True)
                    except ValueError as error:
                        answers[assignment.run] = Refused(str(error))
                    except OSError as error:
                        answers[assignment.run] = Refused(f"{path}: {error.strerror or error}")
            return answers | self._submit({run: assignment for run, assignment in items.items() if run not in answers})

    def look(self, runs: Mapping[str, Known | None]) -> dict[str, Look]:
        """Return the condition of runs; remove the jobs that HTCondor has stopped."""
        try:
            return self._look(runs, is_complete=True)
        except EngineError as error:
            return dict.fromkeys(runs, Look(Condition.UNKNOWN, detail=str(error)))

    def stop(self, runs: Mapping[str, str]) -> None:
        """Remove the jobs of runs; if the schedd does not answer, the next turn tries again."""
        with self._locked():
            for run in runs:
                (self._directory / run).mkdir(0o700, exist_ok=True)
                (self._directory / run / _CANCELLED).touch()
            with suppress(EngineError):
                if at_once := [run for run, reason in runs.items() if reason == AT_ONCE]:
                    self._schedd.kill(at_once, "fairq ends it at once")
                self._schedd.remove(runs, "fairq ends it")

    def slots(self) -> Slots:
        """Return no cores: HTCondor chooses them."""
        return Slots(())

    def nodes(self, partition: str | None = None) -> list[Node]:
        """Return the slots in the collector; raises EngineError, also if this user may not submit jobs."""
        self._schedd.check()
        return sorted(map(machines.node, self._schedd.machines(machines.PROJECTION)), key=lambda node: node.name)

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _look(self, runs: Mapping[str, Known | None], *, is_complete: bool = False) -> dict[str, Look]:
        """Return the condition of runs. *is_complete*: these are all runs not yet collected; drop other ended jobs."""
        jobs = self._jobs(runs)
        if stopped := [run for run in runs if run in jobs and ads.is_stopped(jobs[run])]:
            self._schedd.remove(stopped, ads.TAKEN_BACK)
            jobs = self._jobs(runs)
        if is_complete:
            with suppress(EngineError):
                self._schedd.let_go([ad for run, ad in jobs.items() if run not in runs and ads.is_over(ad)])
        submitted = [run for run in runs if run not in jobs and (self._directory / run).is_dir()]
        if submitted:
            jobs |= {ad[RUN]: ads.former(ad) for ad in self._schedd.former_jobs(submitted)}
        return {run: self._look_at(run, recorded, jobs.get(run)) for run, recorded in runs.items()}

    def _look_at(self, run: str, recorded: Known | None, ad: Ad | None) -> Look:
        if ad is not None:
            look = ads.look_at(ad)
            return self._with_output(ad, look) if ad["JobStatus"] == ads.COMPLETED else look
        if recorded is None and not (self._directory / run / _CANCELLED).exists():
            return Look(Condition.WAITING)
        detail = "it was not submitted" if recorded is None else "HTCondor has no record of its job"
        return Look(Condition.LOST, recorded, detail=detail)

    def _with_output(self, ad: Ad, look: Look) -> Look:
        """Fetch the output of an ended run; return its *look*, or UNKNOWN if that fails."""
        try:
            self._schedd.fetch_output(ad)
        except EngineError as error:
            return Look(Condition.UNKNOWN, look.begun, detail=f"its output cannot be fetched: {error}")
        return look

    def _jobs(self, runs: Iterable[str]) -> dict[str, Ad]:
        """Return the jobs of this state in the queue, and those of these runs, by the names of their runs."""
        return {ad[RUN]: ad for ad in self._schedd.jobs(self._pool(), runs)}

    def _submit(self, items: Mapping[str, Mapping[str, str]]) -> dict[str, Known | Refused]:
        """Submit jobs together; if HTCondor cannot make one of them, submit them one by one."""
        if not items:
            return {}
        try:
            ids = self._schedd.submit(self._pool(), list(items.values()))
        except NotMadeError as error:
            if len(items) == 1:
                return self._refused(items, str(error))
            return {run: answer for run in items for answer in self._submit({run: items[run]}).values()}
        except EngineError as error:
            return self._refused(items, str(error))
        return {run: Queued(job_id) for run, job_id in zip(items, ids, strict=True)}

    def _refused(self, runs: Iterable[str], reason: str) -> dict[str, Known | Refused]:
        """Refuse runs; keep a directory in which the schedd has written, so that the job is looked for."""
        for run in runs:
            with suppress(OSError):
                (self._directory / run).rmdir()
        return dict.fromkeys(runs, Refused(reason))

    def _pool(self) -> str:
        """Return the name of this state in the schedd's queue: random, and stored beside the runs."""
        path = self._directory / "pool"
        if not path.exists():
            self._directory.mkdir(0o700, parents=True, exist_ok=True)
            with files.draft(self._directory) as draft, suppress(FileExistsError):
                (draft / path.name).write_text(secrets.token_hex(8))
                files.publish(draft / path.name, path)
        return path.read_text()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Prevent other processes from starting or stopping runs: a stopped run must not be submitted."""
        self._directory.mkdir(0o700, parents=True, exist_ok=True)
        path = self._directory / "lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock_wait.take(descriptor, lock_wait.Patience(lock_wait.WAIT, path))
            yield
        finally:
            os.close(descriptor)
