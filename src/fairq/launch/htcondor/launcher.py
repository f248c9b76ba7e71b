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
from fairq.launch import run_directories
from fairq.launch.htcondor import ads, machines
from fairq.launch.htcondor.ads import Ad
from fairq.launch.htcondor.description import RUN, item
from fairq.launch.htcondor.schedd import NotMadeError, Schedd
from fairq.launch.interface import AT_ONCE, Assignment, Condition, Known, Look, Node, Options, Queued, Refused, Slots

_CANCELLED = "cancelled"
"""The file in the directory of a run that must not begin any more."""


class HTCondor:
    """The launcher ``htcondor``; see `fairq.launch.interface.Launcher`."""

    is_engine = True

    def __init__(self, directory: Path, options: Options) -> None:
        """Keep the directories of runs inside *directory*."""
        self._directory = directory
        engine = options.engine
        self._schedd = Schedd(
            engine.get("pool"), engine.get("schedd"), engine.get("accounting_group"), engine.get("spool", False)
        )

    def start(self, assignments: Sequence[Assignment]) -> dict[str, Known | Refused]:
        """Submit, in one transaction, the runs that the schedd does not have yet."""
        answers: dict[str, Known | Refused] = {}
        with self._locked():
            try:
                looks = self._look({one.run: None for one in assignments})
            except EngineError as error:
                return {one.run: Refused(str(error)) for one in assignments}
            items: dict[str, dict[str, str]] = {}
            for one in assignments:
                found = looks[one.run]
                if found.begun is not None:
                    answers[one.run] = found.begun
                elif found.condition is Condition.WAITING:
                    kept = self._directory / one.run
                    try:
                        items[one.run] = item(one, kept)
                        kept.mkdir(0o700, exist_ok=True)
                        if one.output_directory is not None:
                            Path(one.output_directory).mkdir(0o700, parents=True, exist_ok=True)
                    except ValueError as error:
                        answers[one.run] = Refused(str(error))
                    except OSError as error:
                        answers[one.run] = Refused(f"{kept}: {error.strerror or error}")
            return answers | self._submit({run: one for run, one in items.items() if run not in answers})

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
                if at_once := [run for run, word in runs.items() if word == AT_ONCE]:
                    self._schedd.kill(at_once, "fairq ends it at once")
                self._schedd.remove(runs, "fairq ends it")

    def runs(self) -> set[str]:
        """Return the runs that have a directory."""
        return {run for run in run_directories.names(self._directory) if not run.startswith(".")}

    def forget(self, runs: Iterable[str]) -> None:
        """Delete the directories of runs."""
        run_directories.delete(self._directory, runs)

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
        """Return the condition of runs; *is_complete*: these are all that have not been collected."""
        found = self._jobs(runs)
        if stopped := [run for run in runs if run in found and ads.is_in_the_way(found[run])]:
            self._schedd.remove(stopped, ads.TAKEN_BACK)
            found = self._jobs(runs)
        if is_complete:
            with suppress(EngineError):
                self._schedd.let_go([ad for run, ad in found.items() if run not in runs and ads.is_over(ad)])
        submitted = [run for run in runs if run not in found and (self._directory / run).is_dir()]
        if submitted:
            found |= {ad[RUN]: ads.former(ad) for ad in self._schedd.former_jobs(submitted)}
        return {run: self._look_at(run, known, found.get(run)) for run, known in runs.items()}

    def _look_at(self, run: str, known: Known | None, ad: Ad | None) -> Look:
        if ad is not None:
            found = ads.look_at(ad)
            return self._with_output(ad, found) if ad["JobStatus"] == ads.COMPLETED else found
        if known is None and not (self._directory / run / _CANCELLED).exists():
            return Look(Condition.WAITING)
        detail = "it was not submitted" if known is None else "HTCondor has no record of its job"
        return Look(Condition.LOST, known, detail=detail)

    def _with_output(self, ad: Ad, found: Look) -> Look:
        """Return what was *found* of an ended run, once its output is here."""
        try:
            self._schedd.fetch_output(ad)
        except EngineError as error:
            return Look(Condition.UNKNOWN, found.begun, detail=f"its output cannot be fetched: {error}")
        return found

    def _jobs(self, runs: Iterable[str]) -> dict[str, Ad]:
        """Return the jobs in the queue, of these runs and of all others of this state, by the names of their runs."""
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
        return {run: Queued(job) for run, job in zip(items, ids, strict=True)}

    def _refused(self, runs: Iterable[str], reason: str) -> dict[str, Known | Refused]:
        """Refuse runs; a directory in which the schedd has written stays, so that the job is looked for."""
        for run in runs:
            with suppress(OSError):
                (self._directory / run).rmdir()
        return dict.fromkeys(runs, Refused(reason))

    def _pool(self) -> str:
        """Return the name of this state in the schedd's queue: random, and kept beside the runs."""
        place = self._directory / "pool"
        if not place.exists():
            self._directory.mkdir(0o700, parents=True, exist_ok=True)
            with files.draft(self._directory) as inside, suppress(FileExistsError):
                (inside / place.name).write_text(secrets.token_hex(8))
                files.publish(inside / place.name, place)
        return place.read_text()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let no other process start or stop runs meanwhile: a run that was stopped must not be submitted."""
        self._directory.mkdir(0o700, parents=True, exist_ok=True)
        place = self._directory / "lock"
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            lock_wait.take(descriptor, lock_wait.Patience(lock_wait.WAIT, place))
            yield
        finally:
            os.close(descriptor)
