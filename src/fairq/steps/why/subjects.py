"""The first sentences of `why` for submitters, groups, and jobs that are not idle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairq.common.quantities import counted, rounded, shown_time
from fairq.common.records import OVER_RESOURCES, UNUSABLE, Ad, JobRange, JobStatus, Run
from fairq.common.waits import UNMET
from fairq.engine.explain.losses import LostTo

WITHOUT_START = "It has no estimated start, because estimates take all jobs to succeed."


def status_sentence(name: str, job: JobRange, ad: Ad) -> str:
    """Return the status of a job that is not idle, and what would end its wait."""
    match job.status:
        case JobStatus.RUNNING:
            slot = ad.get("RemoteHost")
            if "EngineReason" in ad and "JobCurrentStartDate" not in ad:
                return _engine_sentence(name, ad)
            where = f" on {slot}" if slot else f" elsewhere ({job.reason})" if job.reason else ""
            begin, most = ad.get("JobCurrentStartDate"), ad.get("AllowedExecuteDuration")
            if isinstance(begin, int) and isinstance(most, int):
                where += f", until {shown_time(begin + most)} at the latest"
            if "EngineReason" in ad:
                where += f", as far as known: {ad['EngineReason']}"
            return f"job {name} does not wait: it runs{where}."
        case JobStatus.WAITING:
            return f"job {name} is in no cycle yet, because it waits: {ad['WaitsFor']}."
        case JobStatus.HELD:
            reason = f" ({job.reason})" if job.reason else ""
            return f"job {name} is held{reason}: {held_cure(job, name)}."
        case _:
            return f"job {name} does not wait: it is {JobStatus(job.status).name.lower()}."


def held_cure(job: JobRange, name: str) -> str:
    """Return what ends the hold of a job; some jobs would only be held again after a release."""
    if job.hold_code == OVER_RESOURCES:
        return f"remove it with 'fairq remove {name}' and submit it again with a larger --request-memory"
    if job.hold_code == UNUSABLE:
        return f"remove it with 'fairq remove {name}', correct the attribute and submit it again"
    if job.hold_code == UNMET:
        return f"run it all the same with 'fairq release {name}', or remove it with 'fairq remove {name}'"
    return f"release it with 'fairq release {name}'"


def _engine_sentence(name: str, ad: Ad) -> str:
    """Return what a job waits for that an engine such as Slurm has or will get."""
    slot, reason = ad.get("RemoteHost"), str(ad["EngineReason"]).rstrip(".")
    if "EngineJobId" not in ad:
        return f"job {name} has {slot} and waits to be handed to {ad['Launch']}: {reason}. This time is not charged."
    where = f"the queue of {ad['Launch']}, as {ad['EngineJobId']} for {slot}"
    return f"job {name} waits in {where}: {reason}. This time is not charged."


def matched_sentence(name: str, slot: str, preempted: str | None, making_room: Sequence[str] = ()) -> str:
    """Return the sentence that the next cycle would start a job.

    It takes the slot from *preempted*, or the dynamic slots *making_room* are preempted for it.
    """
    instead = "" if preempted is None else f" in place of a job of {preempted}"
    if making_room:
        what = "slot" if len(making_room) == 1 else "slots"
        instead = f" and preempt the dynamic {what} {', '.join(making_room)} to make room"
    return f"job {name} waits only for the next cycle, which would give it {slot}{instead}."


def schedds_sentence(job: str, schedd: str, schedds: Sequence[str]) -> str:
    """Return which schedd's *job* is explained if several have a job of this number; fairq's own schedd has no name."""
    owner = f"schedd {schedd}" if schedd else "fairq's own queue"
    return f"This is the job of {owner}; choose among {', '.join(f'{job}@{name}' for name in schedds)}."


def ended_sentence(name: str, run: Run) -> str:
    """Return how a job that has left the queue ended."""
    code = "" if run.exit_code is None else f" with exit code {run.exit_code}"
    return f"job {name} is not in the queue any more: its last run, on {run.slot}, ended ({run.how}){code}."


def removed_sentence(name: str, user: str, command: str, time: int) -> str:
    """Return who removed a job that never ran, and when."""
    return f"job {name} is not in the queue any more: {user} removed it at {shown_time(time)} ({command})."


def pair_sentence(name: str, pair: dict[str, Any]) -> str:
    """Return whether the next cycle would give the slot to the job, and if not, why."""
    slot = pair["slot"]
    if pair["lost_to"] is None:
        return f"the next cycle would give {slot} to job {name}."
    failing = next((clause for clause in pair["clauses"] if not clause["passes"]), None)
    if failing is not None:
        whose = "its" if failing["side"] == "job" else "the slot's"
        return f"job {name} cannot run on {slot}: {whose} clause {failing['clause']} is {_value(failing['value'])}."
    if not pair["suitable"]:
        return f"job {name} cannot run on {slot}: one of the two has no Requirements."
    reason = _REASONS_APART[pair["lost_to"]].format(holder=pair["holder"] or "somebody")
    return f"job {name} and {slot} match, but the next cycle would not assign them: {reason}."


_REASONS_APART = {
    LostTo.DRAINING: "the slot is draining",
    LostTo.UNUSABLE: "the slot is drained, offline or absent",
    LostTo.KEPT_OUT: "negotiator_slot_constraint excludes the slot, or its machine is about to shut down",
    LostTo.TAKEN: "another job gets it, or it has too few free resources",
    LostTo.CLAIMED_OWN: "a job of the same submitter uses it",
    LostTo.CLAIMED_OTHERS: "{holder} uses it",
    LostTo.OUTRANKED: "{holder} uses it, and its machine prefers that job",
    LostTo.PREEMPTION_POLICY: "{holder} uses it, and PREEMPTION_REQUIREMENTS forbids preempting that job",
    LostTo.PRIORITY: "{holder} uses it, and that priority is not sufficiently worse",
    LostTo.CONCURRENCY_LIMIT: "a concurrency limit of the job is reached",
    LostTo.LIMIT: "other slots suit the job better, or the turn of its submitter ends first",
}


def _value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def submitter_sentence(row: dict[str, Any], pie: float) -> str:
    """Return a submitter's entitlement and use, and why the next cycle would give it no more."""
    share = f"{100 * row['share']:.1f}% of {'the pie' if row['group'] == '<none>' else row['group']}"
    text = (
        f"{row['submitter']} is entitled to {_weight(row['limit'], pie)} ({share}), has {rounded(row['used'])} in use"
    )
    if row.get("dominant"):
        text += f", most of it {row['dominant']}"
    if not row["idle"]:
        return f"{text}, and has no idle jobs."
    started = f"{row['matched']} (weight {rounded(row['matched_weight'])})" if row["matched"] else "none"
    text += f"; the next cycle starts {started} of its {counted(row['idle'], 'idle job')}"
    if row["matched"] == row["idle"]:
        return f"{text}."
    stopped = row["stopped"]
    if row["quota_group"] is not None:
        stopped += f" of {row['quota_group']}"
    ahead = row["ahead"]
    verb = "comes" if len(ahead) == 1 else "come"
    others = f"{counted(len(ahead), 'submitter')} with a better priority {verb} first"
    before = f"; {others}: {', '.join(ahead[:3])}" if ahead else ""
    return f"{text}: {stopped}{before}{', ...' if len(ahead) > 3 else ''}."


