"""Control groups, as far as they are files: what the kernel would do with them needs a machine that delegates them."""

import os
from pathlib import Path

import pytest

from fairq.launch.supervisor import cgroup

MEMORY = ("memory.max", "memory.swap.max", "memory.oom.group", "memory.events", "memory.peak")


@pytest.fixture
def base(tmp_path):
    """A directory like one in which groups can be made."""
    directory = tmp_path / "fairq"
    directory.mkdir()
    (directory / "cgroup.controllers").write_text("cpu memory pids\n")
    (directory / "cgroup.subtree_control").write_text("")
    return directory


def group(base, *names):
    """A group as the kernel makes it, with these files."""
    directory = base / "1.0-x"
    directory.mkdir()
    for name in ("cgroup.procs", "cgroup.events", "cgroup.kill", *names):
        (directory / name).write_text("")
    return directory


def test_the_controllers_that_there_are_are_handed_on(base):
    assert cgroup.base(str(base)) == str(base)
    assert (base / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_what_is_no_control_group_is_not_used(tmp_path):
    assert cgroup.base(str(tmp_path)) is None
    assert cgroup.base("none") is None


def test_the_memory_of_a_group_is_limited_to_the_request(base):
    directory = group(base, *MEMORY)
    assert cgroup.make(str(base), "1.0-x", 100) == str(directory)
    written = {name: (directory / name).read_text() for name in MEMORY[:3]}
    assert written == {"memory.max": "104857600", "memory.swap.max": "0", "memory.oom.group": "1"}
    assert cgroup.limits_memory(str(directory))


@pytest.mark.parametrize("names", [(), MEMORY], ids=["no memory controller", "no limit was set"])
def test_without_a_limit_of_the_kernel_the_supervisor_watches(base, names):
    directory = group(base, *names)
    if names:
        (directory / "memory.max").write_text("max\n")
    assert cgroup.make(str(base), "1.0-x", None) == str(directory)
    assert not cgroup.limits_memory(str(directory))


@pytest.mark.parametrize(
    ("events", "killed"), [("oom 1\noom_kill 1\n", True), ("oom 3\noom_kill 0\n", False), ("", False)]
)
def test_what_the_kernel_ended_for_its_memory_is_told(base, events, killed):
    directory = group(base, *MEMORY)
    (directory / "memory.events").write_text(f"low 0\nhigh 0\nmax 7\n{events}")
    (directory / "memory.peak").write_text("2097152\n")
    assert (cgroup.killed_for_memory(str(directory)), cgroup.peak_kb(str(directory))) == (killed, 2048)


def test_a_group_is_killed_only_while_something_is_in_it(base):
    directory = group(base)
    (directory / "cgroup.events").write_text("populated 0\nfrozen 0\n")
    cgroup.kill(str(directory))
    assert (directory / "cgroup.kill").read_text() == ""


def test_a_child_that_cannot_begin_in_a_group_is_not_forked(base):
    assert cgroup.fork(str(base)) == -1
    assert cgroup.fork(str(base / "nothing")) == -1


@pytest.mark.skipif(cgroup.base("auto") is None, reason="no control group can be made here")
def test_a_child_begins_in_its_group():
    directory = str(cgroup.base("auto"))
    own = cgroup.make(directory, f"test-{os.getpid()}", None)
    assert own is not None
    hear, say = os.pipe()
    child = cgroup.fork(own)
    if child == 0:
        os.write(say, Path("/proc/self/cgroup").read_bytes())
        os._exit(7)
    try:
        assert child > 0
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert f"/{Path(own).name}\n" in os.read(hear, 4096).decode()
    finally:
        os.close(hear)
        os.close(say)
        cgroup.remove(own)
    assert not Path(own).exists()
