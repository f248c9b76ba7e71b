"""Nothing in, nothing done: an empty file, or one of comments, never replaces a pool or its settings."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest

EMPTY = 39
CONTENTS = {"nothing": b"", "a line break": b"\n", "comments": b"# Configuration from machine\n\n  # no more\n",
            "compressed nothing": gzip.compress(b"")}  # fmt: skip


def archive(**members):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in members.items():
            about = tarfile.TarInfo(name.replace("_", "."))
            about.size = len(content)
            tar.addfile(about, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
@pytest.mark.parametrize("words", ["config import", "import --slots", "import --jobs", "taskqueues import"])
def test_an_empty_file_changes_nothing(run, state, tmp_path, words, content):
    if words == "config import" and content.startswith(b"\x1f"):
        pytest.skip("settings are not compressed")
    run("--state", state, "slots", "add", "n", "--count", 3)
    run("--state", state, "submit", "--", "/bin/true")
    run("--state", state, "config", "set", "priority_halflife", "60")
    files = {path: path.read_bytes() for path in (state, Path(f"{state}.toml"))}
    (tmp_path / "empty").write_bytes(content)
    ended = run("--state", state, *words.split(), tmp_path / "empty")
    assert (ended.code, ended.out, ended.err.count("\n")) == (EMPTY, "", 1)
    assert {path: path.read_bytes() for path in files} == files
    assert not Path(f"{state}.toml.bak").exists()


@pytest.mark.parametrize("members", [{}, {"slots_json": b"", "pool_conf": b""}, {"pool_conf": b"# none\n"}])
def test_an_empty_archive_changes_nothing(run, state, tmp_path, members):
    run("--state", state, "slots", "add", "n", "--count", 3)
    (tmp_path / "pool.tar.gz").write_bytes(archive(**members))
    before = state.read_bytes()
    ended = run("--state", state, "import", tmp_path / "pool.tar.gz")
    assert ended.code != 0
    assert ended.err.count("\n") == 1
    assert state.read_bytes() == before


def test_what_an_archive_lacks_stays(run, state, tmp_path):
    run("--state", state, "submit", "--", "/bin/true")
    slots = b'[{"Name": "slot1@a", "MyType": "Machine", "Cpus": 1}]'
    (tmp_path / "pool.tar.gz").write_bytes(archive(slots_json=slots, jobs_json=b""))
    ended = run("--state", state, "import", tmp_path / "pool.tar.gz")
    assert ended.code == 0, ended.err
    assert "nothing in its jobs, which stay as they are" in ended.err
    assert len(run("--state", state, "queue", "--af", "ClusterId").out.split()) == 1


def test_no_import_overwrites_an_earlier_backup(run, state, tmp_path):
    settings = Path(f"{state}.toml")
    settings.write_text("[groups.a]\nquota = 4\n")
    condor = tmp_path / "condor.conf"
    for number in (4000, 4000, 5000):
        condor.write_text(f"PRIORITY_HALFLIFE = {number}\n")
        assert run("--state", state, "config", "import", condor).code == 0
    assert "quota = 4" in Path(f"{settings}.bak").read_text()
    assert "4000" in Path(f"{settings}.bak.1").read_text()
    assert not Path(f"{settings}.bak.2").exists()
