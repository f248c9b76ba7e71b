"""The texts of fairq's own reasons: the meaning of each, and the change with which a queue would pass.

A remedy ends a sentence that begins with *it would pass if*; names in braces are placeholders for compared values, and
``{cap:job waits|jobs wait}`` is the value with the words that agree with it.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from fairq.cli.broker.sentences import software
from fairq.cli.broker.sentences.compared_values import ValueText, value_text


class Words(NamedTuple):
    """The meaning of a reason, and its remedies: the first one whose values are all known is used."""

    meaning: str
    remedies: tuple[str, ...] = ()


def _words(meaning: str, *remedies: str) -> Words:
    return Words(meaning, remedies)


def _cap(unit: str, meaning: str, remedy: str) -> Words:
    # Users and working groups have different settings.
    return Words(meaning, tuple(remedy.replace("CAP", f"CAP_RUNNING_{kind}_{unit}") for kind in ("USER", "GROUP")))


def _share_class(letter: str) -> Words:
    return _words(
        f"the share is nearly used up, and the task is of class {letter}",
        "the share uses at most {limit} % of its target (now {share_usage} %)",
    )


_OVERLOADED = (
    "at most {OVERLOAD_MIN_QUEUE:job waits|jobs wait}, or {ratio} per running job (now {nQueue} and {nRunning})"
)
_WAITING_OF_SHARE = (
    "at most {nQueue_max:job of the share waits|jobs of the share wait} there (now {nQueue}, with {nRunning} running)"
)
_NO_POWER = "corepower of the queue and cpuEfficiency of the task are not 0"
_QUOTA = "{owner} frees disk space or gets a larger quota"

WORDS: dict[str, Words] = {
    # which queues are candidates
    "no_resource_type": _words(
        "no resource type fits the slots of the unified queue", "a resource type fits its slots (fairq broker types)"
    ),
    "nonpreassigned": _words(
        "the task or its merge goes to given queues only, and this queue is not one of them",
        "the task's site is this queue (site is {site})",
        "the task's includedSite names this queue (it is {includedSite})",
    ),
    "wrong_type": _words(
        "the queue does not run jobs of this kind, or it has no cloud",
        "the queue's type allows it and it has a cloud (type is {type}, cloud is {cloud})",
        "the queue's type allows it (type is {type})",
    ),
    "test_queue": _words(
        "the queue is for tests, by its name",
        "broker.exclude_test_queues is false, or the task names the queue as its site",
    ),
    "excluded": _words("the user excludes the queue", "excludedSite does not name it"),
    "notincluded": _words("the user names other queues", "includedSite names it"),
    "cloudmismatch": _words("the task goes to another cloud", "the task's cloud is {cloud} (it is {task_cloud})"),
    "hospital": _words("the queue is a hospital queue, and another queue is left"),
    # the state of the queue
    "status": _words("the queue's status does not allow the task", "the queue goes online (status is {status})"),
    "opportunistic": _words(
        "urgent jobs do not go to opportunistic queues",
        "pledgedcpu is not -1, or the task is not a scout and its priority is below 800 (it is {currentPriority})",
    ),
    "not_in_nucleus": _words(
        "urgent jobs go only to queues of the nucleus",
        "the task's nucleus is {site} (it is {nucleus}), or the task is not a scout and its priority is below 800 (it "
        "is {currentPriority})",
    ),
    "inactive": _words(
        "no job has started for 2 hours although jobs wait",
        "one of the {activated} activated and {starting} starting jobs starts",
    ),
    "nopilot": _words("the queue has had no pilot for 3 hours", "a pilot asks for work there"),
    "closed": _words(
        "jobs of the task were closed there in the last hours",
        "none of the task's jobs was closed there lately (now {closed})",
    ),
    "non_pledged": _words(
        "work is short and the queue has no pledge", "WORK_SHORTAGE is false, or the queue has a pledge"
    ),
    "over_pledged": _words(
        "work is short and the queue uses all its pledged cores",
        "fewer than {pledgedcpu:core is|cores are} in use (now {cores})",
    ),
    "transferring": _words(
        "too many jobs wait for the transfer of their output",
        "at most {at_most:job transfers|jobs transfer} (now {transferring}): {transferringlimit}, or twice the"
        " {running} that run",
    ),
    "zeroshare": _words(
        "the queue's fairsharepolicy gives the task no share",
        "{decided_by} in the queue's fairsharepolicy does not give 0",
        "a part of the queue's fairsharepolicy gives a share to type {type}",
    ),
    # links
    "dest_blacklisted": _words(
        "the storage of the nucleus cannot be written to from other sites",
        "{endpoint} of the nucleus can be written to (write_wan is {write_wan})",
    ),
    "links_full": _words(
        "too many files are queued for the nucleus",
        "at most {at_most:file is|files are} queued for {nucleus} (now {queued})",
        "fewer than {NQUEUED_NUC_CAP_FOR_JOBS:file is|files are} queued for {nucleus} (now {queued})",
    ),
    "link_unusable": _words(
        "the link to the nucleus is blocked, or too many files are queued on it",
        "at most {at_most:file is|files are} queued from {satellite} to {nucleus} (now {queued})",
        "fewer than {NQUEUED_SAT_CAP:file is|files are} queued from {satellite} to {nucleus} (now {queued})",
        "the link from {satellite} to {nucleus} is opened (closeness is {closeness})",
    ),
    "t1weight": _words(
        "the task stays at its nucleus: its t1Weight is negative",
        "t1Weight is not negative (rule TW), or the nucleus is {site}",
    ),
    "t1_weight": _words("the task goes to one queue only, and more jobs run at another"),
    "full_chain": _words(
        "the task runs as a full chain in its nucleus, and the queue is elsewhere",
        "the task is not a full chain (rule FU)",
    ),
    "not_full_chain": _words("the queue is for full chains only", "the task is a full chain (rule FU)"),
    "lowNetworkWeight": _words(
        "the link to the nucleus is too slow for an express task",
        "the network weight is at least {threshold} (it is {weightNw})",
    ),
    # what a job needs
    "jumbo": _words("the queue is for jumbo jobs only", "the task has jumbo jobs (rule NJ)"),
    "fewevents": _words(
        "too few events are ready for a jumbo job",
        "at least {minEventsForJumbo} events are ready (now {ready_events})",
    ),
    "diskIO": _words(
        "the disk traffic of the queue and of the task exceed the limit",
        "the task's diskIO is at most {limit} (it is {diskIO}), or the queue's average is (now {usage})",
    ),
    "max_io_intensity": _words(
        "the task's I/O intensity exceeds the queue's limit",
        "ioIntensity is at most {max_io_intensity} (it is {ioIntensity})",
    ),
    "cpucore": _words(
        "single-core jobs do not fit multi-core slots, nor multi-core jobs single-core slots",
        "the queue has {wants} core slots (corecount is {corecount}), or coreCount of the task differs (it is "
        "{coreCount})",
    ),
    "max_cpucore": _words(
        "the slot has more cores than the task's jobs may use",
        "the queue has at most {maxCoreCount:core|cores} (it has {corecount})",
    ),
    "cache": _words(
        "the queue lacks the release, the container or the hardware",
        "the queue publishes what the task needs ({why})",
        "the queue publishes what the task needs",
    ),
    "regexpcmtconfig": _words(
        "no platform of the queue fits the task's pattern", "one of the queue's cmtconfigs fits {architecture}"
    ),
    "gpu_architecture": _words("the queue has GPUs and does not publish the task's architecture"),
    "lowmemory": _words(
        "jobs need more memory than the slot has", "a job needs at most {maxrss} MiB (it needs {memory_need_mb})"
    ),
    "highmemory": _words(
        "jobs need less memory than the queue's minimum",
        "a job needs at least {minrss} MiB (it needs {memory_need_mb})",
    ),
    "remoteio": _words(
        "the task reads its input only directly from nearby storage, which the queue does not allow",
        "the queue has direct_access_lan, or the task may copy its input (rule IL)",
    ),
    "disk": _words(
        "jobs need more scratch disk than the queue has for them",
        "a job needs less than {less_than} MiB of scratch (it needs {scratch_need_mb})",
        "a job needs at most {scratch_have_mb} MiB of scratch (it needs {scratch_need_mb})",
        "{endpoint} has more than {STORAGE_MIN_FREE_SIZE} GB of free space (now {space_free})",
        "{endpoint} has more than {limit} GB of free space (now {space_free})",
        "{endpoint} has {STORAGE_MIN_FREE_SIZE} GB of usable space (now {space_usable})",
        "{endpoint} has {limit} GB of usable space (now {space_usable})",
        "the queue has storage for output",
    ),
    "shortwalltime": _words(
        "jobs need more time than the queue allows",
        "maxtime is at least {seconds_needed} s (it is {maxtime}), or jobs are shorter",
        _NO_POWER,
    ),
    "longwalltime": _words(
        "jobs are shorter than the queue's minimum",
        "mintime is at most {seconds_needed} s (it is {mintime}), or jobs are longer",
        "mintime is 0 (it is {mintime}), or the duration of jobs is known",
    ),
    "scout_walltime": _words(
        "scouts need a queue that gives them a day",
        "maxtime is at least {seconds_needed} s (it is {maxtime})",
        _NO_POWER,
    ),
    "min_walltime": _words(
        "merges and jobs of unknown duration need a queue that gives them a day",
        "maxtime is at least {seconds_needed} s (it is {maxtime}), or the duration of jobs is known",
        _NO_POWER,
    ),
    "network": _words(
        "worker nodes lack the network that the task needs",
        "the IP stack of the queue is {task_ip_stack}, as that of the task (it is {ip_stack})",
        "wnconnectivity of the queue offers {ipConnectivity} (it is {wnconnectivity})",
    ),
    "es": _words(
        "the queue does not take event service", "jobseed of the queue allows event service (it is {jobseed})"
    ),
    "eshigh": _words("the queue takes event service of high priority only", "the priority is 900 or more"),
    "es_ucore": _words("event service does not go to single cores of a unified queue"),
    "nones": _words("the queue takes event service only", "jobseed of the queue is not es"),
    # input and storage
    "io": _words(
        "too much of the input would have to be moved",
        "less than {below} MiB and fewer than {NUM_CUTOFF_TO_MOVE_INPUT:file|files} have to "
        "be moved (they are {fileSizeToMoveMB} MiB and {nFilesToMove})",
        "at most {SIZE_CUTOFF_TO_MOVE_INPUT} MiB and {NUM_CUTOFF_TO_MOVE_INPUT:file|files} "
        "have to be moved (they are {fileSizeToMoveMB} MiB and {nFilesToMove})",
    ),
    "non_local": _words(
        "the queue takes local input only, and some is missing",
        "all of the input is there ({nFilesToMove:file is|files are} missing)",
    ),
    "fileunavailable": _words("the queue takes local input only, and some is missing"),
    "no_data": _words("the input is not nearby", "storage that the queue reads has {datasets}", "the input is nearby"),
    "avoid_vp": _words("input is placed virtually at this queue, and the task cannot use that"),
    "read_lan_blacklist": _words("jobs cannot read any storage of the queue"),
    "write_lan_blacklist": _words("jobs cannot write to any storage of the queue"),
    "write_wan_blacklist": _words("no storage of the queue can receive input"),
    "read_wan_blacklist": _words("no storage of the queue can send output"),
    "source_blacklist": _words(
        "the input cannot be moved to the queue: its sources cannot be read from other sites",
        "an endpoint with the input can be read from other sites",
    ),
    "blacklist": _words(
        "storage of the queue is out of service", "storage of the queue is in service again ({blacklist})"
    ),
    "local_quota": _words("the user is over the quota of the queue's storage", "{user} frees space at {endpoint}"),
    # load and weight
    "lock": _words("another brokerage has locked the queue", "the other brokerage releases the queue"),
    "cap": _words(
        "too many jobs of the share wait there already",
        "at most {cap:job waits|jobs wait} there (now {nQueued}); the cap is twice the running jobs (now {nRun})",
        _WAITING_OF_SHARE,
    ),
    "cap_rt": _words(
        "too many jobs of the share and resource type wait there already",
        "at most {cap_rt:job of the resource type waits|jobs of the resource type wait} there (now {nQueued_rt})",
    ),
    "below_min_weight": _words(
        "the weight is below the minimum", "the weight is at least {MIN_WEIGHT} (it is {weight})"
    ),
    "low_weight": _words(
        "ten others weigh more, or the task uses them already",
        "it weighs more than {tenth}, the least of the ten best (it weighs {weight})",
        "it weighs more than one of the ten best (it weighs {weight})",
    ),
    "jumbo_alone": _words(
        "only queues for jumbo jobs are left, and the task has other jobs as well",
        "another queue passes, for the jobs that are not jumbo jobs",
    ),
    "others_bootstrap": _words("ten others are tried out first"),
    "overloaded": _words("far more jobs wait per running job than at other queues", _OVERLOADED),
    "overloaded_vp": _words(
        "far more jobs wait per running job than at other queues, and input is placed virtually", _OVERLOADED
    ),
    "badsite": _words(
        "at the moment too many jobs of the user wait there, or too many of the task failed",
        "at most {userQ_max:job of the user waits|jobs of the user wait} there (now {userQ})",
        "fewer than {nBad_below} of the task's jobs failed or were closed there (now {nFailed} failed, {nClosed} "
        "closed, {nFinished} finished)",
        "at most {nBad_max} of the task's jobs failed or were closed there (now {nFailed} failed, {nClosed} closed, "
        "{nFinished} finished)",
        _WAITING_OF_SHARE,
    ),
    "tmp_user_problem": _words("every queue with the input has a temporary problem for the user"),
    # reasons that stop a task before any queue is checked
    "unknown_site": _words(
        "the task's site names no queue",
        "its site is {nearest} (it is {site})",
        "its site is a queue that there is (it is {site}; fairq broker queues lists them)",
    ),
    "unknown_nucleus": _words(
        "no queue for production has a role at the task's nucleus",
        "the task goes to another nucleus, or a queue for production at {nucleus} has the role nucleus or satellite "
        "(fairq broker sites)",
    ),
    "incomplete_input": _words(
        "an input dataset is not complete enough at any storage that can be read",
        "enough of the {files:file|files} of {dataset} are at storage that can be read",
    ),
    "source_unreadable": _words(
        "no storage that holds an input dataset can be read",
        "storage that has {dataset} can be read ({complete_at})",
    ),
    "cap_running_jobs": _cap(
        "JOBS",
        "too many jobs of the user or working group run",
        "{owner} runs at most {CAP:job|jobs} (now {running}), or CAP is higher",
    ),
    "cap_queued_jobs": _cap(
        "JOBS",
        "too many jobs of the user or working group wait",
        "{owner} has at most {limit:job|jobs} that wait (now {queued}), or CAP is more than {CAP}",
    ),
    "cap_running_cores": _cap(
        "CORES",
        "jobs of the user or working group run on too many cores",
        "jobs of {owner} run on at most {CAP:core|cores} (now {running}), or CAP is higher",
    ),
    "cap_queued_cores": _cap(
        "CORES",
        "jobs of the user or working group wait for too many cores",
        "jobs of {owner} wait for at most {limit:core|cores} (now {queued}), or CAP is more than {CAP}",
    ),
    "share_class_C": _share_class("C"),
    "share_class_B": _share_class("B"),
    "share_class_A": _words(
        "the share is used up, and the task is of class A",
        "{user} uses fewer slots, or the share less of its target: their product is above {limit} % (now "
        "{user_slots_used} of the slots, {share_usage} % of the target)",
    ),
    "global_quota": _words("the user or working group is over the global disk quota", _QUOTA),
    "global_quota_near": _words("the user or working group is near the global disk quota", _QUOTA),
}
"""By PanDA's tag, grouped by topic."""


