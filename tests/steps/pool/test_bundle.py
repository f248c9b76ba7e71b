"""All dumps of a pool at once: the script for a machine of the pool, its archive, and a pool that cannot be queried."""

import os
import subprocess

import pytest
from tests.golden.archive import LIVE_ARCHIVE, unpack

TOOLS = {
    "condor_status": "slots.json",
    "condor_q": "jobs.json",
    "condor_userprio": "acct.long",
    "condor_config_val": "pool.conf",
}
"""HTCondor's tools, and which file of a situation stands for what each prints."""


@pytest.fixture(scope="module")
def situation(tmp_path_factory):
    return unpack(tmp_path_factory.mktemp("live"), LIVE_ARCHIVE) / "s2"


@pytest.fixture
def tools(tmp_path, situation):
    """A folder with programs in the place of HTCondor's, which note how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, file in TOOLS.items():
        tool = folder / name
        tool.write_text(f'#!/bin/sh\necho "{name} $*" >>{tmp_path}/called\ncat {situation / file}\n')
        tool.chmod(0o755)
    return folder


def archive(tmp_path, tools, run):
    script = tmp_path / "fairq-dump.sh"
    script.write_text(run("import", "--script").out)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    words = ["sh", str(script), str(tmp_path / "pool.tar.gz")]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def test_the_archive_of_the_script_is_imported_as_it_is(run, state, tmp_path, tools):
    """One archive brings settings, slots, jobs and accounting, as of the time when it was written."""
    written = archive(tmp_path, tools, run)
    assert (written.returncode, written.stdout) == (0, "")
    assert (tmp_path / "called").read_text().splitlines() == [
        "condor_userprio -long -allusers",
        "condor_status -sort no -json",
        "condor_q -global -allusers -json",
        "condor_userprio -long -allusers",
        "condor_config_val -dump",
    ]

    ended = run("--state", state, "import", tmp_path / "pool.tar.gz")
    assert ended.code == 0, ended.err
    assert ended.out == "imported 16 slots, 93 jobs, 12 clusters, 15 accounting records, 15 claims\n"
    assert "lines that do not concern negotiation or accounting are not imported" in ended.err
    assert run("--state", state, "config", "get", "negotiator.rules").out == "htcondor\n"
    assert run("--state", state, "config", "get", "condor_version").out == "23.9.6\n"


def test_what_a_tool_does_not_tell_is_said(run, state, tmp_path, tools):
    """Without the accountant and the configuration the rest is imported; settings stay as they are."""
    for name in ("condor_userprio", "condor_config_val"):
        (tools / name).write_text("#!/bin/sh\necho no answer >&2\nexit 1\n")
    assert "the accountant cannot be queried: no answer" in archive(tmp_path, tools, run).stderr

    ended = run("--state", state, "import", tmp_path / "pool.tar.gz")
    assert ended.out == "imported 16 slots, 93 jobs, 12 clusters, 15 claims\n"
    assert "not imported: the accountant cannot be queried: no answer" in ended.err
    assert "not imported: the configuration cannot be queried: no answer" in ended.err
    assert "no accounting records" in ended.err
    assert run("--state", state, "config", "get", "negotiator.rules").out == "documented\n"


def test_without_any_answer_there_is_no_archive(run, tmp_path, tools):
    for name in TOOLS:
        (tools / name).write_text("#!/bin/sh\nexit 1\n")
    assert archive(tmp_path, tools, run).returncode == 1
    assert not (tmp_path / "pool.tar.gz").exists()


def test_nothing_is_stored_in_a_dry_run(run, state, tmp_path, tools):
    archive(tmp_path, tools, run)
    ended = run("--state", state, "import", tmp_path / "pool.tar.gz", "--dry-run")
    assert ended.out.startswith("would import 16 slots")
    assert not state.exists()
    assert not list(state.parent.glob("*.toml"))


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--live", "--slots", "x"], 2, "--live imports everything"),
        (["--pool", "x"], 2, "--pool is only for --live"),
        (["--live", "--pool", "127.0.0.1:1"], 52, "the pool at 127.0.0.1:1 cannot be queried: "),
    ],
)
def test_a_pool_that_cannot_be_asked(run, state, words, code, message):
    """The error names the pool and the option; nothing is stored."""
    ended = run("--state", state, "import", *words)
    assert ended.code == code
    assert message in ended.err
    assert not state.exists()
