"""No value of a job stops the jobs of others: those that cannot be used hold their own job, by name.

FAIRQ_TEST_HOSTILE is how many jobs are drawn: 60 if it is not set, 2,000 for the experiment.
"""

from __future__ import annotations

import json
import os
import random

import pytest

from fairq.common.records import Actor
from fairq.errors.base import FairqError
from fairq.host.verb.changes import Pool, make
from fairq.host.verb.document import Request
from fairq.settings import load
from fairq.steps.launch.values import KINDS, UnusableValueError, read

DRAWN = int(os.environ.get("FAIRQ_TEST_HOSTILE", "60"))

ATTRIBUTES = [*KINDS, "TransferInput", "TransferExecutable", "Requirements", "Rank", "JobPrio", "AccountingGroup"]

VALUES = [
    "x 'y", 'a"b', "abc", "", "é\udc80".encode("utf-8", "replace").decode(), "a\nb\x1b[31m", "n" * 200_000, "-x@y z",
    1e30, -1e30, 10**18, -1, 0, 0.5, 2**62, True, False, [1, "two"], {"Nested": 1}, None,
    '/Expr(real("INF"))/', '/Expr(real("-INF"))/', '/Expr(real("NaN"))/', "/Expr(1e300 * 1e300)/", "/Expr(error)/",
    "/Expr(undefined)/", "/Expr({1, 2})/", "/Expr([a = 1])/", '/Expr("text")/', "/Expr(1 / 0)/", "/Expr(TARGET.Cpus)/",
    "/Expr(TARGET.Nothing)/", "/Expr(MY.Owner)/", "/Expr(time())/", "/Expr(random(10))/", '/Expr(strcat("a", "b"))/',
    '/Expr("unclosed)/', "/Expr(((((1)))))/",
    "/Expr(" + " && ".join(f'isError(regexp("^(a+)+$", "{"a" * 40}{n}"))' for n in range(300)) + ")/",
]  # fmt: skip


def drawn(count):
    """Return attributes with values; every attribute, every value, then pairs at random."""
    chance = random.Random(7)
    pairs = [(name, value) for name in ATTRIBUTES for value in VALUES]
    pairs += [(name, f"/Expr({name} + 1)/") for name in ATTRIBUTES]  # reads itself
    pairs += [(name, f"/Expr(MY.{name})/") for name in ATTRIBUTES]
    chance.shuffle(pairs)
    return [pairs[index % len(pairs)] for index in range(count)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Let a log with a relative path be written there."""
    monkeypatch.chdir(tmp_path)


def test_no_attribute_of_a_job_stops_another_job(pool):
    pool.slots(8)
    hostile = drawn(DRAWN)
    ads = []
    for number, (name, value) in enumerate(hostile, 100):
        plain = {"Cmd": "/bin/true", "Iwd": str(pool.work), "Owner": "mallory", "JobStatus": 1, "QDate": 1_700_000_000}
        plain |= {"UserLog": str(pool.work / f"log.{number}"), "JobNotification": 1}
        ads.append({"ClusterId": number, "ProcId": 0, "Requirements": True, **plain, name: value})
    dump = pool.work / "jobs.json"
    dump.write_text(json.dumps([ad for ad in ads if not _refused(pool, ad)]))
    pool.done("import", "--jobs", dump)
    pool.submit("true", "--count", 20)

    def good():
        ended = json.loads(pool.done("history", "--json"))
        return [ad["ExitCode"] for ad in ended if ad["ClusterId"] > 99 + DRAWN]

    matched: set[str] = set()

    def is_done():
        turn = pool("negotiate", "--json")
        assert (turn.code, "Traceback" in turn.err) == (0, False), turn.err
        former = len(matched)
        matched.update(match["job"] for match in json.loads(turn.out)["matches"])
        return len(good()) == 20 and len(matched) == former

    assert any(is_done() for _ in range(40 + DRAWN)), "good jobs, or first matches of others, are left"
    assert good() == [0] * 20
    for ad in pool.queue().values():
        if ad["JobStatus"] == 5 and ad["HoldReasonCode"] == 90:
            name = hostile[ad["ClusterId"] - 100][0]
            assert ad["HoldReason"].lower().startswith(f"its attribute {name} cannot be used: ".lower())
        assert ad.get("HoldReasonCode") != 91, ad["HoldReason"]
    assert pool("state", "check").code == 0


def test_no_attribute_that_the_narrow_verb_takes_stops_another_job(pool):
    pool.slots(8)
    host = Pool(pool.state, load(None, None, {}), "here")
    mallory = Actor("mallory", "fairq submit", 1_700_000_000, administrator=False, request=("0" * 32, "0" * 32))
    queued = 0
    for name, value in drawn(DRAWN):
        ad = {"Cmd": "/bin/true", "Iwd": str(pool.work), "Requirements": "/Expr(true)/", name: value}
        group = {"first": 0, "last": 0, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
        try:
            make(
                host, mallory, Request("0" * 32, "submit", "", None, {"ads": [ad], "groups": [group], "cluster": None})
            )
            queued += 1
        except FairqError as error:
            assert str(error).isprintable()
    pool.submit("true", "--count", 20)
    last = max(int(name.partition(".")[0]) for name in pool.queue())

    def is_done():
        turn = pool("negotiate", "--json")
        assert (turn.code, "Traceback" in turn.err) == (0, False), turn.err
        ended = json.loads(pool.done("history", "--json"))
        return [ad["ExitCode"] for ad in ended if ad["ClusterId"] == last] == [0] * 20

    assert queued
    assert any(is_done() for _ in range(40 + DRAWN))
    assert all(ad.get("HoldReasonCode") != 91 for ad in pool.queue().values())


def _refused(pool, ad):
    """Tell whether the import refuses the job: then there is none that could stop others."""
    dump = pool.work / "one.json"
    dump.write_text(json.dumps([ad]))
    return bool(pool("import", "--dry-run", "--jobs", dump).code != 0)


@pytest.mark.parametrize("name", KINDS)
def test_a_value_is_read_or_refused_by_name_and_nothing_else_happens(name):
    slot = {"Cpus": 4, "Memory": 1024}
    for value in [*VALUES, "\0", "\udcff", 10**400, float("inf"), float("nan"), f"/Expr({name} + 1)/"]:
        try:
            read({name: value, "Owner": "mallory"}, name, 0, slot)
        except UnusableValueError as error:
            assert error.attribute == name
            assert str(error).isprintable()
