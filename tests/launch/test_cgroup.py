"""Control groups, as far as they are files: what the kernel would do with them needs a machine that delegates them."""

import os
from pathlib import Path

import pytest

from fairq.launch.supervisor import cgroup

MEMORY = ("memory.max", "memory.swap.max", "memory.oom.group", "memory.events", "memory.peak")


@pytest.fixture
def base(tmp_path):
    """A directory like one in which groups can be made."""
    place = tmp_path / "fairq"
    place.mkdir()
    (place / "cgroup.controllers").write_text("cpu memory pids\n")
    (place / "cgroup.subtree_control").write_text("")
    return place


def group(base, *names):
    """A group as the kernel makes it, with these files."""
    place = base / "1.0-x"
    place.mkdir()
    for name in ("cgroup.procs", "cgroup.events", "cgroup.kill", *names):
        (place / name).write_text("")
    return place


def test_the_controllers_that_there_are_are_handed_on(base):
    assert cgroup.base(str(base)) == str(base)
    assert (base / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_what_is_no_control_group_is_not_used(tmp_path):
    assert cgroup.base(str(tmp_path)) is None
    assert cgroup.base("none") is None


def test_the_memory_of_a_group_is_limited_to_the_request(base):
    place = group(base, *MEMORY)
    assert cgroup.make(str(base), "1.0-x", 100) == str(place)
    written = {name: (place / name).read_text() for name in MEMORY[:3]}
    assert written == {"memory.max": "104857600", "memory.swap.max": "0", "memory.oom.group": "1"}
    assert cgroup.limits_memory(str(place))


@pytest.mark.parametrize("names", [(), MEMORY], ids=["no memory controller", "no limit was set"])
def test_without_a_limit_of_the_kernel_the_supervisor_watches(base, names):
    place = group(base, *names)
    if names:
        (place / "memory.max").write_text("max\n")
    assert cgroup.make(str(base), "1.0-x", None) == str(place)
    assert not cgroup.limits_memory(str(place))


@pytest.mark.parametrize(
    ("events", "killed"), [("oom 1\noom_kill 1\n", True), ("oom 3\noom_kill 0\n", False), ("", False)]
)
def test_what_the_kernel_ended_for_its_memory_is_told(base, events, killed):
    place = group(base, *MEMORY)
    (place / "memory.events").write_text(f"low 0\nhigh 0\nmax 7\n{events}")
    (place / "memory.peak").write_text("2097152\n")
    assert (cgroup.killed_for_memory(str(place)), cgroup.peak_kb(str(place))) == (killed, 2048)


def test_a_group_is_killed_only_while_something_is_in_it(base):
    place = group(base)
    (place / "cgroup.events").write_text("populated 0\nfrozen 0\n")
    cgroup.kill(str(place))
    assert (place / "cgroup.kill").read_text() == ""


def test_a_child_that_cannot_begin_in_a_group_is_not_forked(base):
    assert cgroup.fork(str(base)) == -1
    assert cgroup.fork(str(base / "nothing")) == -1


@pytest.mark.skipif(cgroup.base("auto") is None, reason="no control group can be made here")
def test_a_child_begins_in_its_group():
    place = str(cgroup.base("auto"))
    own = cgroup.make(place, f"test-{os.getpid()}", None)
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
