"""The document that asks a host's pool for a change, and what comes of it; without sudo."""

from __future__ import annotations

import contextlib
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from fairq.common.records import Actor
from fairq.errors.base import FairqError
from fairq.errors.people import RepeatedError, RequestError, SurroundingsError
from fairq.host.client.form import LARGEST
from fairq.host.verb import document
from fairq.host.verb.asker import asker
from fairq.host.verb.changes import Pool, make
from fairq.host.verb.document import Request, parse, read
from fairq.settings import load
from fairq.state import history
from fairq.state.connection import reading

NOW = 1_795_200_000
ID = "0123456789abcdef" * 2


def request(verb="hold", **arguments):
    return {"fairq": 1, "id": ID, "verb": verb, "command": f"fairq {verb}", "reason": None, "arguments": arguments}


def piped(content):
    """Read *content* from a pipe."""
    ours, theirs = os.pipe()
    try:
        os.write(theirs, content)
        os.close(theirs)
        return read(ours)
    finally:
        os.close(ours)


def test_a_document_comes_behind_its_length():
    assert piped(b"4\nabcd") == b"abcd"
    assert piped(b"4\nabcdef") == b"abcd"


@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n", b"4", b"5\nabcd", b"-1\n", b"x\n", b"4 \nabcd",
        "٤\n".encode(), b"0x4\nabcd", b"99999999999999999999",
        f"{LARGEST + 1}\n".encode(), b"{}", b"1_0\n" + b"a" * 10, b"\xff\xfe\n",
    ],
)  # fmt: skip
def test_what_is_too_long_or_incomplete_is_not_read(content):
    with pytest.raises(RequestError):
        piped(content)


def test_a_document_that_does_not_come_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(document, "PATIENCE", 0.05)
    ours, theirs = os.pipe()
    os.write(theirs, b"4\nab")
    with pytest.raises(RequestError, match="did not come within"):
        read(ours)
    os.close(ours)
    os.close(theirs)


def test_an_exact_document_is_a_request():
    assert parse(json.dumps(request(jobs=["1"])).encode()) == Request(ID, "hold", "fairq hold", None, {"jobs": ["1"]})


