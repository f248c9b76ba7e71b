"""``fairq broker import``: a whole grid at once, from the forms in which it is published."""

import io
import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from tests.grid.published import NOW, Grid, iso
from tests.grid.write import write

from fairq.columns.broker.kinds import KINDS

SITE = {"S1": {"state": "ACTIVE", "datapolicies": ["Nucleus"]}, "S2": {"state": "DISABLED", "datapolicies": []}}
QUEUE = {"Q": {"nickname": "Q", "panda_resource": "Q", "atlas_site": "S1", "status": "online", "corecount": 8}}
DISK = {"S1_DISK": {"site": "S1", "type": "DATADISK", "state": "ACTIVE", "is_tape": False, "token": "X"}}
OFF = {"status": {"value": "OFF"}}


@pytest.fixture
def grid(run, state, tmp_path):
    """Import files, given by name and content, with some options; the directory is new each time."""
    made = iter(range(100))

    def grid(files, *options):
        folder = tmp_path / f"grid{next(made)}"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return run("--state", state, "broker", "import", folder, *options, "--now", NOW)

    return grid


@pytest.fixture
def listed(run, state):
    """Return the records of a kind."""

    def listed(kind):
        return list(json.loads(run("--state", state, "broker", kind, "list", "--json").out))

    return listed


def test_a_whole_grid_is_imported_brokered_and_timed_out(run, state, tmp_path):
    """60 queues, 25 sites, 12 nuclei and 300 tasks, from published forms and the queries of docs/panda.md alone."""
    write(tmp_path / "grid")
    ended = run("--state", state, "broker", "import", tmp_path / "grid", "--json", "--now", NOW)
    assert ended.code == 0, ended.err
    files = json.loads(ended.out)["files"]
    assert {one["kind"] for one in files} == {*KINDS, "config"} - {"relations"}
    counted = {one["kind"]: one["records"] for one in files if not one["form"].startswith(("states", "space"))}
    assert (counted["queues"], counted["sites"], counted["tasks"]) == (60, 25, 300)
    assert not any(one["refused"] or one["softened"] for one in files)

    done = json.loads(run("--state", state, "broker", "run", "--json", "--now", NOW).out)
    assert done["counts"]["assigned"] > 150
    out = tmp_path / "out.json"
    found = json.loads(run("--state", state, "broker", "timeouts", "--apply", "--out", out, "--json", "--now", NOW).out)
    assert {row["row"] for row in found["rows"]} >= {"activated", "heartbeat"}
    document = json.loads(out.read_text())
    assert len(document["rebrokerages"]) + len(document["closures"]) == len(found["jobs"])
    again = json.loads(run("--state", state, "broker", "run", "--out", out, "--json", "--now", NOW + 60).out)
    assert [one["task"] for one in json.loads(out.read_text())["rebrokerages"]] == found["tasks"]
    assert again["counts"] == {"assigned": len(found["tasks"])}
    assert len(json.loads(run("--state", state, "broker", "nuclei", "--json").out)) == 12


