"""Golden cases of replicas, storage out of service, space, numbers of jobs, names of queues and users."""

from __future__ import annotations

from typing import Any

from tests.golden.compare import differences
from tests.golden.panda_defaults import STORAGE

from fairq.engine.brokerage.criteria.candidates import matches_any
from fairq.engine.brokerage.criteria.jobs import user_of
from fairq.engine.brokerage.criteria.sources import Replica, ReplicaState, availability, queues_with_data
from fairq.engine.brokerage.criteria.storage import blacklist_reason
from fairq.engine.brokerage.pool.supply import count_jobs, queued_to_running
from fairq.engine.brokerage.pool.world import Storage

SPACE = ("space_free", "space_expired", "space_min_free", "space_unavailable")


def storage_of(rse: str, given: Any) -> Storage:
    fields = {**STORAGE, **given}
    return Storage(
        rse,
        site=fields.get("site", ""),
        type=fields["type"],
        is_tape=bool(fields["is_tape"]),
        activities=fields["detailed_status"],
        blacklisted_read=fields["blacklisted_read"] == "Y",
        **{name: fields[name] or 0 for name in SPACE},
    )


def dataset_availability(_: str, given: Any, wanted: Any) -> list[str]:
    storage = storage_of("D", {"is_tape": given["tape"], "detailed_status": given["detailed_status"]})
    replica = Replica(storage, given["found"], given["total"])
    result = availability([replica], given["MAX_MISSING_INPUT_FILES"], given["MIN_INPUT_COMPLETENESS"])
    state = "unknown" if replica.file_count is None else "complete" if replica.is_complete else "incomplete"
    found = {
        "by_queue": {"Q": {"D": {"tape": given["tape"], "state": state}}},
        "regarded_complete_disk": result.disk,
        "complete_tape": result.tape,
        "truly_complete_disk": result.complete_disk,
        "local_source": result.local_source,
        "remote_source": result.remote_source,
        "locations": list(result.locations),
    }
    return differences(found, wanted)


def sites_with_data(_: str, given: Any, wanted: Any) -> list[str]:
    states = {
        queue: [ReplicaState(r["tape"], r["state"] == "complete", r.get("vp", False)) for r in replicas.values()]
        for queue, replicas in given["data"].items()
    }
    found = queues_with_data(
        states,
        include_tape=given["includeTape"],
        use_vp=given["use_vp"],
        use_incomplete=given["use_incomplete"],
    )
    # PanDA lists a queue twice that has a complete and an incomplete replica.
    return differences(sorted(found), sorted(set(wanted)))


def endpoint_blacklist(_: str, given: Any, wanted: Any) -> list[str]:
    fields = {"type": given["endpoint_type"], "detailed_status": given["detailed_status"]}
    endpoints = [storage_of("D", fields)]
    reason = blacklist_reason(
        endpoints,
        endpoints,
        in_nucleus=given["queue_in_nucleus"],
        source_available=given["remote_source_available"],
        storage_type=given["storage_type_filter"],
        complete_at=given["complete_replica_locations"],
    )
    return differences(reason and f"-{reason}", wanted)


def space_usable(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(storage_of("D", {**dict.fromkeys(SPACE, 0), **given}).space_usable, wanted)


def num_jobs(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(count_jobs(given["stats"], given["queue"], (given["status"],), given["gshare"]), wanted)


def grand_ratio(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(queued_to_running(given["stats"], given.get("gshare")), wanted)


def site_pattern(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(matches_any(given["queue"], given["patterns"]), wanted)


def clean_user_id(_: str, given: Any, wanted: Any) -> list[str]:
    return differences(user_of(given["dn"]), wanted)


RUNNERS = {
    "dataset_availability": dataset_availability,
    "anal_sites_with_data": sites_with_data,
    "endpoint_blacklist": endpoint_blacklist,
    "space_usable": space_usable,
    "num_jobs": num_jobs,
    "grand_ratio": grand_ratio,
    "site_pattern": site_pattern,
    "clean_user_id": clean_user_id,
}