WRONG: list[Any] = [
    b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff", b"{}", b"NaN", b"[" * 100_000, b"1" * 5000,
    {**request(), "fairq": 2}, {**request(), "fairq": True}, {**request(), "fairq": 1.0}, {**request(), "more": 1},
    {**request(), "id": ID[1:]}, {**request(), "id": ID.upper()}, {**request(), "id": ID + "\n"},
    {**request(), "id": 1},
    {**request(), "verb": None}, {**request(), "verb": "a\0b"}, {**request(), "command": "\x1b[2J"},
    {**request(), "command": "x" * 5000}, {**request(), "reason": 3}, {**request(), "arguments": []},
    {**request(), "arguments": None}, {key: value for key, value in request().items() if key != "reason"},
    json.dumps(request()).replace('"reason": null', '"reason": null, "reason": "x"').encode(),
    json.dumps(request()).replace('"fairq": 1', '"fairq": Infinity').encode(),
    json.dumps(request()).replace('"fairq": 1', '"fairq": 1e400').encode(),
    json.dumps(request()).replace('"arguments": {}', '"arguments": ' + '{"a":' * 30 + "1" + "}" * 30).encode(),
    json.dumps(request(value=2**64)).encode(), json.dumps(request(name="\ud800")).encode("utf-8", "surrogatepass"),
]  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_anything_else_is_none(wrong):
    with pytest.raises(RequestError):
        parsed = parse(wrong if isinstance(wrong, bytes) else json.dumps(wrong).encode())
        make(Pool(Path("/nonexistent"), None), Actor("bob", "", NOW), parsed)  # type: ignore[arg-type]


@pytest.fixture
def pool(run, state, tmp_path, made_once):
    """Root has cluster 1, bob cluster 2; ann is an administrator."""
    from fairq.state import jobs
    from fairq.state.connection import writing

    def filled(folder):
        site, state_path = folder / "site.toml", folder / state.name
        site.write_text('[pool]\nadministrators = ["ann"]\n[accounting]\nuid_domain = "lab"\n')
        for _ in range(2):
            run("--state", state_path, "--config", site, "submit", "--count", 3, "--now", NOW, "--", "/bin/true")
        with writing(state_path) as opened:
            jobs.change(opened, "", 2, 0, 2, owner="bob", submitter="bob@lab")

    made_once(filled)
    return Pool(state, load(tmp_path / "site.toml", None, {}))


def ask(pool, user, verb, serial=0, /, **arguments):
    """Ask as *user*, each time with another number as another request."""
    is_ann, name = user == "ann", f"{serial:032x}"
    actor = Actor(user, f"fairq {verb}", NOW + 1, administrator=is_ann, request=(name, os.urandom(4).hex()))
    return make(pool, actor, Request(name, verb, f"fairq {verb}", None, arguments))


SETFACTOR = {"kind": "setfactor", "name": "bob@lab", "value": 3, "seconds": None}


def test_everybody_changes_what_is_his_and_an_administrator_all(pool):
    assert ask(pool, "bob", "hold", 1, jobs=["2.0"]) == {"jobs": 1, "targets": [["2.0", 1]], "ending": 0}
    assert ask(pool, "bob", "release", 2, jobs=None)["jobs"] == 1
    assert ask(pool, "bob", "prio", 3, jobs=["bob"], value=5, relative=False)["jobs"] == 3
    assert ask(pool, "bob", "edit", 8, jobs=None, attributes={"Site": "A"})["jobs"] == 3
    assert ask(pool, "bob", "undo", 9, number=None)["change"]
    assert ask(pool, "bob", "prio --top", 10, jobs=["2.0"])["jobs"] == 1
    assert ask(pool, "bob", "remove", 4, jobs=None)["jobs"] == 3
    assert ask(pool, "bob", "undo", 5, number=None)["change"]
    assert ask(pool, "ann", "hold", 6, jobs=None)["jobs"] == 6
    assert "was set to 3" in ask(pool, "ann", "userprio", 7, edits=[SETFACTOR])["message"]
    with reading(pool.state) as opened:
        assert [entry.user for entry in history.load(opened)][-7:-6] == ["bob"]


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("hold", {"jobs": ["1"]}), ("remove", {"jobs": ["1.0-1", "2"]}), ("remove", {"jobs": ["root"]}),
        ("prio", {"jobs": ["1"], "value": 1, "relative": True}), ("userprio", {"edits": [SETFACTOR]}),
        ("prio --top", {"jobs": ["1"]}), ("edit", {"jobs": ["1"], "attributes": {"Site": "A"}}),
        ("edit", {"jobs": ["2"], "attributes": {"Owner": "ann"}}), ("edit", {"jobs": ["2"], "attributes": {}}),
        ("edit", {"jobs": ["2"], "attributes": {"AcctGroup": "physics"}}),
        ("rerun", {"jobs": ["2"], "failed": False}), ("rerun", {"jobs": None, "failed": 1}), ("rerun", {"jobs": ["2"]}),
        ("edit", {"jobs": ["2"], "attributes": {"Rank": "/Expr(1 +)/"}}),
        ("undo", {"number": 1}),
        ("userprio", {"edits": [{"kind": "delete", "name": "bob@lab", "value": None, "seconds": None}]}),
        ("finish", {"jobs": ["2"], "end": None, "exit_code": None}), ("negotiate", {}), ("hold", {}),
        ("hold", {"jobs": []}), ("hold", {"jobs": [2]}),
        ("hold", {"jobs": ["2"], "force": True}), ("hold", {"jobs": "2"}), ("undo", {"number": True}), ("undo", {}),
        ("prio", {"jobs": ["2"], "value": 1.5, "relative": False}),
        ("prio", {"jobs": ["2"], "value": 1, "relative": 0}),
        ("__class__", {}), ("hold", {"jobs": ["2", "2.0; rm"]}), ("userprio", {"edits": []}),
    ],
)  # fmt: skip
def test_what_others_may_not_changes_nothing(pool, verb, arguments):
    before = pool.state.read_bytes()
    with pytest.raises(FairqError):
        ask(pool, "bob", verb, **arguments)
    assert pool.state.read_bytes() == before


