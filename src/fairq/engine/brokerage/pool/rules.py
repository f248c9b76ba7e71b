"""The rules where PanDA's brokerage page and its program differ."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Name = Literal["documented", "panda"]


class Rules(Struct, frozen=True):
    """The rules of one run. A field without a docstring of its own is the setting ``broker.FIELD``.

    docs/panda.md (table of rule points) explains what each field decides and gives its value under both sets of rules.
    ``name`` is ``documented`` or ``panda``; every result names it.
    """

    name: Name
    # candidates and the state of queues
    every_queue: bool
    merges_freed_by_skips: bool
    included_sites_always: bool
    site_lists: bool
    online_only: bool
    preassigned_exempt: bool
    link_caps: Literal["exceeded", "reached"]
    nucleus_cap_spares_nucleus: bool
    transfers_spare_nucleus: bool
    inactive_with_starting: bool
    unnamed_have_no_share: bool
    evgensimul: bool
    tests_have_shares: bool
    pilots_always: bool
    work_shortage: bool
    max_io_intensity: bool
    full_chain: bool
    incomplete_input: bool
    exclude_test_queues: bool
    urgent_needs_nucleus: bool
    disk_io_per_core: Literal["exact", "rounded_down"]
    # what a job needs
    scratch_floor: float
    scratch_margin: float
    scratch_must_exceed: bool
    scratch_per_core: bool
    scratch_of_whole_job: bool
    direct_access_of_queue: bool
    walltime_below_maxtime: bool
    unknown_walltime_needs_day: bool
    mintime_in_production: bool
    space: Literal["free", "usable"]
    space_must_exceed: bool
    ip_stack_of_queue: bool
    empty_attribute: bool
    any_releases: bool
    software_without_release: bool
    tags_need_any: bool
    tags_name_containers: bool
    platform_in_container: bool
    partial_input: bool
    move_limits: Literal["below", "up_to"]
    tape_second: bool
    io_check_lapses: bool
    base_memory_always: bool
    plain_minimum_walltime: bool
    gpu_lists: bool
    infer_cpu: bool
    # weights
    running_jobs: Literal["largest", "conditional"]
    many_assigned: Literal["quotient", "smoothed"]
    bootstrap: bool
    near_weight_of_io: bool
    express_from_1000: bool
    queue_caps: Literal["running", "limit"]
    type_cap: bool
    minimum_weight: bool
    locks: bool
    local_data_only: bool
    one_queue_at_nucleus: bool
    retry_by_priority: bool
    throughput: Literal["freshest", "unbroken"]
    network_weight_always: bool
    network_tolerance: float
    network_age: Literal["window", "hour"]
    retry_by_activity: bool
    # analysis
    locality_suppressed: bool
    problems_open_second_pass: bool
    second_pass_needs_source: bool
    quota_throttles: bool
    quota_near: bool
    share_classes: bool
    analysis_zero_share: bool
    task_cloud: bool
    hospital_last: bool
    vp_restricted: bool
    local_quota: bool
    analysis_minimum_walltime: bool
    stated_walltime: bool
    used_queues_first: bool
    distributed_unlimited: bool
    lost_site_is_fatal: bool
    analysis_weight: Literal["ratio", "classes"]
    analysis_queue_ratio: bool
    failures_everywhere: bool
    # timeouts
    timeouts_of_state: bool
    timeouts_of_all: bool
    extra_timeouts: bool
    fast_rebrokerage_all: bool
    fast_rebrokerage_total: Literal["all", "without_slots"]
    pauses_stop_timeouts: bool
    holding_from_800: bool
    transferring_heartbeat_of_all: bool
    transfer_days_of_queue: bool
