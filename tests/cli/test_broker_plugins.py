"""Filters and weights of others: found by their entry points, heeded, and named when they are wrong."""

import importlib
import json
import sys
from pathlib import Path

import pytest
from tests.cli.broker_sample import NOW, fill

from fairq.steps.broker.plugins import FILTERS, WEIGHTS

HEAD = "from fairq.engine.brokerage.flow.plugin import *\n"


@pytest.fixture
def plugin(run, state, tmp_path, monkeypatch):
    """Install a distribution with some code and entry points where Python finds it, and run fairq with it."""
    fill(run, state, tmp_path)
    place = tmp_path / "site"
    monkeypatch.syspath_prepend(place)

    def plugin(code, *words, filters="", weights=""):
        info = place / "sample_plugin-1.0.dist-info"
        info.mkdir(parents=True, exist_ok=True)
        (place / "sample_plugin.py").write_text(HEAD + code)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: sample-plugin\nVersion: 1.0\n")
        points = [(FILTERS, filters), (WEIGHTS, weights)]
        (info / "entry_points.txt").write_text("".join(f"[{group}]\nmine = {one}\n" for group, one in points if one))
        importlib.invalidate_caches()
        return run("--state", state, "broker", *words)

    yield plugin
    sys.modules.pop("sample_plugin", None)


def brokered(ended):
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    return document["tasks"][0]["queues"], document["plugins"]


NIGHT = """
def rule(task, queue, world):
    return {"site": queue.site} if queue.site == "T2A" else None
night = per_queue("night", Reason("asleep", "the site sleeps", remedy="{site} wakes up"), rule, stage="night check")
"""

TRIPLE = 'triple = per_queue_weight("triple", lambda task, queue, world: 30.0 if queue.unit == "U8" else 1.0)\n'


def test_a_filter_takes_queues_out(plugin):
    line = ("run", 1, "--dry-run", "--json", "--now", NOW)
    assert brokered(plugin(NIGHT, *line)) == (["NUCLEUS_Q", "U8/SCORE"], [])
    assert brokered(plugin(NIGHT, *line, filters="sample_plugin:night")) == (["NUCLEUS_Q"], ["mine"])


def test_an_installation_that_registers_fairqs_own_changes_nothing(plugin):
    line = ("run", 1, "--dry-run", "--json", "--now", NOW)
    own = "fairq.engine.brokerage.production:FILTERS"
    assert brokered(plugin("", *line, filters=own)) == (["NUCLEUS_Q", "U8/SCORE"], [])


def test_its_stage_is_in_the_table(plugin):
    ended = plugin(NIGHT, "run", 1, "--dry-run", "--summary", "--now", NOW, filters="sample_plugin:night")
    assert "night check" in ended.out


def test_why_tells_its_reason_with_the_numbers_compared(plugin):
    ended = plugin(NIGHT, "why", 1, "--queue", "U8/SCORE", "--json", "--now", NOW, filters="sample_plugin:night")
    (queue,) = json.loads(ended.out)["queues"]
    assert (queue["stage"], queue["reason"], queue["meaning"]) == ("night check", "asleep", "the site sleeps")
    assert queue["compared"] == {"site": "T2A"}
    assert queue["change"] == "T2A wakes up"


def test_it_is_listed_in_its_place_with_where_it_came_from(plugin):
    ended = plugin(NIGHT, "filters", "--json", filters="sample_plugin:night")
    listed = [one for one in json.loads(ended.out) if one["activity"] == "production" and one["kind"] == "filter"]
    (night,) = (one for one in listed if one["origin"] == "mine")
    assert (night["name"], night["stage"], night["reasons"]) == ("night", "night check", ["asleep"])
    before = [one["name"] for one in listed[: listed.index(night)]]
    assert {"status", "memory", "pilots"} <= set(before)


def test_a_weight_changes_the_order(plugin):
    line = ("run", 1, "--dry-run", "--json", "--now", NOW)
    assert brokered(plugin(TRIPLE, *line, weights="sample_plugin:triple")) == (["U8/SCORE", "NUCLEUS_Q"], ["mine"])


@pytest.mark.parametrize(
    ("code", "point", "reason"),
    [
        ("", "no_such_module:x", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1/0", "sample_plugin:x", "ZeroDivisionError: division by zero"),
        ("x = 5", "sample_plugin:x", "5 is no filter"),
        ("x = Filter", "sample_plugin:x", "is no filter"),
        ("x = per_queue('memory', Reason('a', 'b'), lambda t, q, w: None)",
         "sample_plugin:x", "another plugin has the same name"),
        ("x = per_queue('x', Reason('a', 'b'), lambda t, q, w: 1 / 0)",
         "sample_plugin:x", "ZeroDivisionError"),
    ],
    ids=range(6),
)  # fmt: skip
def test_what_cannot_be_used_is_named_and_nothing_is_decided(plugin, state, code, point, reason):
    before = state.read_bytes()
    ended = plugin(code, "run", "--now", NOW, filters=point)
    assert (ended.code, ended.out) == (84, "")
    assert reason in ended.err
    assert "Traceback" not in ended.err
    assert state.read_bytes() == before


def test_a_weight_that_is_no_number_is_refused(plugin):
    code = 'x = per_queue_weight("x", lambda task, queue, world: float("nan"))'
    ended = plugin(code, "run", "--now", NOW, weights="sample_plugin:x")
    assert (ended.code, "gave something else than finite factors" in ended.err) == (84, True)


@pytest.mark.parametrize(("name", "most", "queues"), [("asleep", 5000, 2), ("crowd", 5000, 2), ("crowd", 0, 0)])
def test_the_examples_of_the_page_are_filters(plugin, name, most, queues):
    page = (Path(__file__).parent.parent.parent / "docs" / "brokerage.md").read_text()
    blocks = [block.partition("```")[0] for block in page.split("```python\n")[1:]]
    (code,) = (block for block in blocks if f"\n{name} = " in block or f"def {name}(" in block)
    line = ("run", 1, "--dry-run", "--json", "--now", NOW)
    found, _ = brokered(plugin(code.replace("5000", str(most)), *line, filters=f"sample_plugin:{name}"))
    assert len(found) == queues
