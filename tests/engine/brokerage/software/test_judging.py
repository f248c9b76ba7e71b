"""The example of PanDA's brokerage page: which tasks the queue AGLT2 has the software and hardware for."""

import pytest
from tests.broker_rules import DOCUMENTED, PANDA

from fairq.engine.brokerage.jobs.tasks import Task
from fairq.engine.brokerage.software.architecture import read_architecture
from fairq.engine.brokerage.software.check import AUTO_RELEASES, Wanted, judge, production_needs

AGLT2 = {
    "cmtconfigs": [
        "x86_64-centos7-gcc62-opt",
        "x86_64-centos7-gcc8-opt",
        "x86_64-slc6-gcc49-opt",
        "x86_64-slc6-gcc62-opt",
        "x86_64-slc6-gcc8-opt",
    ],
    "containers": ["any", "/cvmfs"],
    "cvmfs": ["atlas", "nightlies"],
    "architectures": [
        {"arch": ["x86_64"], "instr": ["avx2"], "type": "cpu", "vendor": ["intel", "excl"]},
        {"type": "gpu", "vendor": ["nvidia", "excl"], "model": ["kt100"]},
    ],
    "tags": [
        {
            "cmtconfig": "x86_64-slc6-gcc62-opt",
            "container_name": "",
            "project": "Athena",
            "release": "21.0.38",
            "sources": [],
            "tag": "VO-atlas-Athena-21.0.38-x86_64-slc6-gcc62-opt",
        }
    ],
}


def accepts(entry, architecture, rules=DOCUMENTED, **task):
    requested = read_architecture(architecture, infer_cpu=rules.infer_cpu)
    needs = production_needs(
        Wanted.of(Task(**{"trans_home": "Athena-21.0.38", **task})), requested, without_release=False
    )
    assert needs is not None
    return judge(needs, AUTO_RELEASES, entry, rules=rules).verdict == "accepted"


def without(entry, kind):
    """The entry with one kind of hardware not described at all."""
    return {**entry, "architectures": [hardware for hardware in AGLT2["architectures"] if hardware["type"] != kind]}


def test_a_task_for_the_very_hardware_is_accepted():
    """Both lists are exclusive: a task must ask for the CPU and for the GPU."""
    assert accepts(AGLT2, "x86_64-slc6-gcc62-opt#x86_64-intel-avx2&nvidia-kt100")
    assert accepts(AGLT2, "#x86_64-intel&nvidia")


@pytest.mark.parametrize("architecture", ["x86_64-slc6-gcc62-opt", "#x86_64", "#x86_64-intel", "&nvidia-kt100"])
def test_exclusive_hardware_is_not_given_to_tasks_that_do_not_ask_for_it(architecture):
    assert not accepts(AGLT2, architecture)


@pytest.mark.parametrize(
    "architecture", ["#x86_64-amd-avx2&nvidia-kt100", "#aarch64-intel&nvidia", "#x86_64-intel&amd"]
)
def test_other_hardware_is_refused(architecture):
    assert not accepts(AGLT2, architecture)


def test_the_page_goes_by_the_lists_of_gpus_and_the_code_by_worker_nodes():
    """No worker node of AGLT2 has reported its GPUs: the lists decide, or nothing does and the queue is out."""
    architecture = "#x86_64-intel-avx2&nvidia-kt100"
    assert accepts(AGLT2, architecture, DOCUMENTED)
    assert not accepts(AGLT2, architecture, PANDA)


def test_the_code_reads_a_cpu_out_of_the_platform_and_the_page_does_not():
    """A queue that describes no CPU refuses a task that asks for one; the platform's name alone asks for none."""
    bare = {**AGLT2, "architectures": []}
    assert accepts(bare, "x86_64-slc6-gcc62-opt", DOCUMENTED)
    assert not accepts(bare, "x86_64-slc6-gcc62-opt", PANDA)


def test_the_json_form_may_name_a_platform_in_the_old_form():
    """``encoded_platform`` fills in what the JSON form does not say itself."""
    asked = read_architecture('{"sw_platform": "x", "encoded_platform": "y@el9#x86_64-intel&nvidia"}', infer_cpu=False)
    assert asked.as_dict() == {
        "sw_platform": "x", "base_platform": "el9", "cpu_specs": [{"arch": "x86_64", "vendor": "intel"}]
    }  # fmt: skip


def test_a_listed_architecture_accepts_tasks_with_and_without_asking():
    """``"arch": ["x86_64"]`` takes ``#x86_64`` and tasks that say nothing; ``excl`` takes the former alone."""
    plain = {**AGLT2, "architectures": [{"type": "cpu", "arch": ["x86_64"]}]}
    exclusive = {**AGLT2, "architectures": [{"type": "cpu", "arch": ["x86_64", "excl"]}]}
    arm = {**AGLT2, "architectures": [{"type": "cpu", "arch": ["arm64"]}]}
    platform = "x86_64-slc6-gcc62-opt"
    assert [accepts(queue, f"{platform}#x86_64") for queue in (plain, exclusive, arm)] == [True, True, False]
    assert [accepts(queue, platform) for queue in (plain, exclusive, arm)] == [True, False, True]


def test_a_release_is_on_cvmfs_or_tagged():
    """Without CVMFS a tag of the platform, project and version is needed."""
    plain = {**AGLT2, "architectures": []}
    tags_only = {**plain, "cvmfs": []}
    platform = "x86_64-slc6-gcc62-opt"
    assert accepts(plain, platform, trans_home="Athena-99.0.1")
    assert accepts(tags_only, platform, trans_home="Athena-21.0.38")
    assert not accepts(tags_only, platform, trans_home="Athena-99.0.1")
    assert not accepts({**plain, "containers": []}, "x86_64-el9-gcc13-opt")


def test_nothing_published_is_refused_to_tasks_with_hardware():
    asked = read_architecture("#x86_64", infer_cpu=False)
    needs = production_needs(Wanted.of(Task(trans_home="Athena-21.0.38")), asked, without_release=False)
    assert needs is not None
    assert judge(needs, ("ANY",), None, rules=DOCUMENTED).verdict == "refused"