AD = {
    "MyType": "Job",
    "Cmd": "/bin/true",
    "RequestCpus": 1,
    "Requirements": "/Expr(TARGET.Cpus >= 1)/",
    "NiceUser": False,
}


def group(first=0, last=2, **changed):
    group = {"first": first, "last": last, "ad": 0, "own": None, "template": None, "priority": 0, "reason": None}
    return {**group, **changed}


def jobs_of(*groups, **ad):
    return {"ads": [{**AD, **ad}], "groups": list(groups) or [group()], "cluster": None}


def test_jobs_are_queued_as_the_asker(pool, run):
    out = {"Out": "out.$(ProcId)"}
    several = jobs_of(group(), group(3, 3, reason="later", priority=4), group(4, 9, own={"Args": "x"}, template=out))
    assert ask(pool, "bob", "submit", 1, **several) == {
        "cluster": 3, "jobs": 10, "warnings": [], "no_launcher": False,
    }  # fmt: skip
    ads = json.loads(run("--state", pool.state, "queue", "3", "--json").out)
    assert {(ad["Owner"], ad["User"]) for ad in ads} == {("bob", "bob@lab")}
    assert [ad["JobStatus"] for ad in ads] == [1] * 3 + [5] + [1] * 6
    assert ads[9]["Out"] == "out.9"
    assert ask(pool, "bob", "submit", 2, **{**jobs_of(), "cluster": 4})["cluster"] == 4
    assert ask(pool, "bob", "undo", 3, number=None)["change"]


@pytest.mark.parametrize(
    "wrong",
    [
        jobs_of(Owner="ann"), jobs_of(owner="ann"), jobs_of(User="ann@lab"), jobs_of(AccountingGroup="ann"),
        jobs_of(accountinggroup="ann"), jobs_of(AccountingGroup="fresh.bob"), jobs_of(AccountingGroup="bob@elsewhere"),
        jobs_of(JobStatus=2), jobs_of(ClusterId=1), jobs_of(RemoteHost="a"), jobs_of(CMD="/bin/false"),
        jobs_of(**{"a b": 1}), jobs_of(group(own={"cmd": "/bin/false"})),
        jobs_of(A=[1]), jobs_of(A={"B": 1}), jobs_of(A="\0"), jobs_of(A="x" * 70_000), jobs_of(A="/Expr(1 +)/"),
        jobs_of(A="/Expr(" + "(" * 500 + "1" + ")" * 500 + ")/"), jobs_of(group(1, 2)), jobs_of(group(0, -1)),
        jobs_of(group(), group(2, 4)), jobs_of(group(0, 2**31)), jobs_of(group(ad=1)), jobs_of(group(ad=-1)),
        jobs_of(group(more=1)), jobs_of(group(own={"Owner": "ann"})), jobs_of(group(own={"AccountingGroup": "ann"})),
        jobs_of(group(template={"AccountingGroup": "a$(ProcId)"})), jobs_of(group(template={"Out": "same"})),
        jobs_of(group(priority=2**40)), jobs_of(group(reason=1)), {**jobs_of(), "cluster": 9}, {**jobs_of(), "ads": []},
        {**jobs_of(), "groups": []}, {**jobs_of(), "owner": "ann"}, {"ads": [AD], "groups": [group()]},
        jobs_of(JobPrio=[1]), jobs_of(MyType={"Job": 1}),
    ],
)  # fmt: skip
def test_jobs_of_others_and_ads_of_another_form_are_refused(pool, wrong):
    before = pool.state.read_bytes()
    with pytest.raises(FairqError):
        ask(pool, "bob", "submit", **wrong)
    assert pool.state.read_bytes() == before


