"""The submit commands that become a job attribute without further rules, and the spellings of all commands.

Source: the manual of ``condor_submit``; ``SubmitHash``'s table of simple commands.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

Kind = Literal["text", "bare", "list", "path", "expression", "boolean", "integer"]


class Simple(NamedTuple):
    """A command, the attribute that it sets, the type of its value, and the attribute's default."""

    command: str
    attribute: str
    kind: Kind
    default: object = None


_DEFAULTS: dict[str, object] = {
    "rank": 0.0, "stream_input": False, "stream_output": False, "stream_error": False,
    "should_transfer_files": "IF_NEEDED", "when_to_transfer_output": "ON_EXIT", "leave_in_queue": False,
    "periodic_hold": False, "periodic_release": False, "periodic_remove": False, "on_exit_hold": False,
    "on_exit_remove": True, "job_lease_duration": 2400,
}  # fmt: skip

_ROWS = """
    rank Rank expression
    log UserLog path
    log_xml UserLogUseXML boolean
    dagman_log DAGManNodesLog path
    description JobDescription text
    batch_name JobBatchName bare
    batch_id JobBatchId bare
    project_name ProjectName text
    notify_user NotifyUser text
    email_attributes EmailAttributes list
    submit_event_notes SubmitEventNotes text
    submit_event_user_notes SubmitEventUserNotes text
    job_ad_information_attrs JobAdInformationAttrs text
    job_machine_attrs JobMachineAttrs text
    job_machine_attrs_history_length JobMachineAttrsHistoryLength integer
    ulog_execute_attrs UserLogExecuteEventAttrs text
    remote_initialdir RemoteIwd text
    stream_input StreamIn boolean
    stream_output StreamOut boolean
    stream_error StreamErr boolean
    transfer_input TransferIn boolean
    transfer_output TransferOut boolean
    transfer_error TransferErr boolean
    transfer_executable TransferExecutable boolean
    should_transfer_files ShouldTransferFiles text
    when_to_transfer_output WhenToTransferOutput text
    transfer_input_files TransferInput list
    transfer_output_files TransferOutput list
    transfer_output_remaps TransferOutputRemaps bare
    transfer_plugins TransferPlugins text
    transfer_checkpoint_files TransferCheckpoint text
    transfer_container TransferContainer boolean
    preserve_relative_paths PreserveRelativePaths boolean
    max_transfer_input_mb MaxTransferInputMB expression
    max_transfer_output_mb MaxTransferOutputMB expression
    encrypt_execute_directory EncryptExecuteDirectory boolean
    encrypt_input_files EncryptInputFiles text
    encrypt_output_files EncryptOutputFiles text
    dont_encrypt_input_files DontEncryptInputFiles text
    dont_encrypt_output_files DontEncryptOutputFiles text
    manifest ManifestDesired boolean
    manifest_dir ManifestDir text
    append_files AppendFiles text
    leave_in_queue LeaveJobInQueue expression
    periodic_hold PeriodicHold expression
    periodic_hold_reason PeriodicHoldReason expression
    periodic_hold_subcode PeriodicHoldSubCode expression
    periodic_release PeriodicRelease expression
    periodic_remove PeriodicRemove expression
    periodic_vacate PeriodicVacate expression
    on_exit_hold OnExitHold expression
    on_exit_hold_reason OnExitHoldReason expression
    on_exit_hold_subcode OnExitHoldSubCode expression
    on_exit_remove OnExitRemove expression
    max_retries JobMaxRetries integer
    success_exit_code JobSuccessExitCode integer
    retry_until RetryUntil expression
    checkpoint_destination CheckpointDestination text
    kill_sig KillSig text
    remove_kill_sig RemoveKillSig text
    hold_kill_sig HoldKillSig text
    kill_sig_timeout KillSigTimeout integer
    job_lease_duration JobLeaseDuration expression
    job_max_vacate_time JobMaxVacateTime expression
    max_job_retirement_time MaxJobRetirementTime expression
    allowed_job_duration AllowedJobDuration expression
    allowed_execute_duration AllowedExecuteDuration expression
    want_graceful_removal WantGracefulRemoval expression
    next_job_start_delay NextJobStartDelay expression
    keep_claim_idle KeepClaimIdle expression
    notify_all_ended NotifyAllEnded boolean
    notify_command NotifyCommand text
    after After list
    after_ok AfterOk list
    after_failed AfterFailed list
    max_running MaxRunning integer
    max_idle JobMaterializeMaxIdle integer
    max_materialize JobMaterializeLimit integer
    deferral_time DeferralTime expression
    deferral_window DeferralWindow expression
    deferral_prep_time DeferralPrepTime expression
    core_size CoreSize integer
    stack_size StackSize expression
    run_as_owner RunAsOwner boolean
    primary_unix_group JobPrimaryUnixGroup text
    load_profile LoadProfile boolean
    want_io_proxy WantIOProxy boolean
    want_job_networking WantJobNetworking boolean
    mount_under_scratch MountUnderScratch bare
    scitokens_file ScitokensFile path
    match_list_length LastMatchListLength integer
    noop_job_exit_code NoopJobExitCode expression
    noop_job_exit_signal NoopJobExitSignal expression
    skip_if_dataflow SkipIfDataflow boolean
    jobset JobSetName bare
    dag_node_name DAGNodeName text
    docker_network_type DockerNetworkType text
    docker_pull_policy DockerPullPolicy text
    docker_override_entrypoint DockerOverrideEntrypoint boolean
    container_target_dir ContainerTargetDir bare
    container_service_names ContainerServiceNames text
    require_gpus RequireGPUs expression
    gpus_minimum_capability GPUsMinCapability expression
    gpus_maximum_capability GPUsMaxCapability expression
    gpus_minimum_runtime GPUsMinRuntime expression
    gpus_minimum_memory GPUsMinMemory expression
"""
"""A line for each command: its name, the attribute, and the type of the value."""

