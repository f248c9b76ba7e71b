"""The effect of each of HTCondor's submit commands: one table, from which the messages and docs/submit.md come.

Source: the manual's page of submit commands (``htcondor-jdl``); ``submit_utils.h``, ``SUBMIT_KEY_*``.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from functools import partial
from typing import NamedTuple

from fairq.common.records import Ad
from fairq.formats.submitfile.commands import spellings
from fairq.formats.submitfile.rules import Commands, Rule


class Standing(Enum):
    """The effect of a command."""

    HONOURED = "honoured"
    NO_EFFECT = "without effect"
    REFUSED = "refused"


class Command(NamedTuple):
    """A submit command.

    A *name* that ends with ``_`` is a prefix of names; one that begins with ``_`` is a part of names.
    """

    name: str
    standing: Standing
    why: str

    @property
    def others(self) -> tuple[str, ...]:
        """Its other names, in lower case."""
        return spellings(self.name)[1:]


_HONOURED: dict[str, str] = {
    "the program and its surroundings": """
        executable arguments arguments2 allow_arguments_v1 shell universe environment environment2 allow_environment_v1
        getenv initialdir input output error append_files output_directory core_size stack_size transfer_executable
        skip_filechecks image_size disk_usage x509userproxy""",
    "as asked in any case: files are on the machine, and output is written at once": """
        stream_input stream_output stream_error transfer_input transfer_output transfer_error""",
    "what a job requests, and the clauses of its requirements": """
        request_cpus request_memory request_disk request_gpus request_ requirements rank require_gpus
        gpus_minimum_capability gpus_maximum_capability gpus_minimum_memory gpus_minimum_runtime cuda_version
        docker_image container_image docker_network_type""",
    "who is charged, and the order of jobs": """
        accounting_group accounting_group_user nice_user concurrency_limits concurrency_limits_expr priority""",
    "how many jobs, and how they begin": "queue hold",
    "what a job waits for (fairq's own, see [running.md](running.md#waiting))": """
        after after_ok after_failed begin max_running""",
    "word of the end of all jobs of a cluster (fairq's own, see [running.md](running.md#mail))": """
        notify_all_ended notify_command""",
    "when it starts": """
        deferral_time deferral_window deferral_prep_time cron_minute cron_hour cron_day_of_month cron_month
        cron_day_of_week""",
    "how many of its jobs may be idle or in the queue": "max_idle max_materialize",
    "what happens while a job waits, runs and ends": """
        periodic_hold periodic_hold_reason periodic_hold_subcode periodic_release periodic_remove on_exit_hold
        on_exit_hold_reason on_exit_hold_subcode on_exit_remove max_retries retry_until success_exit_code
        leave_in_queue allowed_job_duration allowed_execute_duration kill_sig remove_kill_sig hold_kill_sig
        kill_sig_timeout job_max_vacate_time log notification notify_user""",
    "attributes of the job, to be shown and selected by": """
        description batch_name batch_id project_name jobset dag_node_name""",
}

_TRANSFER = "a job runs in its directory; no files are transferred, unless launch.htcondor.spool lets HTCondor do it"
_NO_EFFECT: dict[str, str] = {
    _TRANSFER: "should_transfer_files when_to_transfer_output transfer_input_files transfer_output_files",
    "a job runs in its directory; no files are transferred": """
        transfer_output_remaps transfer_plugins preserve_relative_paths max_transfer_input_mb max_transfer_output_mb
        output_destination public_input_files transfer_common_input encrypt_input_files encrypt_output_files
        dont_encrypt_input_files
        dont_encrypt_output_files manifest manifest_dir transfer_checkpoint_files checkpoint_destination
        erase_output_and_error_on_restart aws_access_key_id_file aws_secret_access_key_file aws_region
        s3_access_key_id_file s3_secret_access_key_file gs_access_key_id_file gs_secret_access_key_file""",
    "fairq passes no credentials on, but the name of a proxy": """
        use_x509userproxy use_scitokens use_scitoken scitokens_file use_oauth_services useoauthservices
        send_credential delegate_job_gsi_credentials_lifetime _oauth_permissions _oauth_resource
        docker_send_credentials""",
    "fairq only matches jobs in containers": """
        docker_pull_policy docker_override_entrypoint container_target_dir container_service_names _container_port
        _hostport container_is_common transfer_container""",
    "there is no such part of an execution point": """
        encrypt_execute_directory mount_under_scratch want_io_proxy want_job_networking run_as_owner load_profile
        primary_unix_group remote_initialdir starter_debug starter_log job_machine_attrs
        job_machine_attrs_history_length keep_claim_idle match_list_length job_lease_duration interactive_executable
        interactive_args""",
    "the event log and the mail do not hold it": """
        log_xml dagman_log submit_event_notes submit_event_user_notes submit_event_notes_attrs job_ad_information_attrs
        ulog_execute_attrs email_attributes""",
    "jobs end by kill_sig, and start and stop as the cycle decides": """
        want_graceful_removal max_job_retirement_time next_job_start_delay
        periodic_vacate on_evict_checks""",
    "a job that exceeds its memory or disk is not run again with more": """
        retry_request_memory retry_request_memory_max retry_request_memory_increase retry_request_disk""",
    "the job runs even if its output is newer than its input": "skip_if_dataflow",
    "of a command that is refused": """
        noop_job_exit_code noop_job_exit_signal""",
    "of DAGMan": "dagman_job_id dag_status failed_count job retry",
    "of a universe that is refused": """
        machine_count node_count nodecount parallel_script_shadow parallel_script_starter jar_files java_vm_args
        java_vm_arguments java_vm_arguments2 grid_resource rendezvousdir arc_ batch_extra_submit_args batch_project
        batch_queue batch_runtime ec2_ wantnametag gce_ azure_ cloud_label_ remote_ vm_ xen_ want_ads""",
    "HTCondor itself has given it up": """
        buffer_files buffer_size buffer_block_size file_remaps fetch_files compress_files local_files
        tool_daemon_ suspend_job_at_exec memory_usage require_ transform_body_""",
    "these warnings are always given, or never": """
        submitwarnemptymatches submitfailemptymatches submitwarnduplicatematches submitallowduplicatematches
        submitmatchdirectories submit_warn_empty_matches submit_fail_empty_matches submit_warn_duplicate_matches
        submit_allow_duplicate_matches submit_match_directories submitwarnemptyfields submitfailemptyfields""",
}

_REFUSED: dict[str, str] = {
    "its program would run": "noop_job",
    "a checkpoint would be taken for the end of the job": "checkpoint_exit_code",
    "the job would run on one machine": "wantparallelscheduling",
    "HTCondor itself refuses it": "exit_requirements",
}

TABLE: tuple[Command, ...] = tuple(
    Command(name, standing, why)
    for standing, groups in (
        (Standing.HONOURED, _HONOURED),
        (Standing.NO_EFFECT, _NO_EFFECT),
        (Standing.REFUSED, _REFUSED),
    )
    for why, names in groups.items()
    for name in names.split()
)
"""All submit commands, by their effect and its reason."""

_NEUTRAL_VALUES = {
    "should_transfer_files": ("no", "if_needed"),
    "when_to_transfer_output": ("on_exit",),
}
"""Values that ask for what fairq does anyway, for commands without effect; for all others, it is false."""


def standing_of(name: str) -> Command | None:
    """Return the command that *name*, in lower case, spells; None if it is none of HTCondor's."""
    return _BY_SPELLING.get(name) or next((family for family in _FAMILIES if _is_in_family(family.name, name)), None)


