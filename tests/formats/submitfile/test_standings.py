"""Every submit command is honoured, named as without effect, or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fairq.errors.pool import InvalidSubmitValueError
from fairq.formats.submitfile import Context, Description, External, submission
from fairq.formats.submitfile.standings import TABLE, Standing, standing_of

KEYWORDS = (Path(__file__).parent / "keywords.txt").read_text().split()
"""The names in HTCondor's manual page of submit commands, and in the program's list of keywords."""


def read(text):
    context = Context("alice", Path("/tmp"), "X86_64", "LINUX", {"LANG": "C"})
    return submission(Description(text, "job.sub", External(60)), 7, context)


def names(standing):
    return [command.name for command in TABLE if command.standing is standing]


def test_the_table_has_every_command_of_htcondor():
    assert [name for name in KEYWORDS if standing_of(name) is None] == []
    assert len({command.name for command in TABLE}) == len(TABLE)


HONOURED: dict[str, tuple[str, Any]] = {
    "executable": ("executable = /bin/ls", {"Cmd": "/bin/ls"}),
    "arguments": ("arguments = a b", {"Args": "a b"}),
    "arguments2": ('arguments2 = "a b"', {"Arguments": "a b"}),
    "allow_arguments_v1": ('arguments = a\narguments2 = "b"\nallow_arguments_v1 = true', {"Arguments": "b"}),
    "shell": ("shell = date", {"Cmd": "/bin/sh", "Arguments": "-c date"}),
    "universe": ("universe = vanilla", {"JobUniverse": 5}),
    "environment": ("environment = A=1", {"Environment": "A=1"}),
    "environment2": ('environment2 = "A=1"', {"Environment": "A=1"}),
    "allow_environment_v1": (
        'environment = A=1\nenvironment2 = "A=2"\nallow_environment_v1 = true', {"Environment": "A=2"}
    ),
    "getenv": ("getenv = LANG", {"Environment": "LANG=C"}),
    "initialdir": ("initialdir = /usr", {"Iwd": "/usr"}),
    "input": ("input = /dev/zero", {"In": "/dev/zero"}),
    "output": ("output = o", {"Out": "o"}),
    "error": ("error = e", {"Err": "e"}),
    "append_files": ("append_files = o", {"AppendFiles": "o"}),
    "output_directory": ("output_directory = d/$(ProcId)\ntransfer_output_files = a", {"OutputDirectory": "d/0"}),
    "core_size": ("core_size = 5", {"CoreSize": 5}),
    "stack_size": ("stack_size = 5", {"StackSize": 5}),
    "transfer_executable": ("executable = x\ntransfer_executable = false", {"Cmd": "x", "TransferExecutable": False}),
    "skip_filechecks": ("executable = x\nskip_filechecks = true", {"Cmd": "/tmp/x"}),
    "image_size": ("image_size = 1MB", {"ImageSize": 1024}),
    "disk_usage": ("disk_usage = 1MB", {"DiskUsage": 1024}),
    "stream_input": ("stream_input = true", {"StreamIn": True}),
    "stream_output": ("stream_output = true", {"StreamOut": True}),
    "stream_error": ("stream_error = true", {"StreamErr": True}),
    "transfer_input": ("input = x\ntransfer_input = false", {"TransferIn": False, "In": "x"}),
    "transfer_output": ("transfer_output = false", {"TransferOut": False}),
    "transfer_error": ("transfer_error = false", {"TransferErr": False}),
    "request_cpus": ("request_cpus = 2", {"RequestCpus": 2}),
    "request_memory": ("request_memory = 1GB", {"RequestMemory": 1024}),
    "request_disk": ("request_disk = 1MB", {"RequestDisk": 1024}),
    "request_gpus": ("request_gpus = 1", {"RequestGPUs": 1}),
    "request_": ("request_licences = 1", {"Requestlicences": 1}),
    "requirements": ("+Requirements = Foo", {"Requirements": "/Expr(Foo)/"}),
    "rank": ("rank = Memory", {"Rank": "/Expr(Memory)/"}),
    "require_gpus": ("request_gpus = 1\nrequire_gpus = Capability > 7", {"RequireGPUs": "/Expr(Capability > 7)/"}),
    "gpus_minimum_capability": ("request_gpus = 1\ngpus_minimum_capability = 7.5", {"GPUsMinCapability": 7.5}),
    "gpus_maximum_capability": ("request_gpus = 1\ngpus_maximum_capability = 9.0", {"GPUsMaxCapability": 9.0}),
    "gpus_minimum_memory": ("request_gpus = 1\ngpus_minimum_memory = 8GB", {"GPUsMinMemory": 8192}),
    "gpus_minimum_runtime": ("request_gpus = 1\ngpus_minimum_runtime = 12.1", {"GPUsMinRuntime": 12010}),
    "cuda_version": ("cuda_version = 11.2", {"CUDAVersion": 11002}),
    "docker_image": ("docker_image = i", {"DockerImage": "i", "WantContainer": True}),
    "container_image": ("container_image = i.sif", {"ContainerImage": "i.sif", "WantSIF": True}),
    "docker_network_type": ("docker_network_type = none", {"DockerNetworkType": "none"}),
    "accounting_group": ("accounting_group = g", {"AcctGroup": "g"}),
    "accounting_group_user": ("accounting_group_user = u", {"AcctGroupUser": "u"}),
    "nice_user": ("nice_user = true", {"AcctGroup": "nice-user"}),
    "concurrency_limits": ("concurrency_limits = B, A:2", {"ConcurrencyLimits": "a:2,b"}),
    "concurrency_limits_expr": ('concurrency_limits_expr = Foo', {"ConcurrencyLimits": "/Expr(Foo)/"}),
    "periodic_hold": ("periodic_hold = A", {"PeriodicHold": "/Expr(A)/"}),
    "periodic_hold_reason": ('periodic_hold_reason = "r"', {"PeriodicHoldReason": "r"}),
    "periodic_hold_subcode": ("periodic_hold_subcode = 3", {"PeriodicHoldSubCode": 3}),
    "periodic_release": ("periodic_release = A", {"PeriodicRelease": "/Expr(A)/"}),
    "periodic_remove": ("periodic_remove = A", {"PeriodicRemove": "/Expr(A)/"}),
    "on_exit_hold": ("on_exit_hold = A", {"OnExitHold": "/Expr(A)/"}),
    "on_exit_hold_reason": ('on_exit_hold_reason = "r"', {"OnExitHoldReason": "r"}),
    "on_exit_hold_subcode": ("on_exit_hold_subcode = 3", {"OnExitHoldSubCode": 3}),
    "on_exit_remove": ("on_exit_remove = A", {"OnExitRemove": "/Expr(A)/"}),
    "max_retries": ("max_retries = 3", {"JobMaxRetries": 3}),
    "retry_until": ("retry_until = A", {"RetryUntil": "/Expr(A)/"}),
    "success_exit_code": ("success_exit_code = 3", {"JobSuccessExitCode": 3}),
    "leave_in_queue": ("leave_in_queue = true", {"LeaveJobInQueue": True}),
    "allowed_job_duration": ("allowed_job_duration = 60", {"AllowedJobDuration": 60}),
    "allowed_execute_duration": ("allowed_execute_duration = 60", {"AllowedExecuteDuration": 60}),
    "kill_sig": ("kill_sig = SIGINT", {"KillSig": "SIGINT"}),
    "remove_kill_sig": ("remove_kill_sig = 10", {"RemoveKillSig": "10"}),
    "hold_kill_sig": ("hold_kill_sig = USR2", {"HoldKillSig": "USR2"}),
    "x509userproxy": ("initialdir = /etc\nx509userproxy = passwd", {"x509userproxy": "/etc/passwd"}),
    "kill_sig_timeout": ("kill_sig_timeout = 5", {"KillSigTimeout": 5}),
    "job_max_vacate_time": ("job_max_vacate_time = 5", {"JobMaxVacateTime": 5}),
    "log": ("log = l", {"UserLog": "/tmp/l"}),
    "notification": ("notification = error", {"JobNotification": 3}),
    "notify_user": ("notify_user = a@b", {"NotifyUser": "a@b"}),
    "description": ("description = d", {"JobDescription": "d"}),
    "batch_name": ("batch_name = b", {"JobBatchName": "b"}),
    "batch_id": ("batch_id = b", {"JobBatchId": "b"}),
    "project_name": ("project_name = p", {"ProjectName": "p"}),
    "jobset": ("jobset = s", {"JobSetName": "s"}),
    "dag_node_name": ("dag_node_name = A", {"DAGNodeName": "A"}),
    "after": ("after = 1, 2.0", {"After": "1,2.0"}),
    "after_ok": ("after_ok = 1", {"AfterOk": "1"}),
    "after_failed": ("after_failed = x", {"AfterFailed": "x"}),
    "begin": ("begin = 1000000000", {"BeginTime": 1000000000}),
    "deferral_time": ("deferral_time = QDate + 60", {"DeferralTime": "/Expr(QDate + 60)/"}),
    "deferral_window": ("cron_window = 5", {"DeferralWindow": 5}),
    "deferral_prep_time": ("deferral_prep_time = 5", {"DeferralPrepTime": 5}),
    "cron_minute": ("cron_minute = */5", {"CronMinute": "*/5"}),
    "cron_hour": ("cron_hour = 1-3", {"CronHour": "1-3"}),
    "cron_day_of_month": ("cron_day_of_month = 1", {"CronDayOfMonth": "1"}),
    "cron_month": ("cron_month = 1,7", {"CronMonth": "1,7"}),
    "cron_day_of_week": ("cron_day_of_week = 7", {"CronDayOfWeek": "7"}),
    "max_running": ("max_running = 3", {"MaxRunning": 3}),
    "notify_all_ended": ("notify_all_ended = true", {"NotifyAllEnded": True}),
    "notify_command": ("notify_command = say 'all done'", {"NotifyCommand": "say 'all done'"}),
    "max_idle": ("max_idle = 3", {"JobMaterializeMaxIdle": 3}),
    "max_materialize": ("max_materialize = 3", {"JobMaterializeLimit": 3}),
}  # fmt: skip
ELSEWHERE = {"queue", "hold", "priority"}


@pytest.mark.parametrize("command", HONOURED)
def test_an_honoured_command_is_in_the_job_s_ad_and_nothing_is_said(command):
    lines, want = HONOURED[command]
    submission = read(f"executable = /bin/sh\n{lines}\nqueue")
    ad = submission.groups[0].ad(0)
    assert {name: ad.get(name) for name in want} == want
    assert (submission.without_effect, submission.warnings) == ([], [])


def test_a_test_stands_for_each_honoured_command():
    submission = read("executable = /bin/sh\nhold = true\npriority = 3\nqueue 2")
    assert (len(submission), submission.groups[0].status, submission.groups[0].priority) == (2, 5, 3)
    assert {*HONOURED, *ELSEWHERE} == set(names(Standing.HONOURED))


@pytest.mark.parametrize("command", names(Standing.REFUSED))
def test_a_command_that_would_run_another_job_is_refused_with_its_line(command):
    with pytest.raises(InvalidSubmitValueError) as caught:
        read(f"executable = /bin/sh\n{command} = 1999999999\nqueue 9")
    message = str(caught.value)
    assert message.startswith(f"job.sub, line 2: invalid {command}: 1999999999; fairq refuses it, because ")


@pytest.mark.parametrize(
    "line",
    [
        "+IsNoopJob = true", "IsNoopJob = true",
        "noop_job = ProcId > 3", "+WantParallelScheduling = true",
    ],
)  # fmt: skip
def test_other_names_of_a_refused_command_are_refused(line):
    with pytest.raises(InvalidSubmitValueError, match="refuses it"):
        read(f"executable = /bin/sh\n{line}\nqueue 9")


def test_another_universe_is_refused_as_an_attribute_too():
    with pytest.raises(InvalidSubmitValueError, match="vanilla, docker and container"):
        read("executable = /bin/sh\n+JobUniverse = 9\nqueue")


def test_a_refused_command_that_asks_for_nothing_is_taken():
    assert read("executable = /bin/sh\nnoop_job = false\ndeferral_time =\nqueue").without_effect == []


def test_a_refused_command_may_come_from_the_queue_statement():
    with pytest.raises(InvalidSubmitValueError, match="refuses it"):
        read("executable = /bin/sh\nqueue noop_job in (false true)")


@pytest.mark.parametrize("command", names(Standing.NO_EFFECT))
def test_a_command_without_effect_is_named(command):
    name = f"x{command}" if command.startswith("_") else f"{command}x" if command.endswith("_") else command
    value = "https://a/b" if "destination" in command else "77"
    lines = f"{name} = true" if command in BOOLEANS else f"{name} = {value}"
    submission = read(f"executable = /bin/sh\n{lines}\nqueue")
    assert (submission.without_effect, submission.warnings) == ([name], [])


BOOLEANS = re.findall(
    r"\w+",
    """
    preserve_relative_paths encrypt_execute_directory manifest want_io_proxy want_job_networking run_as_owner
    load_profile log_xml skip_if_dataflow docker_override_entrypoint transfer_container
    """,
)


@pytest.mark.parametrize(
    "line",
    [
        "should_transfer_files = NO", "should_transfer_files = if_needed", "when_to_transfer_output = ON_EXIT",
        "use_x509userproxy = false", "output_directory = d\ntransfer_output_files = f", "transfer_input_files =",
        "manifest = false",        "vm_name = x\narguments = $(vm_name)",
    ],
)  # fmt: skip
def test_a_command_that_asks_for_what_happens_anyway_is_not_named(line):
    assert read(f"executable = /bin/sh\n{line}\nqueue").without_effect == []


def test_a_name_within_a_family_is_no_typing_error():
    submission = read("executable = /bin/sh\nbox_oauth_permissions_work = read:/\nqueue")
    assert (submission.without_effect, submission.warnings) == (["box_oauth_permissions_work"], [])


def test_all_are_named_in_one_note_at_submit(run, state, tmp_path):
    text = "executable=/bin/sh\nshould_transfer_files=YES\nTransfer_Input_Files=a\nskip_if_dataflow=true\nqueue\n"
    (tmp_path / "a.sub").write_text(text)
    ended = run("submit", "--state", state, tmp_path / "a.sub")
    assert ended.code == 0
    assert ended.err == "without effect here: should_transfer_files, Transfer_Input_Files, skip_if_dataflow\n"
    refused = run("submit", "--state", state, tmp_path / "a.sub", "--config", "/dev/null", "-q")
    assert (refused.code, refused.err) == (0, "")


def test_files_that_htcondor_transfers_are_not_named(run, state, tmp_path, monkeypatch):
    monkeypatch.setenv("FAIRQ_LAUNCH_HTCONDOR_SPOOL", "true")
    (tmp_path / "a.sub").write_text("executable = /bin/sh\nTransferInputFiles = a\nencrypt_input_files = a\nqueue\n")
    ended = run("submit", "--state", state, tmp_path / "a.sub")
    assert (ended.code, ended.err) == (0, "without effect here: encrypt_input_files\n")


def test_an_output_destination_is_a_url_and_excludes_an_output_directory():
    submission = read("executable = /bin/sh\noutput_destination = results\nqueue")
    assert submission.warnings == ["output_destination must be a URL, did you mean output_directory ?"]
    assert submission.groups[0].ad(0)["OutputDestination"] == "results"
    for url in ("osdf://a/b", "file:///a"):
        assert read(f"executable = /bin/sh\noutput_destination = {url}\nqueue").warnings == []
    with pytest.raises(InvalidSubmitValueError, match="either"):
        read("executable = /bin/sh\noutput_destination = osdf://a/b\noutput_directory = c\nqueue")


@pytest.mark.parametrize(
    ("lines", "is_told"),
    [("", True), ("transfer_output_files = a", False), ('transfer_output_files = ""', False),
     ("should_transfer_files = NO", False), ("should_transfer_files = YES", True)],
)  # fmt: skip
def test_what_an_output_directory_does_not_get_is_told(lines, is_told):
    warnings = read(f"executable = /bin/sh\noutput_directory = d\n{lines}\nqueue").warnings
    warning = "output_directory gets output and error; name further files in transfer_output_files"
    assert warnings == ([warning] if is_told else [])


@pytest.mark.parametrize(("text", "version"), [("11", 11000), ("11.2", 11002), ("11020", 11020), ("10.0", 10000)])
def test_a_version_of_cuda_is_required_as_condor_submit_does(text, version):
    ad = read(f"executable = /bin/sh\ncuda_version = {text}\nqueue").groups[0].ad(0)
    assert ad["CUDAVersion"] == version
    assert "CUDAVersion <= TARGET.CUDAMaxSupportedVersion" in ad["Requirements"]


@pytest.mark.parametrize(
    "line", ["cuda_version = new", "cuda_version = 11.2.3", "disk_usage = 0", "x509userproxy = /none"]
)
def test_a_wrong_value_of_these_is_refused(line):
    with pytest.raises(InvalidSubmitValueError, match=line.partition(" ")[0]):
        read(f"executable = /bin/sh\n{line}\nqueue")


def test_a_dry_run_shows_the_same(run, state, tmp_path):
    (tmp_path / "a.sub").write_text("executable = /bin/sh\nlog_xml = true\nqueue\n")
    ended = run("submit", "--state", state, tmp_path / "a.sub", "--dry-run", "--json")
    assert (ended.err, json.loads(ended.out)[0]["UserLogUseXML"]) == ("without effect here: log_xml\n", True)
