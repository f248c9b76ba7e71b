"""The submit commands that become a job attribute without further rules, and the spellings of all commands.

Source: the manual of ``condor_submit``; ``SubmitHash``'s table of simple commands.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["text", "bare", "list", "path", "expression", "boolean", "integer"]


class Simple(NamedTuple):
    """A command, the attribute that it sets, the type of its value, and the attribute's default."""

    command: str
    attribute: str
    kind: Kind
    default: object = None


SIMPLE: tuple[Simple, ...] = (
    Simple("rank", "Rank", "expression", 0.0),
    Simple("log", "UserLog", "path"),
    Simple("log_xml", "UserLogUseXML", "boolean"),
    Simple("dagman_log", "DAGManNodesLog", "path"),
    Simple("description", "JobDescription", "text"),
    Simple("batch_name", "JobBatchName", "bare"),
    Simple("batch_id", "JobBatchId", "bare"),
    Simple("project_name", "ProjectName", "text"),
    Simple("notify_user", "NotifyUser", "text"),
    Simple("email_attributes", "EmailAttributes", "list"),
    Simple("submit_event_notes", "SubmitEventNotes", "text"),
    Simple("submit_event_user_notes", "SubmitEventUserNotes", "text"),
    Simple("job_ad_information_attrs", "JobAdInformationAttrs", "text"),
    Simple("job_machine_attrs", "JobMachineAttrs", "text"),
    Simple("job_machine_attrs_history_length", "JobMachineAttrsHistoryLength", "integer"),
    Simple("ulog_execute_attrs", "UserLogExecuteEventAttrs", "text"),
    Simple("remote_initialdir", "RemoteIwd", "text"),
    Simple("stream_input", "StreamIn", "boolean", False),
    Simple("stream_output", "StreamOut", "boolean", False),
    Simple("stream_error", "StreamErr", "boolean", False),
    Simple("transfer_input", "TransferIn", "boolean"),
    Simple("transfer_output", "TransferOut", "boolean"),
    Simple("transfer_error", "TransferErr", "boolean"),
    Simple("transfer_executable", "TransferExecutable", "boolean"),
    Simple("should_transfer_files", "ShouldTransferFiles", "text", "IF_NEEDED"),
    Simple("when_to_transfer_output", "WhenToTransferOutput", "text", "ON_EXIT"),
    Simple("transfer_input_files", "TransferInput", "list"),
    Simple("transfer_output_files", "TransferOutput", "list"),
    Simple("transfer_output_remaps", "TransferOutputRemaps", "bare"),
    Simple("transfer_plugins", "TransferPlugins", "text"),
    Simple("transfer_checkpoint_files", "TransferCheckpoint", "text"),
    Simple("transfer_container", "TransferContainer", "boolean"),
    Simple("preserve_relative_paths", "PreserveRelativePaths", "boolean"),
    Simple("max_transfer_input_mb", "MaxTransferInputMB", "expression"),
    Simple("max_transfer_output_mb", "MaxTransferOutputMB", "expression"),
    Simple("encrypt_execute_directory", "EncryptExecuteDirectory", "boolean"),
    Simple("encrypt_input_files", "EncryptInputFiles", "text"),
    Simple("encrypt_output_files", "EncryptOutputFiles", "text"),
    Simple("dont_encrypt_input_files", "DontEncryptInputFiles", "text"),
    Simple("dont_encrypt_output_files", "DontEncryptOutputFiles", "text"),
    Simple("manifest", "ManifestDesired", "boolean"),
    Simple("manifest_dir", "ManifestDir", "text"),
    Simple("append_files", "AppendFiles", "text"),
    Simple("leave_in_queue", "LeaveJobInQueue", "expression", False),
    Simple("periodic_hold", "PeriodicHold", "expression", False),
    Simple("periodic_hold_reason", "PeriodicHoldReason", "expression"),
    Simple("periodic_hold_subcode", "PeriodicHoldSubCode", "expression"),
    Simple("periodic_release", "PeriodicRelease", "expression", False),
    Simple("periodic_remove", "PeriodicRemove", "expression", False),
    Simple("periodic_vacate", "PeriodicVacate", "expression"),
    Simple("on_exit_hold", "OnExitHold", "expression", False),
    Simple("on_exit_hold_reason", "OnExitHoldReason", "expression"),
    Simple("on_exit_hold_subcode", "OnExitHoldSubCode", "expression"),
    Simple("on_exit_remove", "OnExitRemove", "expression", True),
    Simple("max_retries", "JobMaxRetries", "integer"),
    Simple("success_exit_code", "JobSuccessExitCode", "integer"),
    Simple("retry_until", "RetryUntil", "expression"),
    Simple("checkpoint_destination", "CheckpointDestination", "text"),
    Simple("kill_sig", "KillSig", "text"),
    Simple("remove_kill_sig", "RemoveKillSig", "text"),
    Simple("hold_kill_sig", "HoldKillSig", "text"),
    Simple("kill_sig_timeout", "KillSigTimeout", "integer"),
    Simple("job_lease_duration", "JobLeaseDuration", "expression", 2400),
    Simple("job_max_vacate_time", "JobMaxVacateTime", "expression"),
    Simple("max_job_retirement_time", "MaxJobRetirementTime", "expression"),
    Simple("allowed_job_duration", "AllowedJobDuration", "expression"),
    Simple("allowed_execute_duration", "AllowedExecuteDuration", "expression"),
    Simple("want_graceful_removal", "WantGracefulRemoval", "expression"),
    Simple("next_job_start_delay", "NextJobStartDelay", "expression"),
    Simple("keep_claim_idle", "KeepClaimIdle", "expression"),
    Simple("notify_all_ended", "NotifyAllEnded", "boolean"),
    Simple("notify_command", "NotifyCommand", "text"),
    Simple("after", "After", "list"),
    Simple("after_ok", "AfterOk", "list"),
    Simple("after_failed", "AfterFailed", "list"),
    Simple("max_running", "MaxRunning", "integer"),
    Simple("max_idle", "JobMaterializeMaxIdle", "integer"),
    Simple("max_materialize", "JobMaterializeLimit", "integer"),
    Simple("deferral_time", "DeferralTime", "expression"),
    Simple("deferral_window", "DeferralWindow", "expression"),
    Simple("deferral_prep_time", "DeferralPrepTime", "expression"),
    Simple("core_size", "CoreSize", "integer"),
    Simple("stack_size", "StackSize", "expression"),
    Simple("run_as_owner", "RunAsOwner", "boolean"),
    Simple("primary_unix_group", "JobPrimaryUnixGroup", "text"),
    Simple("load_profile", "LoadProfile", "boolean"),
    Simple("want_io_proxy", "WantIOProxy", "boolean"),
    Simple("want_job_networking", "WantJobNetworking", "boolean"),
    Simple("mount_under_scratch", "MountUnderScratch", "bare"),
    Simple("scitokens_file", "ScitokensFile", "path"),
    Simple("match_list_length", "LastMatchListLength", "integer"),
    Simple("noop_job_exit_code", "NoopJobExitCode", "expression"),
    Simple("noop_job_exit_signal", "NoopJobExitSignal", "expression"),
    Simple("skip_if_dataflow", "SkipIfDataflow", "boolean"),
    Simple("jobset", "JobSetName", "bare"),
    Simple("dag_node_name", "DAGNodeName", "text"),
    Simple("docker_network_type", "DockerNetworkType", "text"),
    Simple("docker_pull_policy", "DockerPullPolicy", "text"),
    Simple("docker_override_entrypoint", "DockerOverrideEntrypoint", "boolean"),
    Simple("container_target_dir", "ContainerTargetDir", "bare"),
    Simple("container_service_names", "ContainerServiceNames", "text"),
    Simple("require_gpus", "RequireGPUs", "expression"),
    Simple("gpus_minimum_capability", "GPUsMinCapability", "expression"),
    Simple("gpus_maximum_capability", "GPUsMaxCapability", "expression"),
    Simple("gpus_minimum_runtime", "GPUsMinRuntime", "expression"),
    Simple("gpus_minimum_memory", "GPUsMinMemory", "expression"),
)

