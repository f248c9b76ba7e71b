"""What Slurm's programs print is read, and what they are asked for is what a run needs."""

from pathlib import Path

from tests.launch.slurm.recorded import JOB, JOBS, NODES

from fairq.launch.interface import Assignment
from fairq.launch.slurm import nodes, queue, submission

SETTINGS = {"partition": None, "account": "physics", "qos": None, "options": ("--reservation=r",), "time_limit": 0}


def test_nodes_become_slots():
    first, second = nodes.parsed(NODES, None, "debug")
    assert (first.name, first.machine, first.cpus, first.memory, first.disk, first.gpus) == (
        "slot1@n1",
        "n1",
        7,
        7500,
        2048000,
        2,
    )
    assert first.place == {"EngineNode": "n1", "EnginePartition": "debug"}
    assert first.attributes == {
        "SlurmPartitions": "main,debug", "SlurmFeatures": "ib,big", "Arch": "X86_64", "OpSys": "LINUX"
    }  # fmt: skip
    assert (first.problem, second.gpus, second.place["EnginePartition"]) == ("", 0, "main")
    assert second.problem == "DRAIN in Slurm: Duplicate jobid [root@2026-11-22T14:01:08]"
    assert second.disk > 0


def test_only_the_nodes_of_a_partition_are_asked_for():
    assert [node.machine for node in nodes.parsed(NODES, "debug", None)] == ["n1"]


def test_jobs_are_read_whatever_their_names_hold():
    failed, running, waiting, planned, cancelled, completing = queue.parsed(JOBS)
    assert (failed.id, failed.index, failed.start, failed.end, failed.has_ended) == (
        "1_0", 0, 1795356608, 1795356618, True,
    )  # fmt: skip
    assert (running.end, running.is_waiting, running.has_ended) == (None, False, False)
    assert (waiting.reason, waiting.is_waiting, waiting.start) == ("ReqNodeNotAvail, UnavailableNodes:n1", True, None)
    assert planned.start is None, "a planned start is none"
    assert cancelled.name == "my|own job"
    assert (completing.has_ended, completing.end) == (False, 1795356703)


def test_a_job_is_found_by_its_name_even_if_its_id_is_given_again():
    jobs = queue.Jobs(queue.parsed(JOBS))
    assert jobs.find(None, "fairq-2.0-99ab12cd", None).id == "36"
    assert jobs.find("36", None, None).name == "fairq-2.0-99ab12cd"
    assert jobs.find("36", "fairq-1.0-c97d3026", 1).id == "1_1"
    assert jobs.find("36", "fairq-9.0-00000000", None) is None


def test_accounted_jobs_are_read():
    text = "17_3|COMPLETED|1795356608|1795356618|n1|fairq-1.0-x\n18|CANCELLED by 0|1795356700|1795356710|n2|a|b\n\n"
    first, second = queue.parsed_accounting(text)
    assert (first.id, first.index, first.state, first.start, first.end) == (
        "17_3",
        3,
        "COMPLETED",
        1795356608,
        1795356618,
    )
    assert (second.id, second.state, second.reason, second.name, second.has_ended) == (
        "18", "CANCELLED", "by 0", "a|b", True,
    )  # fmt: skip


def test_an_exit_code_is_read():
    assert queue.parsed_exit(JOB) == (7, 0)
    assert queue.parsed_exit("") is None


def assignment(run, **changed):
    engine_place = {"EngineNode": "n1", "EnginePartition": "main"}
    values = {"run": run, "program": ["x"], "directory": "/", "environment": {}, "cpus": 2, "held_memory": 300}
    return Assignment(**{**values, "place": engine_place, **changed})


def test_runs_that_need_the_same_go_out_in_one_array():
    runs = [assignment("1.0-a"), assignment("1.1-b"), assignment("2.0-c", gpus=1, execute_seconds=90.0)]
    (need, members), (second, _) = submission.grouped(runs, SETTINGS)
    assert [first.run for first in members] == ["1.0-a", "1.1-b"]
    words = submission.command("fairq-1.0-x", need, 2, SETTINGS, Path("/e"))
    assert {"--array=0-1", "--nodelist=n1", "--cpus-per-task=2", "--mem=300M", "--no-requeue", "--account=physics",
            "--partition=main", "--export-file=/e", "--reservation=r"} <= set(words)  # fmt: skip
    assert not any(word.startswith(("--time", "--gres", "--qos")) for word in words)
    words = submission.command("fairq-2.0-y", second, 1, SETTINGS, Path("/e"))
    assert {"--gres=gpu:1", "--time=4"} <= set(words)
    assert not any(word.startswith("--array") for word in words)
    assert submission.id_of("17;cluster\n", 1, 2) == "17_1"
    assert submission.id_of("17\n", 0, 1) == "17"


def test_the_script_chooses_the_run_of_its_element(tmp_path):
    import subprocess

    directory = tmp_path / "with blank"
    (directory / "b").mkdir(parents=True)
    script = submission.script(directory, Path("/archive.zip"), "/bin/echo", ["a", "b"])
    done = subprocess.run(["/bin/sh"], input=script, text=True, capture_output=True, env={"SLURM_ARRAY_TASK_ID": "1"},
                          check=True)  # fmt: skip
    assert done.stdout == f"-I -S /archive.zip {directory}/b\n"
