"""``fairq broker KIND import|list``: what files may hold, and what comes out again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from fairq.columns.broker.kinds import KINDS, STORED
from fairq.state.connection import reading

Run = Callable[..., Any]


@pytest.fixture
def broker(run, state, tmp_path):
    """Run a broker command; a keyword ``content`` is put into the file that stands for FILE."""

    def broker(*words, content=None):
        file = tmp_path / "content"
        if content is not None:
            file.write_text(content if isinstance(content, str) else json.dumps(content))
        return run("--state", state, "broker", *(file if word == "FILE" else word for word in words))

    return broker


def listed(broker, kind, *words):
    ended = broker(kind, "list", *words, "--json")
    assert ended.code == 0, ended.err
    return json.loads(ended.out)


SAMPLES: dict[str, Any] = {
    "text": "some text, and more", "integer": 7, "real": 0.1, "boolean": True, "time": 1_700_000_000,
    "list": ["a", "b"], "object": {"x": [1, None]}, "objects": [{"lfn": "z", "fsize": 5}],
}  # fmt: skip


WORDS = {
    "ramUnit": "MBPerCore", "cpuTimeUnit": "HS06sPerEvent", "outDiskUnit": "kBPerEvent", "workDiskUnit": "GB",
    "splitRule": "NF=1,MO=2",
}  # fmt: skip
"""Of texts that are read more closely, some that need no remark."""


def sample(column):
    return column.words[0] if column.words else WORDS.get(column.name, SAMPLES[column.type])


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
class TestEveryKind:
    def test_what_json_brings_in_goes_out_and_in_again_by_json_and_by_csv(self, broker, kind):
        record = {column.name: sample(column) for column in kind.columns}
        ended = broker(kind.name, "import", "FILE", content=[record])
        assert (ended.code, ended.err) == (0, "")
        first = listed(broker, kind.name)
        assert first == [record]
        as_csv = broker(kind.name, "list", "--csv").out
        for content in (first, as_csv):
            assert broker(kind.name, "import", "FILE", "--replace", content=content).code == 0
            assert listed(broker, kind.name) == first

    def test_nulls_everywhere_but_in_the_key_are_taken(self, broker, kind):
        record = {column.name: sample(column) if column.key else None for column in kind.columns}
        assert broker(kind.name, "import", "FILE", content=[record]).code == 0
        found = listed(broker, kind.name)[0]
        for column in kind.columns:
            default = list(column.default) if isinstance(column.default, tuple) else column.default
            assert found[column.name] == (sample(column) if column.key else default)

    def test_it_is_described_with_all_its_columns(self, broker, kind):
        text = broker(kind.name, "import", "--help").out
        for column in kind.columns:
            assert f"  {column.name}: " in text

    def test_an_empty_table_says_how_to_fill_it(self, broker, kind):
        ended = broker(kind.name)
        assert (ended.code, ended.out) == (0, "")
        assert f"fairq broker {kind.name} import" in ended.err


def test_the_state_has_the_columns_of_every_kind(tmp_path):
    with reading(tmp_path / "none.db") as state:
        for kind in STORED:
            found = state.connection.execute(f"PRAGMA table_info({kind.table})").fetchall()
            assert [row[1] for row in found] == [column.name for column in kind.columns]
            assert {row[1] for row in found if row[5]} == {column.name for column in kind.keys}


class TestFiles:
    def test_an_object_of_objects_names_the_records(self, broker):
        broker("sites", "import", "FILE", content={"CERN": {"role": "nucleus"}, "X": {}})
        assert [(site["name"], site["role"]) for site in listed(broker, "sites")] == [("CERN", "nucleus"), ("X", "")]

    def test_names_are_found_in_any_case_and_by_their_other_spellings(self, broker):
        broker("links", "import", "FILE", content="SRC,dst,Key,VALUE\nA,B,AGIS_closeness, 3 \n")
        assert listed(broker, "links")[0]["value"] == 3.0

    def test_texts_stand_for_numbers_truth_times_and_lists(self, broker):
        record = {"queue": "A", "rse": "B", "default_read": "N", "order_read": "3", "roles": "read_lan, write_lan"}
        broker("relations", "import", "FILE", content=[record])
        found = listed(broker, "relations")[0]
        assert (found["default_read"], found["order_read"], found["roles"]) == (False, 3, ["read_lan", "write_lan"])
        broker("pilots", "import", "FILE", content="queue,lastStart\nA,2023-11-14T22:13:20\nB,1700000000.5\n")
        assert {one["lastStart"] for one in listed(broker, "pilots")} == {1_700_000_000}

    def test_a_column_that_is_not_known_is_named_with_what_may_be_meant(self, broker):
        ended = broker("types", "import", "FILE", content=[{"name": "A", "maxcor": 1}, {"name": "B", "maxcor": 1}])
        assert ended.code == 0
        remark = "record 1 (resource type 'A') and 1 more: maxcor is no column and was left out; did you mean maxcore?"
        assert ended.err == remark + "\n"

    def test_one_bad_record_keeps_no_other_out(self, broker):
        ended = broker("pilots", "import", "FILE", content="queue,getJob\nA,1\nB,many\nC,-1\nD,4\n")
        assert ended.code == 80
        problem = "getJob must be a whole number, not 'many' and 1 more; the other 2 pilots were taken"
        assert f"line 3 (pilots of queue 'B'): {problem}" in ended.err
        assert "line 4 (pilots of queue 'C'): getJob must be at least 0, not '-1'" in ended.err
        assert [one["queue"] for one in listed(broker, "pilots")] == ["A", "D"]

    def test_a_record_that_is_there_twice_is_refused_the_second_time(self, broker):
        ended = broker("sites", "import", "FILE", content=[{"name": "A", "role": "x"}, {"name": "A"}])
        assert (ended.code, "record 2 (site 'A'): occurs twice, first as record 1" in ended.err) == (80, True)
        assert listed(broker, "sites")[0]["role"] == "x"

    @pytest.mark.parametrize(
        "value", [True, [1], {}, "1e999", "nan", 1e300, 2**63, "1_0", "0x10", "9" * 500], ids=range(10)
    )
    def test_what_is_no_whole_number_is_refused(self, broker, value):
        assert broker("pilots", "import", "FILE", content=[{"queue": "A", "getJob": value}]).code == 80

    @pytest.mark.parametrize(
        "content", ['[{"queue": "A", "getJob": NaN}]', "[" * 100_000, '{"a": 1', '[{"queue": "\\ud800"}]'], ids=range(4)
    )
    def test_what_is_no_sound_json_is_refused(self, broker, content):
        ended = broker("pilots", "import", "FILE", content=content)
        assert ended.code in (47, 80)
        assert ended.err.count("\n") == 1


class TestImport:
    def test_it_adds_and_changes_and_with_replace_removes(self, broker):
        assert "sites: 2 imported, 2 of them new" in broker("sites", "import", "FILE", content="name\nA\nB\n").out
        ended = broker("sites", "import", "FILE", content="name,role\nB,nucleus\nC,\n")
        assert "sites: 2 imported, 1 of them new" in ended.out
        assert [site["name"] for site in listed(broker, "sites")] == ["A", "B", "C"]
        ended = broker("sites", "import", "FILE", "--replace", content="name\nB\n")
        assert "sites: 1 imported, 0 of them new, 2 removed" in ended.out
        assert [site["name"] for site in listed(broker, "sites")] == ["B"]

    def test_columns_that_a_file_does_not_name_stay_as_they_are(self, broker):
        """So a task that is imported again goes on waiting for its time."""
        broker("tasks", "import", "FILE", content=[{"jediTaskID": 1, "status": "pending", "gshare": "MC", "site": "A"}])
        broker("tasks", "import", "FILE", content=[{"jediTaskID": 1, "gshare": "Express"}, {"jediTaskID": 2}])
        found = [(task["status"], task["gshare"], task["site"]) for task in listed(broker, "tasks")]
        assert found == [("pending", "Express", "A"), ("ready", None, None)]

    def test_what_a_task_asks_of_the_network_is_kept_as_rules(self, broker):
        """As PanDA does; ``ipConnectivity`` may be a field or a parameter of the task."""
        tasks = [
            {"jediTaskID": 1, "ipConnectivity": "http#IPv6", "splitRule": "NF=1,IP=1"},
            {"jediTaskID": 2, "parameters": {"ipConnectivity": "full"}},
            {"jediTaskID": 3, "ipConnectivity": "none"},
            {"jediTaskID": 4, "ipConnectivity": "none#IPv4"},
        ]
        assert broker("tasks", "import", "FILE", content=tasks).err == ""
        kept = [task["splitRule"] for task in listed(broker, "tasks")]
        assert kept == ["NF=1,IP=2,IK=6", "IP=1", "IP=0", "IK=4,IP=0"]
        ended = broker("tasks", "import", "FILE", content=[{"jediTaskID": 5, "ipConnectivity": "wide"}])
        assert (ended.code, "ipConnectivity is 'wide', which asks for nothing" in ended.err) == (117, True)

    def test_units_and_rules_that_panda_does_not_know_are_told(self, broker):
        task = {"jediTaskID": 1, "ramUnit": "MBperCore", "cpuTimeUnit": "HS06", "splitRule": "NF1,NE=5"}
        ended = broker("tasks", "import", "FILE", content=[task])
        assert ended.code == 117
        assert "ramUnit is 'MBperCore', which PanDA does not know; it knows MB, MBPerCore or" in ended.err
        assert "cpuTimeUnit is 'HS06', which PanDA does not know" in ended.err
        assert "splitRule has 'NF1', which is not a rule such as NF=1" in ended.err
        known = {"ramUnit": "MBPerCoreFixed", "cpuTimeUnit": "mHS06sPerEventFixed", "outDiskUnit": "kBPerEventFixed"}
        assert broker("tasks", "import", "FILE", content=[{"jediTaskID": 2} | known]).err == ""

    def test_it_is_in_the_history(self, broker, run, state):
        broker("sites", "import", "FILE", "--now", "1700000000", content="name\nA\n")
        (entry,) = json.loads(run("--state", state, "state", "history", "--json").out)
        assert (entry["subject"], entry["time"]) == ("broker sites", 1_700_000_000)

    def test_names_of_the_table_are_those_of_csv_and_autoformat(self, broker):
        broker("statistics", "import", "FILE", content="queue,gshare,state,n\nA,MC,running,5\nA,MC,activated,7\n")
        rows = list(csv.DictReader(io.StringIO(broker("statistics", "--csv").out)))
        assert [row["state"] for row in rows] == ["activated", "running"]
        assert broker("statistics", "--af", "queue", "n * 2", "--constraint", 'state == "running"').out == "A 10\n"
        assert broker("statistics").out.splitlines()[0].split() == ["queue", "gshare", "resource_type", "state", "n"]


def test_the_shell_completes_queues_and_tasks(broker, run, state):
    broker("queues", "import", "FILE", content=[{"name": name} for name in ("CERN", "CERN-T0", "LYON")])
    broker("tasks", "import", "FILE", content=[{"jediTaskID": task} for task in (12, 120, 3)])
    assert run("_complete", "queue", "CE", "--state", state).out.split() == ["CERN", "CERN-T0"]
    assert run("_complete", "task", "12", "--state", state).out.split() == ["12", "120"]