class TestRecognition:
    def test_names_and_shapes_tell_what_a_file_is(self, grid, listed):
        ended = grid({
            "a.json": QUEUE, "b.json": SITE, "c.json": DISK,
            "d.csv": "queue,gshare,state,n\nQ,MC,running,3\n",
            "pilots-2026-11-22.csv": "queue,getJob\nQ,4\n",
            "deep/e.json": [{"jediTaskID": 1, "gshare": "MC"}],
            ".hidden": "nothing",
        }, "--json")  # fmt: skip
        assert ended.code == 0, ended.err
        kinds = {one["file"]: one["kind"] for one in json.loads(ended.out)["files"]}
        assert kinds == {
            "a.json": "queues", "b.json": "sites", "c.json": "storages", "d.csv": "statistics",
            "pilots-2026-11-22.csv": "pilots", "deep/e.json": "tasks",
        }  # fmt: skip
        assert listed("tasks")[0]["gshare"] == "MC"

    def test_a_queue_of_crics_own_needs_no_name_and_no_remark(self, run, state, tmp_path):
        """The queue of CERN as CRIC published it, compressed; with the storage that it names."""
        sample = Path(__file__).parent.parent / "data" / "cric-queue-cern.json.gz"
        (tmp_path / "anything").write_bytes(sample.read_bytes())
        ended = run("--state", state, "broker", "import", tmp_path / "anything", "--json")
        assert (ended.code, ended.err) == (0, "")
        assert json.loads(ended.out)["files"][0]["form"] == "queues of CRIC"
        assert "CERN-PROD_DATADISK" in run("--state", state, "broker", "relations", "--csv").out

    def test_a_file_that_cannot_be_identified_is_named_and_nothing_is_imported(self, grid, listed):
        files = {"queues.json": QUEUE, "README": "Our grid.", "x.csv": "queue\nQ\n"}
        ended = grid(files)
        assert (ended.code, listed("queues")) == (116, [])
        assert "README and 1 more cannot be identified; name each file after its kind" in ended.err
        ended = grid(files, "--lenient")
        assert (ended.code, len(listed("queues"))) == (0, 1)
        assert "README: left out, it cannot be identified" in ended.err

    def test_a_broken_json_file_is_an_error(self, grid, listed):
        ended = grid({"queues.json": QUEUE, "sites.json": "{"})
        assert (ended.code, listed("queues")) == (47, [])
        assert "sites.json, line 1: not JSON" in ended.err

    @pytest.mark.parametrize("kind", ["tar.gz", "zip", "file"])
    def test_archives_and_single_files_are_read_as_well(self, run, state, tmp_path, kind):
        path = tmp_path / f"grid.{kind}"
        content = json.dumps(QUEUE).encode()
        if kind == "zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("grid/q.json", content)
        elif kind == "file":
            path.write_bytes(content)
        else:
            with tarfile.open(path, "w:gz") as archive:
                member = tarfile.TarInfo("./grid/q.json")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        ended = run("--state", state, "broker", "import", path)
        assert (ended.code, "1 record of 1 file imported" in ended.out) == (0, True), ended.err

    def test_an_archive_comes_through_a_pipe_as_well(self, state):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("q.json", json.dumps(QUEUE))
        line = [sys.executable, "-m", "fairq", "--state", str(state), "broker", "import", "-", "--json"]
        ended = subprocess.run(line, input=stream.getvalue(), capture_output=True, check=False)
        assert (ended.returncode, json.loads(ended.stdout)["files"][0]["records"]) == (0, 1), ended.stderr

    @pytest.mark.parametrize(
        ("content", "problem"), [(b"PK\x05\x06", "cannot be identified"), (b"\x1f\x8b\x08 torn", "damaged")]
    )
    def test_a_damaged_archive_is_an_error(self, run, state, tmp_path, content, problem):
        (tmp_path / "grid.zip").write_bytes(content)
        ended = run("--state", state, "broker", "import", tmp_path / "grid.zip")
        assert ended.code != 0
        assert problem in ended.err
        assert ended.err.count("\n") == 1

    def test_what_is_not_there_or_empty_is_an_error(self, run, state, tmp_path):
        assert "cannot be read: no such file" in run("--state", state, "broker", "import", tmp_path / "none").err
        (tmp_path / "empty").mkdir()
        assert "it has no files" in run("--state", state, "broker", "import", tmp_path / "empty").err


class TestCheck:
    def test_it_tells_what_each_file_would_do_and_does_nothing(self, grid, listed):
        grid({"queues.json": QUEUE, "tasks.csv": "jediTaskID\n1\n2\n"})
        files = {"queues.json": {"NEW": QUEUE["Q"] | {"nickname": "NEW"}}, "tasks.csv": "jediTaskID\n2\n3\nx\n"}
        ended = grid(files, "--check", "--replace", "--json")
        assert ended.code == 80
        told = {one["kind"]: (one["records"], one["added"], one["removed"], one["refused"])
                for one in json.loads(ended.out)["files"]}  # fmt: skip
        assert told == {"queues": (1, 1, 1, 0), "tasks": (2, 1, 1, 1)}
        assert "tasks.csv, line 4 (task 'x'): jediTaskID must be a whole number" in ended.err
        assert "3 other records would be taken" in ended.err
        assert [one["name"] for one in listed("queues")] == ["Q"]
        assert grid(files, "--replace").code == 80
        assert [one["jediTaskID"] for one in listed("tasks")] == [2, 3]
        assert [one["name"] for one in listed("queues")] == ["NEW"]

    def test_what_a_file_does_not_name_stays_when_it_replaces(self, grid, listed):
        """A task keeps what the brokerage decided about it."""
        grid({"tasks.json": [{"jediTaskID": 1, "status": "pending"}, {"jediTaskID": 2}]})
        grid({"tasks.csv": "jediTaskID,gshare\n1,MC\n"}, "--replace")
        assert [(one["jediTaskID"], one["status"], one["gshare"]) for one in listed("tasks")] == [(1, "pending", "MC")]

    def test_if_no_record_is_valid_nothing_is_changed(self, grid):
        ended = grid({"tasks.csv": "jediTaskID\nx\n"})
        assert (ended.code, "nothing was changed" in ended.err) == (80, True)


