"""``fairq undo``: a change is taken back as if it had not been made."""

import json

import pytest

from fairq.common.records import AccountingRecord
from fairq.state import submitters
from fairq.state.connection import reading, writing

NOW = 1_795_200_000
DAY = 86400


@pytest.fixture
def at(run, state):
    """Run a command at a time, in seconds after NOW."""

    def at(time, *words):
        end = list(words).index("--") if "--" in words else len(words)
        return run("--state", state, *words[:end], "--now", NOW + time, *words[end:])

    return at


def queue(run, state):
    ads = json.loads(run("--state", state, "queue", "--json").out)
    return [{name: value for name, value in ad.items() if name != "ServerTime"} for ad in ads]


def record(state, name):
    with reading(state) as opened:
        return submitters.load(opened, name)


@pytest.mark.parametrize(
    "change",
    [
        "remove 1",
        "remove 1.0-4 2.3",
        "hold 1 --reason why",
        "prio 5 1.3",
        "prio +5 --all",
        "prio --top 1.3",
        "edit 1.3 2 --mem 1GB",
        "release 2.0",
    ],
)
def test_a_change_of_jobs_is_taken_back(run, at, state, change):
    at(0, "submit", "--count", 9, "--", "/bin/true")
    at(0, "submit", "--count", 5, "--", "/bin/echo", "$(Process)")
    at(1, "hold", "2.0", "--reason", "mine")
    before = queue(run, state)
    at(2, *change.split())
    assert queue(run, state) != before
    ended = at(3, "undo")
    assert ended.code == 0 and change.split(maxsplit=1)[0] in ended.out
    assert queue(run, state) == before
    assert run("--state", state, "history", "--json").out == "[]\n"
    assert run("--state", state, "state", "check").code == 0


def test_a_removal_that_is_taken_back_is_no_end(run, at, state):
    at(0, "submit", "--count", 3, "--", "/bin/true")
    at(1, "remove", "1.2")
    at(2, "remove", "1.0-1")
    assert at(3, "undo").code == 0
    assert [ad["ProcId"] for ad in json.loads(run("--state", state, "history", "--json").out)] == [2]
    at(4, "remove", "1.0")
    assert len(json.loads(run("--state", state, "history", "--json").out)) == 2


def test_a_submission_is_taken_back_unless_its_jobs_have_run(run, at, state):
    at(0, "submit", "--count", 9, "--", "/bin/true")
    assert at(1, "undo").code == 0
    assert queue(run, state) == []
    at(2, "slots", "add", "a")
    at(3, "submit", "--request-disk", "1MB", "--", "/bin/true")
    at(4, "negotiate")
    ended = at(5, "undo", "4")
    assert (ended.code, "job 2.0 is running" in ended.err) == (103, True)


