"""docs/dirac.md: its queries run on DIRAC's schema, and what they give is imported as it is."""

import csv
import io
import json
import re
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "dirac.md"
SAMPLES = Path(__file__).parent.parent / "data" / "dirac"
NOW = 1_795_000_000
WEEK = 604_800
LISTS = ("Sites", "BannedSites", "GridCEs", "Platforms", "JobTypes", "Tags")
GROUPS = {"lhcb_user": {"JobShare": 1000}, "lhcb_prod": {"JobShare": 3000, "Properties": "NormalUser, JobSharing"}}

QUEUES = [
    (11, "ann", "lhcb_user", 86_400, 666.667, {"Sites": ["LCG.CERN.cern", "LCG.RAL.uk"]}, None),
    (12, "bob", "lhcb_user", 86_400, 333.333, {"Tags": ["8Processors", "MultiProcessor"]}, (2000, 0)),
    (13, "mc", "lhcb_prod", 345_600, 3000.0, {}, None),
]
JOBS = [(101, 11, 1.0), (102, 11, 5.0), (103, 12, 1.0), (104, 13, 2.0), (105, 13, 2.0), (106, 13, 2.0)]
USE = [("lhcb_user", "ann", 300), ("lhcb_user", "bob", 100), ("lhcb_prod", "mc", 1200)]


def queries():
    return dict(re.findall(r"^#### (\w+)\n[^#]*?```sql\n(.*?)```", PAGE.read_text(), re.DOTALL | re.MULTILINE))


