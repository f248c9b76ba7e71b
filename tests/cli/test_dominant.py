"""Dominant weights on the command line: what each command names, and what refuses a wrong price."""

import json

import pytest

NOW = 1_795_000_000


@pytest.fixture
def fairq(run, state):
    def call(*words):
        return run("--state", state, *words, "--now", NOW)

    for words in (
        ["slots", "add", "cpu", "--cpus", "9", "--memory", "18GB", "--partitionable"],
        ["submit", "--count", "5", "--cpus", "1", "--mem", "4GB", "--accounting-group-user", "A", "--", "/bin/true"],
        ["submit", "--count", "5", "--cpus", "3", "--mem", "1GB", "--accounting-group-user", "B", "--", "/bin/true"],
    ):
        ended = call(*words)
        assert ended.code == 0, ended.err
    return call


def test_every_command_names_the_dominant_resource(fairq, monkeypatch):
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_SLOT_WEIGHT", "dominant")
    cycle = json.loads(fairq("negotiate", "--json").out)

    assert {name.partition("@")[0]: of for name, of in cycle["dominant"].items()} == {"A": "Memory", "B": "Cpus"}
    assert [(match["dominant"], match["weight"]) for match in cycle["matches"]].count(("Memory", 2)) == 3
    report = {ad["Name"][0]: ad for ad in json.loads(fairq("userprio", "--json").out)}
    assert report["A"]["DominantResource"] == "Memory" and report["A"]["WeightedResourcesUsed"] == 6
    assert "most of it Cpus" in fairq("why", "B").out
    assert "Its dominant resource is Memory: it weighs as much as 2 cores of the pool." in fairq("why", "1.4").out


def test_without_dominant_weights_nothing_is_named(fairq):
    assert "dominant" not in fairq("negotiate", "--json").out.lower()
    assert "dominant" not in fairq("userprio", "--json").out.lower()
    assert "dominant" not in fairq("why", "1.4", "--json").out.lower()


@pytest.mark.parametrize("price", ["GPUs == 8", "GPUs = 0", "GPUs = 8 if (", "= 3", "GPUs = 1e99"])
def test_a_wrong_price_is_refused_in_use_in_the_check_and_when_it_is_set(fairq, run, state, monkeypatch, price):
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_RESOURCE_PRICES", json.dumps([price]))

    ended = fairq("negotiate")

    assert ended.code and "resource_prices" in ended.err and "GPUs = 8 if" in ended.err
    assert ended.err.count("\n") == 1
    checked = run("--state", state, "config", "check")
    assert (checked.code, checked.err) == (ended.code, ended.err)
    monkeypatch.delenv("FAIRQ_NEGOTIATOR_RESOURCE_PRICES")
    assert run("--state", state, "config", "set", "negotiator.resource_prices", json.dumps([price])).code == ended.code
    assert not fairq("negotiate").code


@pytest.mark.usefixtures("fairq")
def test_a_resource_that_no_slot_has_is_noted_in_the_check(run, state, monkeypatch):
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_SLOT_WEIGHT", "dominant")
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_DOMINANT_RESOURCES", "Memory,Tape")
    noted = run("--state", state, "config", "check").err
    assert "no slot has the resource Tape; correct or remove it" in noted and "resource Memory" not in noted