class TestSoftenedValues:
    SOFT = {"Q": QUEUE["Q"] | {"corecount": "eight", "maxrss": "much"}}  # noqa: RUF012

    def test_a_value_read_as_something_else_is_named_by_the_exit_code(self, grid, listed):
        ended = grid({"queues.json": self.SOFT})
        assert (ended.code, listed("queues")[0]["corecount"]) == (117, 0)
        assert "queues.json, record 'Q': corecount is 'eight'; read as 0 and 1 more; all records were" in ended.err
        assert grid({"queues.json": self.SOFT}, "--lenient").code == 0

    def test_the_import_of_one_kind_says_so_too(self, run, state, tmp_path):
        (tmp_path / "q.json").write_text(json.dumps(self.SOFT))
        line = ("--state", state, "broker", "queues", "import", tmp_path / "q.json")
        assert run(*line).code == 117
        assert run(*line, "--lenient").code == 0

    def test_what_is_merely_not_known_is_taken_as_it_is(self, grid):
        assert grid({"queues.json": {"Q": QUEUE["Q"] | {"status": "asleep"}}}).code == 0


class TestStorage:
    def test_states_and_space_complete_the_endpoints(self, grid, listed):
        usage = {"S1_DISK": {"storage": {"free": 500 * 2**30, "used": 1}, "expired": {"used": 2**30}}}
        ended = grid({
            "ddm.json": DISK | {"OLD": {**DISK["S1_DISK"], "state": "DISABLED"}}, "usage.json": usage,
            "off-read.json": {"S1_DISK": {"read_wan": OFF}, "OLD": {"read_wan": OFF}},
            "off-write.json": {"S1_DISK": {"write_wan": OFF}},
        })  # fmt: skip
        assert ended.code == 0
        (disk,) = listed("storages")
        assert (disk["space_free"], disk["space_expired"], disk["blacklisted_read"]) == (500.0, 1.0, True)
        assert disk["detailed_status"] == {"read_wan": "OFF", "write_wan": "OFF"}
        assert "record 'OLD': left out, the endpoint is DISABLED" in ended.err

    def test_an_endpoint_that_is_no_longer_blacklisted_is_up_again(self, grid, listed):
        grid({"storages.json": DISK, "off.json": {"S1_DISK": {"read_wan": OFF}}})
        grid({"off.json": {"OTHER": {"read_wan": OFF}}})
        (disk,) = listed("storages")
        assert (disk["detailed_status"], disk["blacklisted_read"], disk["site"]) == ({}, False, "S1")

    def test_where_nothing_is_blacklisted_all_endpoints_are_up(self, grid, listed):
        """CRIC publishes an empty object then; under any other name it could be anything."""
        grid({"storages.json": DISK, "off.json": {"S1_DISK": {"read_wan": OFF}}})
        assert grid({"off.json": {}}).code == 116
        assert grid({"cric-ddmendpointstatus.json": {}}).code == 0
        assert listed("storages")[0]["detailed_status"] == {}

    def test_the_import_of_storages_alone_reads_the_same_forms(self, run, state, tmp_path):
        for name, document in (("ddm", DISK), ("off", {"S1_DISK": {"read_wan": OFF}, "NONE": {"read_wan": OFF}})):
            (tmp_path / name).write_text(json.dumps(document))
            ended = run("--state", state, "broker", "storages", "import", tmp_path / name, "--replace")
            assert ended.code == 0
        assert "1 imported, 0 of them new, 0 removed" in ended.out


