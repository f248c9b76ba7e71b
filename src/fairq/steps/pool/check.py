"""The checks of ``fairq pool check``: the faults of a pool, with a cure for each."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fairq.common.lock_wait import holders
from fairq.common.quantities import counted, shown_duration, shown_time
from fairq.common.records import UNFORESEEN, JobStatus
from fairq.engine.negotiation.pieces import assigned_gpus, available_gpus
from fairq.errors.base import CycleUnderWayError, FairqError
from fairq.errors.launch import EngineError
from fairq.launch.interface import Condition
from fairq.state import cycle_errors, cycles, dynamic_slots, history, jobs, launches, slots
from fairq.state import pause as pauses
from fairq.state.connection import reading, unused_share
from fairq.state.cycle_lock import cycle_lock, lock_file
from fairq.state.location import elsewhere_of, exists, resolve
from fairq.steps.cycle.accounts import last_update
from fairq.steps.launch.inspection import look
from fairq.steps.launch.launchers import Launchers, is_launching, of_slot, opened, runs_as_owner
from fairq.steps.mail import WANTED
from fairq.steps.pool.devices import by_number, same_gpu
from fairq.steps.pool.finding import FAULT, GOOD, NOT_NEEDED, Finding
from fairq.steps.pool.pause import pause_sentence

if TYPE_CHECKING:
    from fairq.settings import Settings

_SLACK = 60
"""Tolerated difference between clocks, in seconds."""

_PATIENCE = 2.0
"""Seconds that the check waits for the lock on the state."""

_LOCAL = "local"
_LEAST_SPACE = 100 * 1024**2
_LARGE, _MOST_UNUSED = 32 * 1024**2, 0.5
"""A state of so many bytes should not be unused by more than this share."""
_CRON_PLACES = ("/etc/crontab", "/etc/cron.d", "/var/spool/cron", "/var/spool/cron/crontabs")
_UNIT_PLACES = ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system")


def check_pool(
    path: Path,
    load: Callable[[], Settings],
    now: int,
    longest: int,
    check_host: Callable[[Settings], Iterable[Finding]] = lambda settings: (),
) -> list[Finding]:
    """Return the findings at *now*; a last cycle older than *longest* seconds is a fault.

    *load* reads the settings; *check_host* checks the pool of this host if *path* is its state.
    """
    settings: Settings | None = None
    try:
        settings = load()
        findings = [Finding("settings", GOOD, "they can be read and are valid")]
    except FairqError as error:
        findings = [Finding("settings", FAULT, str(error), "correct the file, then run 'fairq config check'")]
    if settings is not None and settings["pool.state"] and resolve(path) == resolve(Path(settings["pool.state"])):
        findings += check_host(settings)
    findings.append(_state(path))
    if findings[-1].status == FAULT or not exists(resolve(path)):
        return [*findings, _disk(path)]
    findings += [*_times(path, now, longest), _lock(path, now, longest), _disk(path), _slots(path), _jobs(path)]
    findings += _groups(path, settings, now)
    if elsewhere_of(path):
        detail = "only the account of the pool and root can see it"
        findings += [Finding(name, NOT_NEEDED, detail) for name in ("launcher", "cgroup", "supervisor")]
    elif settings is not None:
        findings += [*_launching(path, settings), _gpus(path, settings), _mail(path, settings)]
    return findings


def _state(path: Path) -> Finding:
    file = resolve(path)
    if not exists(file):
        return Finding("state", GOOD, f"{file} does not exist yet; the first change creates it")
    try:
        with reading(path, _PATIENCE) as state:
            last_update(state)
    except FairqError as error:
        cure = "run 'fairq state check'; 'fairq state restore' goes back to a copy"
        return Finding("state", FAULT, str(error), cure)
    if elsewhere_of(path):
        return Finding("state", GOOD, f"a copy of {file} can be read")
    if os.statvfs(file).f_flag & os.ST_RDONLY:
        return Finding("state", FAULT, f"the file system of {file} is read-only", "mount it for writing")
    if not os.access(file, os.W_OK):
        return Finding("state", FAULT, f"{file} cannot be written", "run fairq as its owner, or change its mode")
    return Finding("state", GOOD, f"{file} can be read and written")


def _times(path: Path, now: int, longest: int) -> Iterator[Finding]:
    """Yield findings on the clock, the last cycle, and the program that runs the cycles."""
    with reading(path) as state:
        updated = last_update(state)
        last = next(iter(cycles.summaries(state, 1)), None)
        pause = pauses.load(state, now)
    if updated > now + _SLACK:
        detail = f"usage is charged up to {shown_time(updated)}, but it is {shown_time(now)}"
        cure = "correct the clock of this machine; if it is right, run 'fairq state restore' to go back to a copy"
        yield Finding("clock", FAULT, detail, cure)
    else:
        yield Finding("clock", GOOD, f"it is {shown_time(now)}")
    cure = "run 'fairq negotiate -q' by cron or by a systemd timer, see docs/operations.md"
    failed = cycle_errors.load(resolve(path))
    if failed.kind and (last is None or failed.time >= last.time):
        detail = f"the cycle of {shown_time(failed.time)} failed: {failed.message}"
        yield Finding("last cycle", FAULT, detail, "correct what the message names, then run 'fairq negotiate'")
    elif pause is not None:
        yield Finding("last cycle", GOOD, f"{pause_sentence(pause)}; no cycle is held meanwhile")
    elif last is None:
        yield Finding("last cycle", FAULT, "no cycle was ever held", cure)
    elif now - last.time > longest:
        age = shown_duration(now - last.time)
        yield Finding("last cycle", FAULT, f"cycle {last.number} was held {age} ago", cure)
    else:
        yield Finding("last cycle", GOOD, f"cycle {last.number} was held {shown_duration(max(0, now - last.time))} ago")
    places = sorted({*_mentions(_CRON_PLACES), *_mentions(_UNIT_PLACES, "fairq*"), *_crontab()})
    if places:
        yield Finding("cron", GOOD, f"{', '.join(places)} {'runs' if len(places) == 1 else 'run'} fairq")
    elif last is not None and now - last.time <= longest:
        yield Finding("cron", GOOD, "nothing was found that runs fairq, but the last cycle is recent")
    else:
        yield Finding("cron", FAULT, "no crontab or systemd unit that can be read runs fairq", cure)


def _mentions(places: tuple[str, ...], pattern: str = "*") -> Iterator[str]:
    """Yield the files that mention fairq, among *places* or in these directories."""
    for folder in map(Path, places):
        try:
            files = [folder] if folder.is_file() else sorted(folder.glob(pattern))
            for file in files:
                if file.is_file() and b"fairq" in file.read_bytes():
                    yield str(file)
        except OSError:
            continue


def _crontab() -> Iterator[str]:
    """Yield the crontab of this user if it mentions fairq."""
    program = shutil.which("crontab")
    if program is None:
        return
    listed = subprocess.run([program, "-l"], capture_output=True, check=False, timeout=10, stdin=subprocess.DEVNULL)
    if any(b"fairq" in line and not line.lstrip().startswith(b"#") for line in listed.stdout.splitlines()):
        yield "crontab -l"


def _lock(path: Path, now: int, longest: int) -> Finding:
    """Return whether a cycle can begin: a cycle that has hung since the last one keeps all others from it."""
    if elsewhere_of(path):
        return Finding("lock", NOT_NEEDED, "only the account of the pool and root can take it")
    try:
        with cycle_lock(path):
            return Finding("lock", GOOD, "no other cycle is running")
    except CycleUnderWayError:
        with reading(path) as state:
            last = next(iter(cycles.summaries(state, 1)), None)
        if last is None or now - last.time <= longest:
            return Finding("lock", GOOD, "a cycle is running now")
        processes = holders(lock_file(resolve(path)))
        names = ", ".join(
            f"process {process.process} ({' '.join(process.command.split())[:60]})" for process in processes
        )
        detail = f"a cycle has not ended for {shown_duration(now - last.time)}: {names or 'its process is not known'}"
        return Finding("lock", FAULT, detail, "find out what the process waits for, or end it with 'kill'")
    except FairqError as error:
        return Finding("lock", FAULT, str(error), "let the user who runs fairq write in the directory of the state")


def _disk(path: Path) -> Finding:
    file = resolve(path)
    directory = next((parent for parent in file.parents if parent.exists()), Path("/"))
    free = shutil.disk_usage(directory).free
    size = file.stat().st_size if exists(file) else 0
    detail = f"{free // 1024**2} MB free in {directory}; the state has {-(-size // 1024**2)} MB"
    if size > _LARGE and (unused := _unused(path)) > _MOST_UNUSED:
        detail += f", {unused:.0%} of it unused"
        return Finding("disk", FAULT, detail, "run 'fairq state compact'; it gives the unused space back")
    if free < max(_LEAST_SPACE, 2 * size):
        return Finding(
            "disk",
            FAULT,
            detail,
            "free space, or move the state: a change may need as much space again as the state has",
        )
    return Finding("disk", GOOD, detail)


def _groups(path: Path, settings: Settings | None, now: int) -> list[Finding]:
    """Return a finding on accounting groups that can never start a job, or none without groups."""
    if settings is None or not settings.groups:
        return []
    from fairq.steps.quotas.check import never_starting_in

    try:
        never_starting = never_starting_in(path, settings, now)
    except FairqError as error:
        return [Finding("groups", FAULT, str(error), "correct the setting, then run 'fairq quotas check'")]
    if not never_starting:
        return [Finding("groups", GOOD, "the quota of each group is large enough for a slot")]
    first = never_starting[0]
    more = f"; {counted(len(never_starting) - 1, 'more group')}" if len(never_starting) > 1 else ""
    return [Finding("groups", FAULT, f"{first.group}: {first.problem}{more}", first.cure)]


def _unused(path: Path) -> float:
    """Return the share of the state that is unused; 0 for one that cannot be read, which is another finding."""
    with suppress(FairqError), reading(path) as state:
        return unused_share(state)
    return 0.0


def _slots(path: Path) -> Finding:
    """Name the slots that fairq drains because jobs do not start on them; slots drained by people are no fault."""
    with reading(path) as state:
        failing = []
        for name in slots.draining_names(state):
            last = history.load(state, 1, subject=f"slot {name}")
            if last and isinstance(last[0].after, dict) and "did not start" in str(last[0].after.get("Reason")):
                failing.append(name)
    if failing:
        detail = f"jobs did not start on {_some(failing)}, so fairq drains them"
        return Finding("slots", FAULT, detail, f"fix the machine, then run 'fairq slots drain {failing[0]} --cancel'")
    return Finding("slots", GOOD, "jobs start on all slots that take any")


def _jobs(path: Path) -> Finding:
    """Name the jobs that are held because fairq failed at their part of a cycle."""
    with reading(path) as state:
        held = [job for job in jobs.select(state, statuses=[JobStatus.HELD]) if job.hold_code == UNFORESEEN]
    if held:
        names = _some([job.name for job in held])
        cure = "report the reason, which 'fairq queue --held' shows; then remove or release them"
        return Finding("jobs", FAULT, f"an error that nobody foresaw holds {names}: {held[0].reason}", cure)
    return Finding("jobs", GOOD, "no job is held for an error that nobody foresaw")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + " and others" * (len(names) > 3)


def _launching(path: Path, settings: Settings) -> Iterator[Finding]:
    """Yield findings on the launcher, the control group, and the supervisors of jobs."""
    with reading(path) as state:
        live = launches.live(state)
        if not (is_launching(state, settings) or live):
            for name in ("launcher", "cgroup", "supervisor"):
                yield Finding(name, NOT_NEEDED, "no slot has a launcher")
            return
    with opened(path, settings) as launchers:
        yield _launcher(launchers)
        yield _cgroup(settings) if _LOCAL in launchers.in_use() else Finding("cgroup", NOT_NEEDED, "no job runs here")
        try:
            looks = look(live, launchers)
        except FairqError as error:
            yield Finding("supervisor", FAULT, str(error), "install the launcher again, then run 'fairq negotiate'")
            return
    lost = sorted(launch.job for launch in live if looks[launch.name].condition in (Condition.LOST, Condition.STRAY))
    if lost:
        has = "has" if len(lost) == 1 else "have"
        detail = f"{len(lost)} of {counted(len(live), 'run')} {has} no supervisor: {_some(lost)}"
        yield Finding(
            "supervisor", FAULT, detail, "run 'fairq negotiate'; it collects these runs and starts the jobs again"
        )
    elif any(launch.condition is Condition.UNKNOWN for launch in looks.values()):
        yield Finding("supervisor", NOT_NEEDED, "the engine of the runs does not answer")
    else:
        yield Finding("supervisor", GOOD, f"{len(live)} runs have their supervisors")


def _gpus(path: Path, settings: Settings) -> Finding:
    """Return whether each GPU of this machine belongs to one slot that names it."""
    with reading(path) as state:
        carved = dynamic_slots.ids(state)
        here = [slot for slot in slots.load_all(state) if slot.id not in carved and "GPUs" in slot.ad]
    here = [slot for slot in here if of_slot(slot.ad, settings) == _LOCAL]
    gpus = {slot.name: list(dict.fromkeys(assigned_gpus(slot.ad) or available_gpus(slot.ad))) for slot in here}
    machine = by_number(name for names in gpus.values() for name in names)
    owners: list[tuple[str, str]] = []
    for slot in here:
        cure = f"run 'fairq slots remove {slot.name}', and add it again"
        if not gpus[slot.name] and slot.ad["GPUs"]:
            return Finding("GPUs", FAULT, f"{slot.name} does not name its GPUs, so no job with GPUs starts on it", cure)
        for name in gpus[slot.name]:
            other = next((other for known, other in owners if same_gpu(name, known, machine)), None)
            if other is not None:
                return Finding("GPUs", FAULT, f"{other} and {slot.name} have the same GPU {name}", cure)
        owners += ((name, slot.name) for name in gpus[slot.name])
    if not owners:
        return Finding("GPUs", NOT_NEEDED, "no slot of this machine has GPUs")
    return Finding("GPUs", GOOD, f"each of {len(owners)} GPUs belongs to one slot")


def _mail(path: Path, settings: Settings) -> Finding:
    """Return whether the jobs that ask for mail get it."""
    with reading(path) as state:
        asking = jobs.with_number(state, "JobNotification", WANTED)
    if not asking:
        return Finding("mail", NOT_NEEDED, "no job asks for mail")
    if settings["mail.command"]:
        return Finding("mail", GOOD, "mail.command mails what jobs ask for")
    name = f"{asking[0].cluster}.{asking[0].first_proc}"
    detail = f"jobs ask for mail, {name} among them, but mail.command is not set"
    return Finding("mail", FAULT, detail, "set mail.command, for example to 'mail -s {subject} {to}'")


def _launcher(launchers: Launchers) -> Finding:
    """Return whether every launcher can be used; an engine must answer."""
    names = launchers.in_use()
    for name in names:
        try:
            if launchers[name].is_engine:
                launchers[name].nodes()
        except EngineError as error:
            detail = f"{error.fields['engine']} does not answer: {error.fields['reason']}"
            return Finding("launcher", FAULT, detail, error.fields["cure"])
        except FairqError as error:
            return Finding("launcher", FAULT, str(error), "install the package of the launcher, or set launch.kind")
    return Finding("launcher", GOOD, f"{', '.join(names) or 'that of the slots'} can be used")


def _cgroup(settings: Settings) -> Finding:
    from fairq.launch.supervisor.cgroup import base

    if runs_as_owner(settings):
        return Finding("cgroup", NOT_NEEDED, "root makes the groups of jobs that run as their owners")
    setting = settings["launch.cgroup"]
    if setting == "none":
        return Finding("cgroup", NOT_NEEDED, "launch.cgroup is none")
    folder = base(setting)
    if folder is not None:
        return Finding("cgroup", GOOD, f"groups of jobs are made in {folder}")
    detail = "no control group can be made: jobs are ended process by process, and their memory is only sampled"
    if setting == "auto":
        return Finding("cgroup", GOOD, detail)
    cure = "give the group to the user who runs fairq (Delegate=yes in the systemd unit), or set launch.cgroup to auto"
    return Finding("cgroup", FAULT, detail, cure)
