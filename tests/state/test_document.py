"""The whole state as one document: nothing is lost on the way out and back, and nothing wrong gets in."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from tests.state.kept_state import has_all
from tests.state.pools import ACTOR, fill, procs, queued

from fairq.errors.pool import InvalidDocumentError
from fairq.state import check, document, history, jobs
from fairq.state.connection import reading, writing

OLDER = Path(__file__).parent.parent / "data" / "documents"
"""Documents that fairq exported when its schema was 1 and 12."""


def exported(state):
    with reading(state) as opened:
        return json.loads(json.dumps(document.export(opened)))


@pytest.fixture
def filled(tmp_path):
    with writing(tmp_path / "filled.db") as opened:
        fill(opened)
    return exported(tmp_path / "filled.db")


def test_a_restored_state_exports_the_same_document(state, filled):
    with writing(state) as opened:
        document.restore(opened, filled)
    assert exported(state) == filled


def test_an_empty_state_goes_out_and_back_too(state, tmp_path, filled):
    empty = exported(tmp_path / "none.db")
    with writing(state) as opened:
        document.restore(opened, filled)
    with writing(state) as opened:
        document.restore(opened, empty)
    assert exported(state) == empty


def test_a_document_takes_the_place_of_all_that_was_there(state, filled):
    with writing(state) as opened:
        queued(opened, procs(77, 0, 9))
        history.record(opened, ACTOR, [])
    with writing(state) as opened:
        document.restore(opened, filled)
    assert exported(state) == filled


def test_a_restored_state_goes_on_as_the_old_one_would(state, filled):
    """Cluster numbers go on, equal ads are recognised, the history stays append-only."""
    with writing(state) as opened:
        document.restore(opened, filled)
        assert jobs.next_cluster(opened) == 3
        assert jobs.ad_id(opened, filled["job_ads"][1]["ad"]) == filled["job_ads"][1]["id"]
        assert check.findings(opened) == []
        triggers = opened.connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'trigger'").fetchone()
        assert triggers == (10,)


def at(found, *path):
    for step in path:
        found = found[step]
    return found


WRONG: dict[str, tuple[list[str | int], Any, str]] = {
    "a version nobody knows": (["fairq", "document"], 2, "fairq.document: version 2"),
    "no version": (["fairq"], {}, "fairq: document is missing"),
    "no list": (["slots"], {}, "slots: must be a list, not {}"),
    "no object": (["slots", 1], "slot1", r"slots\[1\]: must be an object, not 'slot1'"),
    "a null": (["submitters", 0, "priority"], None, r"submitters\[0\].priority: must be a number, not None"),
    "a string for a number": (["jobs", 1, "cluster"], "2", r"jobs\[1\].cluster: must be a whole number, not '2'"),
    "true for a number": (["jobs", 1, "cluster"], True, r"jobs\[1\].cluster: must be a whole number"),
    "a fraction": (["jobs", 1, "first_proc"], 0.5, r"jobs\[1\].first_proc: must be a whole number"),
    "a number too large": (["history", 0, "time"], 2**63, r"history\[0\].time: must be a whole number"),
    "not a number": (["submitters", 1, "priority"], math.nan, r"submitters\[1\].priority: must be a finite"),
    "infinity": (["claims", 0, "slot_weight"], math.inf, r"claims\[0\].slot_weight: must be a finite"),
    "a huge integer": (["claims", 0, "slot_weight"], 10**400, r"claims\[0\].slot_weight: must be a finite"),
    "a number for a name": (["submitters", 1, "name"], 5, r"submitters\[1\].name: must be a string"),
    "half a letter": (["submitters", 1, "name"], "\ud800", r"submitters\[1\].name: is not Unicode"),
    "a number for a flag": (["slots", 0, "draining"], 1, r"slots\[0\].draining: must be true or false"),
    "a list for an ad": (["slots", 0, "ad"], [], r"slots\[0\].ad: must be an object"),
    "half a lease": (["submitters", 1, "ceiling_lease"], {"expiration": 5}, "ceiling_lease: prelease_value is missing"),
    "an unknown member": (["runs", 0], {"shoe": 1}, r"runs\[0\]: cluster is missing"),
    "a match of a cycle": (["cycles", 0, "matches", 1, "slot"], 7, r"cycles\[0\].matches\[1\].slot: must be a string"),
    "meta that is no string": (["meta", "last_update"], 200, "meta.last_update: must be a string"),
    "meta that is no number": (["meta", "last_update"], "soon", "meta.last_update: must be a whole number"),
    "a claim on no slot": (["claims", 1, "slot_id"], 99, r"claims\[1\].slot_id: there is no slot 99"),
    "a claim for half a job": (["claims", 0, "proc"], None, r"claims\[0\]: cluster and proc"),
    "two claims on a slot": (["claims", 1, "slot_id"], 2, r"claims\[1\]: the same as claims\[0\]"),
    "a job without its ad": (["jobs", 0, "ad_id"], 99, r"jobs\[0\].ad_id: there is no job ad 99"),
    "a range that ends before it begins": (["jobs", 1, "last_proc"], -1, r"jobs\[1\].last_proc: is before"),
    "a job that is stored twice": (["jobs", 1, "last_proc"], 6, r"jobs\[2\]: job 1.6 is also in jobs\[1\]"),
    "a submitter twice": (["submitters", 1, "name"], "<none>", r"submitters\[1\]: the same as submitters\[0\]"),
    "a slot twice": (["slots", 1, "id"], 2, r"slots\[1\]: the same as slots\[0\]"),
    "a claim for a job that waits": (["claims", 0, "proc"], 4, "slot 2 is claimed for job 1.4, which is not running"),
    "a count that is wrong": (["submitters", 1, "resources_used"], 3, "alice@x is recorded as using 3 slots"),
    "a cycle twice": (["cycles", 1, "number"], 1, r"cycles\[1\]: the same as cycles\[0\]"),
}


@pytest.mark.parametrize(("path", "value", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_named_with_its_place(state, filled, path, value, words):
    wrong = copy.deepcopy(filled)
    at(wrong, *path[:-1])[path[-1]] = value
    with writing(state) as opened:
        queued(opened, procs(7, 0, 0))
    before = exported(state)
    with pytest.raises(InvalidDocumentError, match=words), writing(state) as opened:
        document.restore(opened, wrong)
    assert exported(state) == before


@pytest.mark.parametrize("value", [None, 5, [], "fairq", {}, {"fairq": {"document": 1, "schema": 1}}])
def test_something_else_is_no_document(state, value):
    with pytest.raises(InvalidDocumentError, match="the document: "), writing(state) as opened:
        document.restore(opened, value)


@pytest.mark.parametrize("file", sorted(OLDER.iterdir()), ids=lambda file: file.stem)
def test_a_document_of_an_older_fairq_is_taken_whole(state, file):
    """What it lacks has its default; the usage of submitters is entered in the ledger."""
    older = json.loads(file.read_text())
    with writing(state) as opened:
        document.restore(opened, older)
        assert check.findings(opened) == []
    found = exported(state)
    del older["fairq"]
    assert has_all(found, older)
    used = {one["name"] for one in older["submitters"] if one["accumulated_usage"] or one["weighted_accumulated_usage"]}
    assert {(one["kind"], one["name"]) for one in found["usage_edits"]} == {("earlier", name) for name in used}
    assert used


def test_todays_document_lacks_nothing(state, filled):
    del filled["jobs"][0]["hold_code"]
    with pytest.raises(InvalidDocumentError, match=r"jobs\[0\]: hold_code is missing"), writing(state) as opened:
        document.restore(opened, filled)


def test_members_nobody_knows_are_refused(state, filled):
    filled["slots"][0]["colour"] = "red"
    with pytest.raises(InvalidDocumentError, match=r"slots\[0\]: 'colour' is not known here"), writing(state) as opened:
        document.restore(opened, filled)


def test_whole_numbers_will_do_for_reals(state, filled):
    filled["submitters"][0]["priority"] = 3
    with writing(state) as opened:
        document.restore(opened, filled)
    assert exported(state)["submitters"][0]["priority"] == 3.0


def test_restoring_empties_every_table(state):
    """Also those of copies, which no trigger drops meanwhile."""
    with writing(state) as opened:
        found = opened.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert {name for (name,) in found if not name.startswith("sqlite_")} == set(document._TABLES)