def test_a_request_that_comes_twice_is_fulfilled_once(pool):
    ask(pool, "bob", "prio", 9, jobs=["2"], value=1, relative=True)
    before = pool.state.read_bytes()
    with pytest.raises(RepeatedError):
        ask(pool, "bob", "prio", 9, jobs=["2"], value=1, relative=True)
    assert pool.state.read_bytes() == before


def test_a_repeat_that_meets_what_it_did_itself_is_recognised(pool):
    ask(pool, "bob", "remove", 8, jobs=["2.0"])
    with pytest.raises(RepeatedError):
        ask(pool, "bob", "remove", 8, jobs=["2.0"])


def test_a_thousand_mutilated_documents_do_nothing_but_what_they_may(pool):
    dice = random.Random(1)
    body = json.dumps(request("prio", jobs=["2"], value=1, relative=True)).encode()
    before = pool.state.read_bytes()
    for _ in range(1000):
        content = bytearray(body)
        for _ in range(dice.randint(1, 4)):
            index, kind = dice.randrange(len(content)), dice.randrange(3)
            if kind == 0:
                content[index] = dice.randrange(256)
            elif kind == 1:
                del content[index : index + dice.randint(1, 20)]
            else:
                content[index:index] = dice.choice(
                    [b"null", b"[", b"{}", b'"', b"1e9", b"-", b"\\u0000", b"true", b"ann", b"1"]
                )
        try:
            parsed = parse(bytes(content))
            make(pool, Actor("eve", "", NOW, administrator=False, request=(parsed.id, "x")), parsed)
        except FairqError:
            continue
        pytest.fail(f"eve has no jobs, but this was done: {bytes(content)!r}")
    assert pool.state.read_bytes() == before


def _places(value):
    """Yield every container in *value* with each of its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in list(keys):
        yield value, key
        yield from _places(value[key])


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("submit", jobs_of(group(own={"A": 1}), MyType="Job")), ("hold", {"jobs": ["2.0"]}),
        ("prio --top", {"jobs": ["2.0"]}), ("edit", {"jobs": ["2"], "attributes": {"RequestMemory": 9}}),
        ("prio", {"jobs": ["2"], "value": 1, "relative": True}), ("userprio", {"edits": [SETFACTOR]}),
        ("rerun", {"jobs": ["2"], "failed": False}),
        ("undo", {"number": 1}), ("finish", {"jobs": ["2"], "end": 1, "exit_code": 0}),
        ("slots add", {"slots": [{"name": "s@h", "ad": {"Name": "s@h", "Cpus": 1}, "address": "a"}]}),
        ("slots remove", {"names": ["s@h"], "force": False}),
        ("slots drain", {"names": ["s@h"], "schedule": "graceful"}), ("slots release", {"names": ["s@h"]}),
        ("pool pause", {"until": 1_900_000_000}), ("slots unreserve", {"numbers": [1]}),
        ("slots reserve", {"names": ["s@h"], "begin": NOW, "end": None, "users": ["a"], "groups": []}),
    ],
)  # fmt: skip
def test_whatever_an_argument_is_the_change_is_made_or_refused(pool, verb, arguments):
    serial = 100
    for container, key in list(_places(arguments)):
        usual = container[key]
        for other in [None, True, 1, -1, 2**40, 1.5, 1e300, "", "x", "\n", "9" * 5000, [], [[]], {}, {"a": [1]}]:
            container[key] = other
            with contextlib.suppress(FairqError):
                ask(pool, "ann", verb, serial, **arguments)
            serial += 1
        container[key] = usual


@pytest.mark.parametrize("forged", ["0", "", "-1", "1 ", "99999999999999", "root"])
def test_nobody_is_believed_without_sudo(forged):
    with pytest.raises(SurroundingsError):
        asker({"SUDO_UID": forged})