OF_STAGE = {
    ("disk", "Storage check"): "the storage for output is short of space",
    ("disk", "storage space check"): "the queue's storage is full, or the queue has none for output",
}
"""The meaning of a tag at a stage where it differs from the usual one."""


def add_texts(record: dict[str, Any]) -> None:
    """Add the texts to a queue's record: its meaning, missing software, and the necessary change.

    The texts of a plugin's reason are kept.
    """
    if not record["reason"]:
        return
    compared = record["compared"]
    if "why" in compared:
        record["compared"] = compared = {**compared, "why": software.WORDS.get(compared["why"], compared["why"])}
    record["meaning"] = meaning_of(record["reason"], record.get("stage") or record["check"], record["meaning"])
    record["change"] = change_of(record["reason"], compared, record["meaning"], record["change"])


def meaning_of(tag: str, stage: str, plugin_text: str) -> str:
    """Return the meaning of a reason; *plugin_text*: the text of a plugin's reason, or of a stored one."""
    if plugin_text or tag not in WORDS:
        return plugin_text
    return OF_STAGE.get((tag, stage), WORDS[tag].meaning)


def change_of(tag: str, details: Mapping[str, Any], meaning: str, plugin_text: str = "") -> str:
    """Return the change with which a queue would pass.

    Args:
        tag: the tag of the reason.
        details: the values compared.
        meaning: the meaning of the reason.
        own: the remedy of a plugin's reason.
    """
    for text in (plugin_text,) if plugin_text else WORDS[tag].remedies if tag in WORDS else ():
        filled = _filled(text, details)
        if filled is not None:
            return filled
    if tag.endswith("_blacklist") and isinstance(details.get("endpoints"), Mapping):
        if not details["endpoints"]:
            return f"it has a DATADISK for {details.get('activity')} (fairq broker relations and storages)"
        return f"one of its endpoints allows {details.get('activity')} ({value_text(details['endpoints'])})"
    return f"this was no longer true: {meaning}"


def _filled(text: str, details: Mapping[str, Any]) -> str | None:
    try:
        return text.format(**{name: ValueText(value_text(details[name])) for name in _names_in(text)})
    except (KeyError, ValueError):  # a value is unknown, or a plugin's text is not a valid format
        return None


@cache
def _names_in(text: str) -> list[str]:
    """Return the names in braces; raises ValueError if *text* is not a valid format."""
    return [name for _, name, _, _ in string.Formatter().parse(text) if name is not None]