def database():
    """Return TaskQueueDB and AccountingDB in one, with the columns that the queries read."""
    found = sqlite3.connect(":memory:")
    found.executescript(
        "CREATE TABLE tq_TaskQueues (TQId, Owner, OwnerGroup, VO, CPUTime, Priority, Enabled);"
        "CREATE TABLE tq_Jobs (TQId, JobId, Priority, RealPriority);"
        "CREATE TABLE tq_RAM_requirements (TQId, MinRAM, MaxRAM);"
        "CREATE TABLE ac_bucket_WMSHistory (Status, User, UserGroup, Jobs, entriesInBucket, startTime, bucketLength);"
        + "".join(f"CREATE TABLE tq_TQTo{name} (TQId, Value);" for name in LISTS)
        + "".join(f"CREATE TABLE ac_key_WMSHistory_{name} (id, value);" for name in ("Status", "User", "UserGroup"))
    )
    for number, owner, group, time, priority, lists, ram in QUEUES:
        row = (number, owner, group, "lhcb", time, priority, 1)
        found.execute("INSERT INTO tq_TaskQueues VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for name, values in lists.items():
            found.executemany(f"INSERT INTO tq_TQTo{name} VALUES (?, ?)", ((number, value) for value in values))
        if ram:
            found.execute("INSERT INTO tq_RAM_requirements VALUES (?, ?, ?)", (number, *ram))
    found.executemany("INSERT INTO tq_Jobs VALUES (?2, ?1, 1, ?3)", JOBS)
    found.executemany("INSERT INTO ac_key_WMSHistory_Status VALUES (?, ?)", [(1, "Running"), (2, "Done")])
    for at, (group, user, jobs) in enumerate(USE):
        found.execute("INSERT INTO ac_key_WMSHistory_User VALUES (?, ?)", (at, user))
        number = list(GROUPS).index(group)
        if group not in [name for _, name in found.execute("SELECT * FROM ac_key_WMSHistory_UserGroup")]:
            found.execute("INSERT INTO ac_key_WMSHistory_UserGroup VALUES (?, ?)", (number, group))
        buckets = [(1, at, number, 4.0 * jobs, 4.0, NOW - WEEK + 9000 * n, 9000) for n in range(8)]
        buckets += [
            (2, at, number, 10.0**6, 1.0, NOW - 9000, 9000),
            (1, at, number, 10.0**6, 1.0, NOW - 2 * WEEK, 9000),
        ]
        found.executemany("INSERT INTO ac_bucket_WMSHistory VALUES (?, ?, ?, ?, ?, ?, ?)", buckets)
    return found


def dumped(delimiter=",", missing=""):
    """Return what each query gives, as CSV, or as MySQL prints TSV."""
    texts = {}
    with closing(database()) as opened:
        for name, query in queries().items():
            found = opened.execute(query, {"span": WEEK, "now": NOW})
            out = io.StringIO()
            writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
            writer.writerow([column[0] for column in found.description])
            writer.writerows([missing if value is None else value for value in row] for row in found)
            texts[name] = out.getvalue()
    return texts


def looked_at(run, state):
    found = json.loads(run("--state", state, "taskqueues", "--json", "--now", NOW).out)
    names = ("task_queue", "owner", "owner_group", "cpu_time", "sites", "tags", "min_ram", "jobs", "average_priority")
    return [tuple(queue.get(name) or [] for name in names) for queue in found]


EXPECTED = [
    (11, "ann", "lhcb_user", 86_400, "LCG.CERN.cern, LCG.RAL.uk", [], [], 2, 3),
    (12, "bob", "lhcb_user", 86_400, [], "8Processors, MultiProcessor", 2000, 1, 1),
    (13, "mc", "lhcb_prod", 345_600, [], [], [], 3, 2),
]


def test_the_queries_give_the_samples():
    """Written by ``python -m tests.documents.test_dirac_tables``."""
    assert dumped() == {path.stem: path.read_text() for path in SAMPLES.glob("*.csv")}


def test_a_directory_of_samples_is_imported_as_it_is(run, state):
    ended = run("--state", state, "taskqueues", "import", SAMPLES, "--json", "--now", NOW)
    assert ended.code == 0, ended.err
    assert json.loads(ended.out) == {"task_queues": 3, "jobs": 6, "groups": 2, "reports": 3}
    assert sorted(looked_at(run, state)) == EXPECTED


def test_the_use_is_the_average_over_the_slice(run):
    """Eight buckets of 9000 s with 300 jobs, of a week: 300 x 72000 / 604800."""
    rows = list(csv.DictReader((SAMPLES / "history.csv").read_text().splitlines()))
    use = {(row["Group"], row["Entity"]): float(row["Average"]) for row in rows}
    assert use["lhcb_user", "ann"] == pytest.approx(300 * 72_000 / WEEK)
    assert use["", "lhcb_user"] == pytest.approx(400 * 72_000 / WEEK)


def test_an_archive_of_what_mysql_prints_is_the_same(run, state, tmp_path):
    with tarfile.open(tmp_path / "dirac.tar.gz", "w:gz") as archive:
        for name, text in {**dumped("\t", "NULL"), "groups": json.dumps(GROUPS)}.items():
            content = text.encode()
            member = tarfile.TarInfo(f"dirac/{name}.{'json' if name == 'groups' else 'tsv'}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    assert run("--state", state, "taskqueues", "import", tmp_path / "dirac.tar.gz", "--now", NOW).code == 0
    assert sorted(looked_at(run, state)) == EXPECTED


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"README": "x"}, "README: it cannot be identified; name it task_queues, jobs, history"),
        ({"jobs.csv": "JobId,TQId\n1,2\n"}, "the document: task_queues is missing"),
        ({"queues.csv": "TQId,Owner,OwnerGroup,CPUTime\n1,a,g,x\n"}, "task_queues[0].CPUTime: 'x' is not a number"),
        ({"task_queues.csv": "TQId,Owner,OwnerGroup,CPUTime\n", "queues.json": "[]"}, "it is a second file of"),
        ({"queues.json": "[]", "groups.csv": "a,b\n"}, "groups.csv, line 1: it is CSV; give it as JSON"),
    ],
    ids=range(5),
)
def test_what_is_wrong_is_named_and_nothing_is_imported(run, state, tmp_path, files, problem):
    (tmp_path / "dirac").mkdir()
    for name, text in files.items():
        (tmp_path / "dirac" / name).write_text(text)
    ended = run("--state", state, "taskqueues", "import", tmp_path / "dirac")
    assert (ended.code, problem in ended.err) == (78, True), ended.err


if __name__ == "__main__":
    SAMPLES.mkdir(exist_ok=True)
    (SAMPLES / "groups.json").write_text(json.dumps(GROUPS) + "\n")
    for one, content in dumped().items():
        (SAMPLES / f"{one}.csv").write_text(content)