SIMPLE = tuple(
    Simple(command, attribute, cast(Kind, kind), _DEFAULTS.get(command))
    for command, attribute, kind in map(str.split, _ROWS.strip().splitlines())
)

_OTHER_NAMES = """
    rank preferences
    arguments args
    environment env
    input stdin in
    output stdout out
    error stderr err
    executable cmd
    initialdir iwd initial_dir job_iwd
    priority prio jobprio my.jobprio
    getenv get_env
    deferral_window cron_window cronwindow
    deferral_prep_time cron_prep_time cronpreptime
    transfer_input_files transferinputfiles
    transfer_output_files transferoutputfiles
    accounting_group accountinggroup
    accounting_group_user acctgroupuser
    nice_user niceuser
    concurrency_limits concurrencylimits
    request_cpus requestcpus
    request_memory requestmemory
    request_disk requestdisk
    request_gpus requestgpus
    container_image containerimage
    docker_image dockerimage
    image_size imagesize
    disk_usage diskusage
    output_directory outputdirectory
    output_destination outputdestination
    cuda_version cudaversion
    cron_minute cronminute
    cron_hour cronhour
    cron_day_of_month crondayofmonth
    cron_month cronmonth
    cron_day_of_week crondayofweek
    noop_job isnoopjob
    checkpoint_exit_code successcheckpointexitcode
    begin begintime
    max_idle materialize_max_idle
"""
"""A line for each command with other names than that of its attribute."""

_SPELLINGS = {command: tuple(others) for command, *others in map(str.split, _OTHER_NAMES.strip().splitlines())}

_ATTRIBUTES = {simple.command: simple.attribute.lower() for simple in SIMPLE}


def spellings(command: str) -> tuple[str, ...]:
    """Return the names of *command*, in lower case; they include the attribute's name, as in ``condor_submit``."""
    other_names = _SPELLINGS.get(command, ())
    attribute = _ATTRIBUTES.get(command, command)
    return (command, *other_names) if attribute == command else (command, *other_names, attribute)


_RELATED = {
    "notify_all_ended": ("notification", "jobnotification"),
    "accounting_group": ("my.accountinggroup", "my.acctgroup", "accounting_group_user", "nice_user"),
}


def equivalent_names(command: str) -> tuple[str, ...]:
    """Return the names, in lower case, that set the same as *command*: its default applies only without any of them."""
    return (*spellings(command), *_RELATED.get(command, ()))
