"""``fairq broker queues import`` takes what CRIC publishes, and names what is odd about it."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairq.columns.broker.column import UnfitError
from fairq.columns.broker.places import QUEUES
from fairq.steps.broker.checks import check_queue

CERN = Path(__file__).parent.parent / "data" / "cric-queue-cern.json.gz"


@pytest.fixture
def queues(run, state, tmp_path):
    """Import queues and list them; returns how the import ended and the queues by name."""

    def queues(content, *words):
        file = tmp_path / "queues"
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        ended = run("--state", state, "broker", "queues", "import", file, *words)
        listed = json.loads(run("--state", state, "broker", "queues", "list", "--json").out)
        return ended, {queue["name"]: queue for queue in listed}

    return queues


class TestARealQueue:
    def test_it_is_taken_whole(self, run, state):
        ended = run("--state", state, "broker", "queues", "import", CERN)
        assert (ended.code, ended.err) == (0, "")
        (queue,) = json.loads(run("--state", state, "broker", "queues", "--json").out)
        assert (queue["name"], queue["site"], queue["status"], queue["corecount"]) == ("CERN", "CERN-PROD", "online", 8)
        assert (queue["maxrss"], queue["capability"], queue["direct_access_wan"]) == (32000.0, "ucore", True)
        assert queue["cric"] == json.loads(gzip.decompress(CERN.read_bytes()))

    def test_the_storage_that_it_names_becomes_its_relations(self, run, state):
        run("--state", state, "broker", "queues", "import", CERN)
        found = json.loads(run("--state", state, "broker", "relations", "--json").out)
        defaults = {(one["scope"], one["rse"]) for one in found if one["default_write"]}
        assert defaults == {("default", "CERN-PROD_DATADISK"), ("analysis", "CERN-PROD_SCRATCHDISK")}
        tape = next(one for one in found if one["rse"] == "CERN-PROD_DATATAPE" and one["scope"] == "default")
        assert tape["roles"] == ["read_lan"]

    @pytest.mark.parametrize("form", ["--json", "--csv"])
    def test_what_is_listed_can_be_imported_again(self, queues, run, state, form):
        per_core = {"name": "A", "corecount": 8, "maxrss": 2000, "catchall": "per_core_attr"}
        _, first = queues([per_core, json.loads(gzip.decompress(CERN.read_bytes()))])
        assert first["A"]["maxrss"] == 16000
        content = run("--state", state, "broker", "queues", "list", form).out
        assert queues(content, "--replace")[1] == first


class TestOddFields:
    def test_nulls_texts_and_zeros_are_understood(self, queues):
        ended, found = queues({"A": {"corecount": None, "maxrss": "32000", "corepower": "10.5", "status": "test"},
                               "B": {"corecount": 0, "maxrss": None, "status": "test"}})  # fmt: skip
        assert (ended.code, ended.err) == (0, "")
        assert (found["A"]["corecount"], found["A"]["maxrss"], found["A"]["corepower"]) == (0, 32000.0, 10.5)
        assert (found["B"]["corecount"], found["B"]["maxrss"]) == (0, None)

    def test_what_is_not_understood_is_named_with_what_was_taken(self, queues):
        ended, found = queues({"A": {"status": "weird", "maxtime": "soon"}})
        assert ended.code == 117
        assert "record 'A': status is 'weird', which PanDA does not know\n" in ended.err
        assert "record 'A': maxtime is 'soon'; read as not set\n" in ended.err
        assert found["A"]["status"] == "weird"

    def test_a_queue_that_cannot_be_used_keeps_no_other_out(self, queues):
        ended, found = queues({"A": {"status": "test"}, "B": None, "C": {"corecount": 1e300}, "D": {"status": "test"}})
        assert ended.code == 80
        assert "record 'B': not an object and 1 more; the other 2 queues were taken" in ended.err
        assert "record 'C': corecount is too large a number" in ended.err
        assert set(found) == {"A", "D"}

    def test_names_that_stand_twice_in_an_object_are_refused(self, queues):
        """JSON's own habit is to keep the last one and to say nothing."""
        ended, found = queues(
            '{"A": {"status": "test"}, "A": {"status": "online"}, "B": {"status": "test", "status": "online"}}'
        )
        assert ended.code == 80
        assert "record 'A': occurs twice, first as record 'A'" in ended.err
        assert "record 'B': status occurs twice" in ended.err
        assert {name: queue["status"] for name, queue in found.items()} == {"A": "test"}

    def test_csv_may_say_true_and_name_releases(self, queues):
        ended, found = queues("name,atlas_site,direct_access_lan,releases,corecount\nA,X,true,AUTO,8\n")
        assert ended.code == 0
        assert (found["A"]["site"], found["A"]["direct_access_lan"], found["A"]["releases"]) == ("X", True, ["AUTO"])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["online", "8"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
NAMES = [*(column.name for column in QUEUES.columns if column.name != "cric"), "nickname", "atlas_site", "astorages"]


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8))
def test_no_field_whatever_it_holds_breaks_the_import(record):
    """A queue is a row of storable values, or refused with a reason."""
    try:
        row, _, _ = check_queue(QUEUES, record)
    except UnfitError as error:
        assert str(error)
    else:
        assert len(row) == len(QUEUES.columns)
        assert all(value is None or not isinstance(value, int) or abs(value) < 2**63 for value in row)


class TestWhatFollows:
    def test_a_unified_queue_is_split_by_the_types_that_fit(self, run, state):
        run("--state", state, "broker", "queues", "import", CERN)
        found = json.loads(run("--state", state, "broker", "pseudoqueues", "--json").out)
        assert [(one["queue"], one["corecount"], one["minrss"], one["maxrss"]) for one in found] == [
            ("CERN/MCORE", 8, 0, 16000),
            ("CERN/MCORE_HIMEM", 8, 16001, 32000),
            ("CERN/SCORE", 1, 0, 2000),
            ("CERN/SCORE_HIMEM", 1, 2001, 4000),
        ]

    def test_types_of_the_pool_take_the_place_of_those_of_atlas(self, run, state, tmp_path):
        (tmp_path / "types.csv").write_text("name,mincore,maxcore\nONE,1,1\nWIDE,16,\n")
        run("--state", state, "broker", "queues", "import", CERN)
        assert run("--state", state, "broker", "types", "import", tmp_path / "types.csv").code == 0
        assert run("--state", state, "broker", "pseudoqueues", "--af", "queue").out == "CERN/ONE\n"

    def test_nuclei_are_sites_of_that_role_with_their_queues_and_storage(self, run, state, tmp_path):
        (tmp_path / "sites.csv").write_text("name,role\nCERN-PROD,nucleus\n")
        (tmp_path / "storages.csv").write_text("rse,site\nCERN-PROD_DATADISK,CERN-PROD\n")
        assert "there is no nucleus" in run("--state", state, "broker", "nuclei").err
        run("--state", state, "broker", "queues", "import", CERN)
        for kind in ("sites", "storages"):
            assert run("--state", state, "broker", kind, "import", tmp_path / f"{kind}.csv").code == 0
        (found,) = json.loads(run("--state", state, "broker", "nuclei", "--json").out)
        assert (found["nucleus"], found["queues"], found["output"]) == ("CERN-PROD", ["CERN"], "CERN-PROD_DATADISK")