def test_what_a_later_change_concerns_stays_until_that_one_is_undone(run, at, state):
    at(0, "submit", "--count", 9, "--", "/bin/true")
    at(1, "hold", "1.3")
    ended = at(2, "undo", "1")
    assert ended.code == 103
    assert "change 2 of job 1.3" in ended.err
    assert [at(3, "undo").code, at(4, "undo").code] == [0, 0]
    assert queue(run, state) == []
    assert at(5, "undo").code == 103
    assert at(5, "undo", "2").code == 103
    assert at(5, "undo", "99").code == 103


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("finish 1", "a finished job cannot run on"),
        ("import --slots slots.json", "what an import replaces is not kept"),
        ("taskqueues import queues.json", "what an import replaces is not kept"),
    ],
)
def test_a_last_change_that_cannot_be_undone_is_named_and_no_older_one_undone(
    at, run, state, tmp_path, monkeypatch, last, reason
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slots.json").write_text("[]")
    (tmp_path / "queues.json").write_text('{"task_queues": []}')
    at(0, "slots", "add", "a")
    at(1, "submit", "--", "/bin/true")
    at(2, "negotiate")
    at(3, "submit", "--", "/bin/false")
    before = queue(run, state)
    assert at(4, *last.split()).code == 0
    ended = at(5, "undo")
    assert ended.code == 103
    assert f"({'fairq ' + last}" in ended.err
    assert f"{reason}; name an older change by its number in 'fairq state history'; nothing was changed" in ended.err
    assert before[-1] in queue(run, state) or last.startswith("taskqueues")


def test_what_an_import_brought_is_not_taken_for_what_it_replaced(at, run, state, tmp_path):
    """The imported job and slot have the number and the name of those before."""
    dump = tmp_path / "dump.json"
    at(0, "slots", "add", "a", "--cpus", "1")
    at(1, "submit", "--", "/bin/true")
    dump.write_text(json.dumps([{"ClusterId": 1, "ProcId": 0, "Owner": "zoe"}]))
    at(2, "import", "--jobs", dump)
    dump.write_text(json.dumps([{"Name": "a", "Cpus": 64}]))
    at(3, "import", "--slots", dump)
    assert "replaced the slots after it" in at(4, "undo", "1").err
    assert "replaced the jobs after it" in at(5, "undo", "2").err
    assert [ad["Owner"] for ad in queue(run, state)] == ["zoe"]
    assert [ad["Cpus"] for ad in json.loads(run("--state", state, "slots", "--json").out)] == [64]


def test_a_dry_run_tells_and_stores_nothing(at, state):
    at(0, "submit", "--", "/bin/true")
    before = state.read_bytes()
    assert "would be undone" in at(1, "undo", "--dry-run").out
    assert state.read_bytes() == before


class TestUserprio:
    """Beside a pool in which the edit was never made."""

    @pytest.fixture
    def both(self, run, tmp_path, made_once):
        """The same in two states, of which only the first is edited."""

        def filled(folder):
            for name in ("a.db", "b.db"):
                with writing(folder / name) as opened:
                    records = [
                        AccountingRecord("ann@pool", priority=40.0, priority_factor=10.0, accumulated_usage=100.0,
                                         weighted_accumulated_usage=200.0, begin_usage_time=NOW - 9,
                                         last_usage_time=NOW),
                        AccountingRecord("bob@pool", priority=2.0, priority_factor=1000.0),
                    ]  # fmt: skip
                    submitters.store(opened, records)
                run("--state", folder / name, "negotiate", "--now", NOW)

        made_once(filled)
        return tmp_path / "a.db", tmp_path / "b.db"

    @pytest.mark.parametrize(
        "edit",
        [
            "-setprio ann 90", "-setfactor ann 3", "-setaccum ann 7", "-setbegin ann 5", "-setlast ann 5",
            "-setceiling ann 7 -setfloor bob 2", "-setfactor ann 3 -duration 30m", "-setceiling bob 9 -duration 9d",
            "-resetusage ann", "-resetall", "-delete ann", "-setfactor new@pool 7", "--prune 1s",
        ],
    )  # fmt: skip
    def test_an_edit_undone_a_day_later_was_never_made(self, run, both, edit):
        edited, other = both
        assert run("--state", edited, "userprio", *edit.split(), "--now", NOW + 60).code == 0
        assert run("--state", edited, "negotiate", "--now", NOW + 3600).code == 0
        assert run("--state", edited, "undo", "--now", NOW + DAY).code == 0
        for time in (60, 3600, DAY):
            run("--state", other, "negotiate", "--now", NOW + time)
        for name in ("ann@pool", "bob@pool", "new@pool"):
            one, two = record(edited, name), record(other, name)
            if two is None:
                assert one is None
                continue
            for field in ("priority", "accumulated_usage", "weighted_accumulated_usage"):
                assert getattr(one, field) == pytest.approx(getattr(two, field))
            for field in ("priority_factor", "ceiling", "floor", "begin_usage_time", "last_usage_time"):
                assert getattr(one, field) == getattr(two, field)
            assert (one.factor_lease, one.ceiling_lease) == (None, None)
        assert run("--state", edited, "state", "check").out == ""

    def test_edits_of_other_values_do_not_depend_on_each_other(self, run, both):
        state = both[0]
        run("--state", state, "userprio", "-setfactor", "ann", 3, "--now", NOW + 1)
        run("--state", state, "userprio", "-setceiling", "ann", 3, "--now", NOW + 2)
        run("--state", state, "userprio", "-setfactor", "ann", 4, "--now", NOW + 3)
        numbers = [entry["number"] for entry in json.loads(run("--state", state, "state", "history", "--json").out)]
        assert run("--state", state, "undo", numbers[-2], "--now", NOW + 4).code == 0
        assert run("--state", state, "undo", numbers[-3], "--now", NOW + 5).code == 103
        assert (record(state, "ann@pool").priority_factor, record(state, "ann@pool").ceiling) == (4.0, -1)


@pytest.mark.parametrize("change", ["remove b", "drain b", "add d", "remove b c --reason moved"])
def test_a_change_of_slots_is_taken_back(run, at, state, change):
    for name in ("a", "b", "c"):
        at(0, "slots", "add", name)
    before = json.loads(run("--state", state, "slots", "--json", "--now", NOW).out)
    at(1, "slots", *change.split())
    assert json.loads(run("--state", state, "slots", "--json", "--now", NOW).out) != before
    assert at(2, "undo").code == 0
    assert json.loads(run("--state", state, "slots", "--json", "--now", NOW).out) == before
