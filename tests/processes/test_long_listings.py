"""Long listings on a pipe: complete, aligned, and no reader of them keeps the pool from changing."""

import json
import subprocess

import pytest
from tests.processes.live import NOW, start

_SLOTS, _CLUSTERS = 6000, 10_000


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """A pool of many slots, a quarter of them divided, and of many clusters, whose last values are the widest."""
    folder = tmp_path_factory.mktemp("pool")
    whole = {"OpSys": "LINUX", "Arch": "X86_64", "Cpus": 4, "Memory": 4096, "Disk": 10**7, "Requirements": True}
    slots = [
        {"Name": f"slot1@n{n}", **whole, "PartitionableSlot": n % 4 == 0, "SlotWeight": "/Expr(Cpus)/"}
        for n in range(_SLOTS)
    ]
    jobs = [
        {
            "ClusterId": n,
            "ProcId": n % 3,
            "JobStatus": 1 if n <= 200 else 5,
            "RequestCpus": 1,
            "Requirements": True,
            "Cmd": "/bin/x",
            "User": f"{'u' * (1 + n // 2000)}@x",
            "RequestMemory": n,
            "JobPrio": -n // 1000,
            "QDate": NOW - n,
        }
        for n in range(1, _CLUSTERS + 1)
    ]
    for name, ads in (("slots.json", slots), ("jobs.json", jobs)):
        (folder / name).write_text(json.dumps(ads))
    state = folder / "state.db"
    words = ["--slots", folder / "slots.json", "--jobs", folder / "jobs.json", "--now", str(NOW)]
    for line in (["import", *words], ["negotiate", "--now", str(NOW)]):
        with start(state, *map(str, line), stdout=subprocess.DEVNULL) as process:
            assert process.wait(60) == 0
    return state


@pytest.mark.parametrize("words", [("queue",), ("queue", "--procs"), ("slots",)], ids=" ".join)
def test_a_long_listing_has_every_record_once_under_its_heading(imported, run, words):
    """With a limit, the listing is read as a whole before its first line; nothing but blanks may differ."""
    at = ("--now", NOW + 60)
    paged = run("--state", imported, *words, *at).out
    whole = run("--state", imported, *words, "--limit", 10**6, *at).out

    def cells(text):
        return [line.split() for line in text.splitlines()]

    assert cells(paged) == cells(whole)
    rows = paged.partition("\n\n")[0].splitlines()
    assert len(rows) > 3000
    assert {row.index(row.split()[1]) for row in rows} == {rows[0].index(rows[0].split()[1])}


@pytest.mark.parametrize("words", [("queue",), ("slots",)], ids=" ".join)
def test_a_reader_that_stops_reading_does_not_stop_the_pool(imported, words):
    """A job is queued while a pager shows the first lines; what the pager shows later is from before that."""
    with start(imported, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as listing:
        assert listing.stdout is not None
        first = listing.stdout.readline()
        with start(imported, "submit", "--", "/bin/true", stdout=subprocess.PIPE) as writer:
            assert writer.wait(30) == 0
        assert listing.poll() is None
        rest, error = listing.communicate(timeout=60)

    assert (listing.returncode, error) == (0, "")
    assert first.split()[0] in ("ID", "Name")
    assert "/bin/true" not in rest