class TestLinks:
    AT = iso(NOW - 60)

    @pytest.mark.parametrize(
        "document",
        [
            {"A:B": {"files": {"queued": {"Production Output": {"latest": 7, "timestamp": AT}}},
                     "mbps": {"dashb": {"1h": 2.5, "timestamp": AT}, "fts": {"1h": 9, "timestamp": AT}}}},
            {"A:B": {"files": {"queued": {"total": {"Production Output": {"total": 7, "timestamp": AT}}}},
                     "mbps": {"fts": {"1h": 2.5, "timestamp": AT}}}},
        ],
        ids=["today", "by system"],
    )  # fmt: skip
    def test_metrics_by_link_name(self, grid, listed, document):
        assert grid({"network.json": document | {"odd": document["A:B"]}}).code == 116
        assert grid({"metrics.json": document}).code == 0, "not the metrics of queues, whatever its name"
        assert {(one["source"], one["nucleus"], one["key"], one["value"], one["time"]) for one in listed("links")} == {
            ("A", "B", "Production Output_queued", 7, NOW - 60),
            ("A", "B", "dashb_mbps_1h", 2.5, NOW - 60),
        }

    def test_metrics_as_a_list_and_the_site_matrix(self, grid, listed):
        metrics = [{"src": "A", "dst": "B", "Production Output": {"queued_for_dst": 7, "updated_at": f"{self.AT}.250"},
                    "Production Input": {"queued_for_dst": 1}}]  # fmt: skip
        matrix = [{"src": "A", "dst": "B", "closeness": 3}, {"src": "", "dst": "B", "closeness": 1}]
        ended = grid({"nws.json": metrics, "cm.json": matrix})
        assert ended.code == 0
        assert {(one["key"], one["value"], one["time"]) for one in listed("links")} == {
            ("Production Output_queued", 7, NOW - 60), ("AGIS_closeness", 3, None),
        }  # fmt: skip
        assert "record 2: left out, the link has no source, no destination or no closeness" in ended.err


class TestNamesOfThePage:
    def test_a_task_may_have_the_pages_names(self, grid, listed):
        task = {
            "jediTaskID": 1, "t1Weight": -1, "onlyTagsForFC": True, "avoidVP": False, "priority": 900,
            "ramCountUnit": "MBPerCore", "outDiskCountUnit": "kBPerEvent", "baseTime": 60, "splitRule": "NF=2,TW=3",
            "includedSite": "A,B", "sw_platform": "x86_64-el9", "sw_project": "Athena", "sw_version": "24.0.1",
        }  # fmt: skip
        assert grid({"tasks.json": [task]}).code == 0
        (found,) = listed("tasks")
        assert found["splitRule"] == "NF=2,TW=-1,OT=1"
        assert (found["currentPriority"], found["ramUnit"], found["outDiskUnit"]) == (900, "MBPerCore", "kBPerEvent")
        assert (found["baseWalltime"], found["parameters"]) == (60, {"includedSite": "A,B"})
        assert (found["architecture"], found["transHome"]) == ("x86_64-el9", "Athena-24.0.1")

    def test_a_queue_and_an_outcome_may_have_them_too(self, grid, listed):
        queue = QUEUE["Q"] | {"maxDiskIO": 300, "transferring_limit": 50}
        outcome = {"task": 1, "queue": "Q", "nFailed": 2, "nClosed": 3, "nFinished": 4}
        assert grid({"queues.json": {"Q": queue}, "outcomes.json": [outcome]}).code == 0
        assert (listed("queues")[0]["maxdiskio"], listed("queues")[0]["transferringlimit"]) == (300, 50)
        assert [listed("outcomes")[0][name] for name in ("failed", "closed", "finished")] == [2, 3, 4]

    def test_a_value_that_cannot_be_meant_is_refused_by_the_pages_name(self, grid):
        ended = grid({"tasks.json": [{"jediTaskID": 1, "t1Weight": "much"}, {"jediTaskID": 2}]})
        assert (ended.code, "(task '1'): t1Weight must be a whole number, not 'much'" in ended.err) == (80, True)


def test_a_smaller_grid_replaces_a_larger_one(run, state, tmp_path):
    """Nothing of the larger one is left, in any kind."""
    for name, size in (("large", Grid(5, 2, 6, 8)), ("small", Grid(3, 1, 2, 3))):
        write(tmp_path / name, size)
        ended = run("--state", state, "broker", "import", tmp_path / name, "--replace", "--now", NOW)
        assert ended.code == 0, ended.err
    again = run("--state", tmp_path / "fresh.db", "broker", "import", tmp_path / "small", "--now", NOW)
    assert again.code == 0
    for kind in KINDS:
        if kind != "relations":
            told = [run("--state", one, "broker", kind, "list", "--json").out for one in (state, tmp_path / "fresh.db")]
            assert told[0] == told[1], kind