_SPELLINGS: dict[str, tuple[str, ...]] = {
    "rank": ("preferences",),
    "arguments": ("args",),
    "environment": ("env",),
    "input": ("stdin", "in"),
    "output": ("stdout", "out"),
    "error": ("stderr", "err"),
    "executable": ("cmd",),
    "initialdir": ("iwd", "initial_dir", "job_iwd"),
    "priority": ("prio", "jobprio", "my.jobprio"),
    "getenv": ("get_env",),
    "deferral_window": ("cron_window", "cronwindow"),
    "deferral_prep_time": ("cron_prep_time", "cronpreptime"),
    "transfer_input_files": ("transferinputfiles",),
    "transfer_output_files": ("transferoutputfiles",),
    "accounting_group": ("accountinggroup",),
    "accounting_group_user": ("acctgroupuser",),
    "nice_user": ("niceuser",),
    "concurrency_limits": ("concurrencylimits",),
    "request_cpus": ("requestcpus",),
    "request_memory": ("requestmemory",),
    "request_disk": ("requestdisk",),
    "request_gpus": ("requestgpus",),
    "container_image": ("containerimage",),
    "docker_image": ("dockerimage",),
    "image_size": ("imagesize",),
    "disk_usage": ("diskusage",),
    "output_directory": ("outputdirectory",),
    "output_destination": ("outputdestination",),
    "cuda_version": ("cudaversion",),
    "cron_minute": ("cronminute",),
    "cron_hour": ("cronhour",),
    "cron_day_of_month": ("crondayofmonth",),
    "cron_month": ("cronmonth",),
    "cron_day_of_week": ("crondayofweek",),
    "noop_job": ("isnoopjob",),
    "checkpoint_exit_code": ("successcheckpointexitcode",),
    "begin": ("begintime",),
    "max_idle": ("materialize_max_idle",),
}

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