def group_sentence(row: dict[str, Any], turns: Sequence[dict[str, Any]], members: Sequence[dict[str, Any]]) -> str:
    """Return a group's quota, use and surplus, and the limit that stops it."""
    idle = sum(member["idle"] for member in members)
    matched = sum(member["matched"] for member in members)
    surplus = f" and gets {rounded(row['surplus'])} of surplus" if row["surplus"] else ""
    text = (
        f"group {row['group']} has a quota of {rounded(row['quota'])}, requests {rounded(row['requested'])}{surplus}, "
    )
    text += f"has {rounded(row['used'])} in use, and the next cycle starts {matched} of its {idle} idle jobs"
    if matched == idle:
        return f"{text}."
    stopper = next((turn["stopped_by"] for turn in reversed(turns) if turn["stopped_by"]), None)
    stops = sorted({member["stopped"] for member in members if member["matched"] < member["idle"]})
    by = f" (quota of {stopper})" if stopper and any("quota" in stop for stop in stops) else ""
    skipped = next((turn["skipped"] for turn in reversed(turns) if turn["skipped"]), None)
    return f"{text}: {'; '.join(stops) or skipped or 'no turn'}{by}."


def _weight(value: float, pie: float) -> str:
    return f"{value:.2f}" if value < 1e12 else f"all of {rounded(pie)}"
