"""What would have to change for a queue to pass: a sentence per reason, with the numbers that were compared."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

from fairq.engine.brokerage.flow.plugin import Details, Reason

_OVERLOADED = "at most {OVERLOAD_MIN_QUEUE} jobs wait, or {ratio} for each running (now {nQueue} and {nRunning})"

_SHARE_USED = "the share uses at most {limit} % of its target (now {share_usage} %)"
_NO_POWER = "corepower of the queue and cpuEfficiency of the task are not 0"


def _caps(unit: str, text: str) -> tuple[str, ...]:
    # A user's cap and a working group's are different settings.
    return tuple(text.replace("CAP", f"CAP_RUNNING_{kind}_{unit}") for kind in ("USER", "GROUP"))


_TEXTS: dict[str, tuple[str, ...]] = {
    "status": ("the queue goes online (status is {status})",),
    "wrong_type": (
        "the queue's type allows it and it has a cloud (type is {type}, cloud is {cloud})",
        "the queue's type allows it (type is {type})",
    ),
    "no_resource_type": ("a resource type fits its slots (fairq broker types)",),
    "test_queue": ("broker.exclude_test_queues is false, or the task names the queue as its site",),
    "nonpreassigned": (
        "the task's site is this queue (site is {site})",
        "the task's includedSite names this queue (it is {includedSite})",
    ),
    "dest_blacklisted": ("{endpoint} of the nucleus can be written to (write_wan is {write_wan})",),
    "links_full": (
        "at most {at_most} files are queued for {nucleus} (now {queued})",
        "fewer than {NQUEUED_NUC_CAP_FOR_JOBS} files are queued for {nucleus} (now {queued})",
    ),
    "link_unusable": (
        "at most {at_most} files are queued from {satellite} to {nucleus} (now {queued})",
        "fewer than {NQUEUED_SAT_CAP} files are queued from {satellite} to {nucleus} (now {queued})",
        "the link from {satellite} to {nucleus} is opened (closeness is {closeness})",
    ),
    "opportunistic": (
        "pledgedcpu is not -1, or the priority is below 800 (it is {currentPriority}) and it is no scout",
    ),
    "not_in_nucleus": (
        "the task's nucleus is {site} (it is {nucleus}), or the priority is below 800 (it is {currentPriority}) and it "
        "is no scout",
    ),
    "inactive": ("one of the {activated} activated and {starting} starting jobs starts",),
    "zeroshare": (
        "{decided_by} in the queue's fairsharepolicy does not give 0",
        "a part of the queue's fairsharepolicy gives a share to type {type}",
    ),
    "jumbo": ("the task has jumbo jobs (rule NJ)",),
    "fewevents": ("at least {minEventsForJumbo} events are ready (now {ready_events})",),
    "diskIO": ("the task's diskIO is at most {limit} (it is {diskIO}), or the queue's average is (now {usage})",),
    "cpucore": (
        "the queue has {wants} core slots (corecount is {corecount}), or coreCount of the task is another (it is "
        "{coreCount})",
    ),
    "max_cpucore": ("the queue has at most {maxCoreCount} cores (it has {corecount})",),
    "cache": ("the queue publishes what the task needs ({why})", "the queue publishes what the task needs"),
    "regexpcmtconfig": ("one of the queue's cmtconfigs fits {architecture}",),
    "lowmemory": ("a job needs at most {maxrss} MiB (it needs {memory_need_mb})",),
    "highmemory": ("a job needs at least {minrss} MiB (it needs {memory_need_mb})",),
    "remoteio": ("the queue has direct_access_lan, or the task may copy its input (rule IL)",),
    "disk": (
        "a job needs less than {less_than} MiB of scratch (it needs {scratch_need_mb})",
        "a job needs at most {scratch_have_mb} MiB of scratch (it needs {scratch_need_mb})",
        "{endpoint} has more than {STORAGE_MIN_FREE_SIZE} GB of free space (now {space_free})",
        "{endpoint} has more than {limit} GB of free space (now {space_free})",
        "{endpoint} has {STORAGE_MIN_FREE_SIZE} GB of usable space (now {space_usable})",
        "{endpoint} has {limit} GB of usable space (now {space_usable})",
        "the queue has storage for output",
    ),
    "source_blacklist": ("an endpoint with the input can be read from afar",),
    "blacklist": ("storage of the queue is in service again ({blacklist})",),
    "local_quota": ("{user} frees space at {endpoint}",),
    "shortwalltime": ("maxtime is at least {seconds_needed} s (it is {maxtime}), or jobs are shorter", _NO_POWER),
    "longwalltime": (
        "mintime is at most {seconds_needed} s (it is {mintime}), or jobs are longer",
        "mintime is 0 (it is {mintime}), or the time that jobs take is known",
    ),
    "scout_walltime": ("maxtime is at least {seconds_needed} s (it is {maxtime})", _NO_POWER),
    "min_walltime": (
        "maxtime is at least {seconds_needed} s (it is {maxtime}), or the time that jobs take is known", _NO_POWER
    ),
    "network": ("wnconnectivity of the queue offers {ipConnectivity} (it is {wnconnectivity})",),
    "es": ("jobseed of the queue allows event service (it is {jobseed})",),
    "eshigh": ("the priority is 900 or more",),
    "nones": ("jobseed of the queue is not es",),
    "transferring": (
        "at most {transferringlimit} jobs transfer, or as many as twice those running (now {transferring})",
    ),
    "non_pledged": ("WORK_SHORTAGE is false, or the queue has a pledge",),
    "over_pledged": ("fewer than {pledgedcpu} cores are in use (now {cores})",),
    "t1weight": ("t1Weight is not negative (rule TW), or the nucleus is {site}",),
    "max_io_intensity": ("ioIntensity is at most {max_io_intensity} (it is {ioIntensity})",),
    "full_chain": ("the task is no full chain (rule FU)",),
    "not_full_chain": ("the task is a full chain (rule FU)",),
    "nopilot": ("a pilot asks for work there",),
    "io": (
        "less than {below} MiB and fewer than {NUM_CUTOFF_TO_MOVE_INPUT} files have to be moved (they are "
        "{fileSizeToMoveMB} MiB and {nFilesToMove})",
        "at most {SIZE_CUTOFF_TO_MOVE_INPUT} MiB and {NUM_CUTOFF_TO_MOVE_INPUT} files have to be moved (they are "
        "{fileSizeToMoveMB} MiB and {nFilesToMove})",
    ),
    "lock": ("the other brokerage lets go of the queue",),
    "non_local": ("all of the input is there ({nFilesToMove} files are missing)",),
    "cap": (
        "at most {cap} jobs wait there (now {nQueued}); the cap is twice those running (now {nRun})",
        "fewer jobs of the share wait there (now {nQueue}, with {nRunning} running)",
    ),
    "cap_rt": ("at most {cap_rt} jobs of the resource type wait there (now {nQueued_rt})",),
    "lowNetworkWeight": ("the network weight is at least {threshold} (it is {weightNw})",),
    "below_min_weight": ("the weight is at least {MIN_WEIGHT} (it is {weight})",),
    "low_weight": ("it weighs more than one of the ten best (it weighs {weight})",),
    "no_data": ("storage that the queue reads has {datasets}", "the input is nearby"),
    "closed": ("none of the task's jobs was closed there lately (now {closed})",),
    "excluded": ("excludedSite does not name it",),
    "notincluded": ("includedSite names it",),
    "cloudmismatch": ("the task's cloud is {cloud} (it is {task_cloud})",),
    "overloaded": (_OVERLOADED,),
    "overloaded_vp": (_OVERLOADED,),
    "badsite": (
        "at most {userQ_max} jobs of the user wait there (now {userQ})",
        "fewer of the task's jobs fail there (now {nFailed} failed, {nClosed} closed, {nFinished} finished)",
    ),
    "cap_running_jobs": _caps("JOBS", "at most {CAP} jobs of {owner} run (now {running}), or CAP is higher"),
    "cap_queued_jobs": _caps("JOBS", "at most {limit} jobs of {owner} wait (now {queued}), or CAP is more than {CAP}"),
    "cap_running_cores": _caps("CORES", "jobs of {owner} run on at most {CAP} cores (now {running}), or CAP is higher"),
    "cap_queued_cores": _caps(
        "CORES", "jobs of {owner} wait for at most {limit} cores (now {queued}), or CAP is more than {CAP}"
    ),
    "share_class_C": (_SHARE_USED,),
    "share_class_B": (_SHARE_USED,),
    "share_class_A": (
        "{user} uses fewer slots, or the share less of its target: their product is above {limit} % (now "
        "{user_slots_used} of the slots, {share_usage} % of the target)",
    ),
    "global_quota": ("{owner} frees disk space, or gets a larger quota",),
    "global_quota_near": ("{owner} frees disk space, or gets a larger quota",),
    "incomplete_input": ("enough of the {files} files of {dataset} lie at storage that can be read",),
    "unknown_nucleus": (
        "the task goes to another nucleus, or a queue for production at {nucleus} has the role nucleus or satellite "
        "(fairq broker sites)",
    ),
    "source_unreadable": ("storage that has {dataset} can be read ({complete_at})",),
}  # fmt: skip
"""The first text of a reason whose numbers are all known is used."""


def remedy(reason: Reason, details: Details) -> str:
    """Return what would have to change, as the end of a sentence that begins with *it would pass if*."""
    for text in (reason.change,) if reason.change else _TEXTS.get(reason.tag, ()):
        filled = _filled(text, details)
        if filled is not None:
            return filled
    if reason.tag.endswith("_blacklist") and isinstance(details.get("endpoints"), Mapping):
        if not details["endpoints"]:
            return f"it has a DATADISK for {details.get('activity')} (fairq broker relations and storages)"
        return f"one of its endpoints allows {details.get('activity')} ({said(details['endpoints'])})"
    return f"this no longer held: {reason.meaning}"


def said(value: Any) -> str:
    """Return a number or text that was compared as people read it."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e15 else f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {said(item)}" for name, item in value.items()) or "none"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(said, value)) or "none"
    return str(value) if value != "" else "empty"


def _filled(text: str, details: Details) -> str | None:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
        return text.format(**{name: said(details[name]) for name in names})
    except (KeyError, ValueError):  # not all is known, or an organisation's own text is no such format
        return None
