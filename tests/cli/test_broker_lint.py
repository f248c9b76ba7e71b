"""``fairq broker lint``: oddities a line each with their cures, and an exit code for scripts."""

import json
from pathlib import Path

import pytest

CERN = Path(__file__).parent.parent / "data" / "cric-queue-cern.json.gz"

QUEUES = {
    "A": {
        "status": "online", "type": "unified", "cloud": "DE", "capability": "ucore", "corecount": 8, "maxrss": 16000,
        "minrss": 0, "releases": ["ANY"], "fairsharepolicy": "type=evgen:100%",
    },
    "B": {
        "status": "online", "type": "analysis", "corecount": 1, "maxrss": 2000, "minrss": 4000, "releases": ["ANY"],
    },
    "SOUND": {
        "status": "online", "type": "analysis", "corecount": 1, "maxrss": 2000, "minrss": 0, "releases": ["ANY"],
    },
}  # fmt: skip


@pytest.fixture
def lint(run, state, tmp_path):
    file = tmp_path / "queues.json"
    file.write_text(json.dumps(QUEUES))
    assert run("--state", state, "broker", "queues", "import", file).code == 0

    def lint(*words):
        return run("--state", state, "broker", "lint", *words)

    return lint


def test_it_tells_what_stands_there_what_that_means_and_what_to_write(lint):
    ended = lint("--rules", "panda")
    assert (ended.code, ended.err) == (1, "")
    assert ended.out.splitlines() == [
        "A fairsharepolicy 'type=evgen:100%': PanDA accepts every task that no part names, so 'type=evgen:100%' "
        "excludes nobody; end it with an any:0, for example type=evgen:100%,type=any:0%",
        "B minrss '4000 to 2000': no job needs at least minrss and at most maxrss; swap minrss and maxrss, or correct "
        "one",
    ]


def test_a_sound_queue_exits_with_0(lint):
    ended = lint("SOUND")
    assert (ended.code, ended.out, ended.err) == (0, "", "no findings in 1 queue\n")


def test_the_cells_of_a_table_are_read_as_the_import_reads_them(run, state, tmp_path):
    file = tmp_path / "queues.csv"
    file.write_text("name,cloud,status,type,corecount,maxrss,minrss,releases\nA,DE,online,unified,one,2000,0,ANY\n")
    assert run("--state", state, "broker", "queues", "import", file, "--lenient").code == 0
    ended = run("--state", state, "broker", "lint", "A", "--json")
    assert {found["field"] for found in json.loads(ended.out)} == {"corecount"}


def test_records_have_a_kind_that_scripts_can_use(lint):
    assert [one["queue"] for one in json.loads(lint("--json").out)] == ["B"]
    ended = lint("--json", "--rules", "panda")
    assert ended.code == 1
    assert [(one["queue"], one["field"], one["kind"]) for one in json.loads(ended.out)] == [
        ("A", "fairsharepolicy", "no end"), ("B", "minrss", "memory"),
    ]  # fmt: skip
    assert lint("--af", "Queue", "Cure", "--constraint", 'Kind == "memory"').out == (
        "B swap minrss and maxrss, or correct one\n"
    )


def test_a_queue_that_is_not_there_is_refused(lint):
    ended = lint("C")
    assert (ended.code, ended.err) == (
        81,
        "fairq: no record of the queues has the name 'C'; list them with 'fairq broker queues'\n",
    )


def test_a_real_queue_has_a_flag_that_nothing_reads(run, state):
    """CERN's catchall says jobseed=all, and its field jobseed, which counts, says eshigh."""
    assert run("--state", state, "broker", "queues", "import", CERN).code == 0
    ended = run("--state", state, "broker", "lint", "--json")
    assert [(one["field"], one["value"]) for one in json.loads(ended.out)] == [("catchall", "jobseed=all")]


def test_an_empty_state_says_how_to_fill_it(run, tmp_path):
    ended = run("--state", tmp_path / "none.db", "broker", "lint")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == "there are no queues; import them with fairq broker queues import\n"