def is_of_transfer(name: str) -> bool:
    """Return whether the command *name* has an effect where HTCondor transfers the files of its jobs."""
    command = standing_of(name.lower())
    return command is not None and command.why == _TRANSFER


def _is_in_family(family: str, name: str) -> bool:
    return name.startswith(family) if family.endswith("_") else family in name


_FAMILIES = tuple(command for command in TABLE if command.name.startswith("_") or command.name.endswith("_"))
_BY_SPELLING = {name: command for command in TABLE if command not in _FAMILIES for name in spellings(command.name)}


def refused_attributes() -> Iterator[tuple[str, str]]:
    """Yield the attributes, in lower case, of the commands that are refused for one job, and why."""
    for command in TABLE:
        if command.standing is Standing.REFUSED:
            yield spellings(command.name)[-1], command.why


def refusals() -> Iterator[Rule]:
    """Yield the rules that raise InvalidSubmitValueError for a command that is refused, also as ``+Attribute``."""
    for command in TABLE:
        if command.standing is Standing.REFUSED:
            names = (*spellings(command.name), f"my.{spellings(command.name)[-1]}")
            yield Rule(frozenset(names), partial(_refused, command=command, names=names))


def _refused(commands: Commands, command: Command, names: tuple[str, ...]) -> Ad:
    spelled = dict(commands.named())
    for name in names:
        if name in spelled and (text := commands.raw_text(name)) and text.lower() not in ("false", "undefined"):
            raise commands.wrong(name, text, f"fairq refuses it, because {command.why}; remove the line")
    return {}


def without_effect(commands: Commands) -> list[str]:
    """Return the commands without effect, as spelled in the description, that ask for more than fairq does anyway.

    A name to which another line refers is a macro.
    """
    names = []
    referenced = commands.referenced()
    for lower, name in commands.named():
        command = standing_of(lower)
        if command is None or command.standing is not Standing.NO_EFFECT or lower in referenced:
            continue
        if command.name == "transfer_output_files" and commands.text("output_directory") is not None:
            continue
        text = (commands.raw_text(lower) or "false").lower()
        if text not in _NEUTRAL_VALUES.get(command.name, ("false", "no", "0")):
            names.append(name)
    return names
