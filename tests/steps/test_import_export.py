"""What fairq exports it can import again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.golden.command_line import scratch
from tests.steps.import_cases import NOW, claimed, dump, job, slot, user

SUBJECTS = ("slots", "jobs", "accounting")


@pytest.fixture
def pool(run, state, tmp_path):
    """A pool with claims of both kinds, held and running jobs, a group and a lease, after a cycle."""
    words: list[object] = []
    for subject, ads in {
        "slots": [
            slot("a", Memory=1024, Start=True, Draining=True),
            slot("b", Memory=1024, SlotWeight="/Expr(Cpus * 2)/"),
            claimed("c", "alice@example.org", "2.0", Memory=512),
        ],
        "jobs": [
            job(1, 0, Args='say "it" \\ twice'),
            job(1, 1, JobStatus=5, HoldReason="no disk"),
            job(2, 0, JobStatus=2),
            job(3, 0, Owner="bob", User="bob@example.org", NiceUser=True, Rank="/Expr(undefined)/"),
        ],
        "accounting": [
            user(AccumulatedUsage=1.5, FloorLeaseExpiration=NOW + 50, FloorPreLeaseValue=1),
            user("physics", PriorityFactor=3),
        ],
    }.items():
        words += [f"--{subject}", dump(tmp_path, subject, *ads)]
    assert run("--state", state, "import", *words, "--now", NOW).code == 0
    assert run("--state", state, "negotiate", "--now", NOW + 60).code == 0
    return state


def exported(run, state, *words):
    ended = run("--state", state, "export", *words)
    assert ended.code == 0, ended.err
    return str(ended.out)


@pytest.mark.parametrize("form", ["--json", "--long"])
def test_dumps_bring_the_same_pool_back(form, pool, run, tmp_path):
    """Slots, jobs, claims and accounting are the same in a fresh state, by either form."""
    at = ("--now", NOW + 90)
    words: list[object] = []
    before = {}
    for subject in SUBJECTS:
        before[subject] = exported(run, pool, f"--{subject}", form, *at)
        path = tmp_path / f"{subject}.exported"
        path.write_text(before[subject])
        words += [f"--{subject}", path]

    assert run("--state", tmp_path / "other.db", "import", *words, *at).code == 0

    for subject in SUBJECTS:
        assert exported(run, tmp_path / "other.db", f"--{subject}", form, *at) == before[subject]


def test_document_brings_the_same_state_back(pool, run, tmp_path):
    """The whole state, its cycles and history included, is the same document again."""
    document = tmp_path / "pool.json"
    exported(run, pool, "--output", document)
    ended = run("--state", tmp_path / "other.db", "import", document)

    assert ended.out == "imported 3 slots, 4 jobs, 4 accounting records\n"
    assert exported(run, tmp_path / "other.db") == document.read_text()


def test_exported_slots_show_their_claims(pool, run):
    """A slot that fairq gave away says whose it is and which job runs there."""
    ads = {ad["Name"]: ad for ad in json.loads(exported(run, pool, "--slots", "--now", NOW + 90))}

    assert ads["a"]["State"] == "Unclaimed"
    assert ads["a"]["Draining"] is True
    assert (ads["b"]["State"], ads["b"]["JobStart"], ads["b"]["TotalJobRunTime"]) == ("Claimed", NOW + 60, 30)
    assert (ads["c"]["RemoteUser"], ads["c"]["JobId"]) == ("alice@example.org", "2.0")


def test_exported_jobs_are_whole_ads(pool, run):
    """Every job is an ad of its own, with what its cluster shares and the reason of a hold."""
    ads = json.loads(exported(run, pool, "--jobs"))

    assert [(ad["ClusterId"], ad["ProcId"], ad["RequestMemory"]) for ad in ads] == [
        (1, 0, 128),
        (1, 1, 128),
        (2, 0, 128),
        (3, 0, 128),
    ]
    assert [ad.get("HoldReason") for ad in ads] == [None, "no disk", None, None]


def test_empty_state(run, state):
    """There is nothing in it, and looking does not create it."""
    assert json.loads(exported(run, state, "--slots")) == []
    assert exported(run, state, "--jobs", "--long") == "# no ads\n"
    assert json.loads(exported(run, state))["jobs"] == []
    assert not state.exists()


def test_file_is_replaced_only_when_complete(pool, run, tmp_path):
    """An export that fails leaves the file as it was, and nothing beside it."""
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "jobs"
    target.write_text("before")
    run("--state", pool, "import", "--jobs", dump(tmp_path, "jobs", job(Args="two\nlines")))

    ended = run("--state", pool, "export", "--jobs", "--long", "--output", target)

    assert ended.code == 50
    assert ended.err == (
        "fairq: Args of job 1.0 cannot be written: it holds a line break, which the long form has no way to "
        "write; export with --json\n"
    )
    assert target.read_text() == "before"
    assert list(folder.iterdir()) == [target]


def test_output_that_is_no_file(pool, run):
    """A device or a pipe is written to as it is."""
    assert run("--state", pool, "export", "--output", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--output", "missing/pool.json"], 50, "missing/pool.json cannot be written: no such file or directory"),
        (["--output", "."], 50, ". cannot be written: is a directory"),
        (["--output", "/dev/full"], 50, "/dev/full cannot be written: no space left on device"),
        (["--output", ""], 2, "--output is empty"),
        (["--slots", "--jobs"], 2, "--slots and --jobs are separate dumps"),
        (["--slots", "--long", "--json"], 2, "--json and --long exclude each other"),
        (["--long"], 2, "--long needs --slots, --jobs or --accounting"),
    ],
)
def test_wrong_use(words, code, message, pool, run, tmp_path, monkeypatch):
    """One line says what and how to mend it."""
    monkeypatch.chdir(tmp_path)

    ended = run("--state", pool, "export", *words)

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert ended.err.count("\n") == 1


VALUES = st.one_of(
    st.integers(-5, 5),
    st.booleans(),
    st.floats(-5, 5),
    st.sampled_from(["a", 'q"', "b\\", "/Expr(Memory > 1)/", "/Expr(undefined)/"]),
    st.lists(st.integers(0, 2), max_size=2),
)
EXTRA = st.dictionaries(st.sampled_from(["Args", "Rank", "NumX", "Note"]), VALUES, max_size=3)
PROCS = st.dictionaries(st.tuples(st.integers(1, 3), st.integers(0, 5)), st.tuples(EXTRA, st.booleans()), max_size=10)


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(procs=PROCS, extras=st.lists(EXTRA, max_size=4), use=st.booleans(), data=st.data())
def test_import_of_an_export_changes_nothing(
    tmp_path_factory,
    procs,
    extras,
    use,
    data,
):
    """import(export(x)) == x for dumps of slots and jobs whatever they hold, and for the document."""
    folder = tmp_path_factory.mktemp("pool")
    queue = [job(*ids, **extra, JobStatus=2 if runs else 1) for ids, (extra, runs) in procs.items()]
    running = [f"{c}.{p}" for (c, p), (_, runs) in procs.items() if runs]
    pool = [slot(f"s{number}", **extra) for number, extra in enumerate(extras)]
    if use and running:
        pool.append(claimed("busy", "alice@example.org", data.draw(st.sampled_from(running))))
    at = ("--now", NOW)
    with scratch() as one, scratch() as other:
        one.run("import", "--slots", dump(folder, "s", *pool), "--jobs", dump(folder, "j", *queue), *at)
        files = {}
        for subject in ("slots", "jobs"):
            files[subject] = folder / f"{subject}.out"
            form = data.draw(st.sampled_from(["--json", "--long"]))
            one.run("export", f"--{subject}", form, "--output", files[subject], *at)
        other.run("import", "--slots", files["slots"], "--jobs", files["jobs"], *at)

        before, after = one.json("export"), other.json("export")
        (folder / "document").write_text(json.dumps(before))
        other.run("import", folder / "document")
        assert other.json("export") == before
        # The history tells the command lines, which name different files.
        assert [len(before.pop("history"))] == [len(after.pop("history"))]
        assert before == after
