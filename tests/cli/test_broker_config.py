"""``fairq broker config``: PanDA's own settings, their names and defaults."""

import json
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def config(run, state):
    """Run ``broker config``."""

    def config(*words):
        return run("--state", state, "broker", "config", *words)

    return config


def of(config, name):
    (found,) = json.loads(config("list", name, "--json").out)
    return found


def test_every_setting_is_shown_with_pandas_default(config):
    found = {one["name"]: one for one in json.loads(config("--json").out)}
    assert found["jobbroker.NQUEUED_SAT_CAP"]["default"] == 150
    assert found["jobbroker.NW_ACTIVE"]["value"] is False
    assert found["prio_mgr.CAP_RUNNING_USER_JOBS"]["value"] is None
    assert {one["set"] for one in found.values()} == {None}


def test_a_setting_is_set_and_unset_with_or_without_its_component(config):
    assert config("set", "NQUEUED_SAT_CAP", "99").out == "jobbroker.NQUEUED_SAT_CAP is 99\n"
    assert of(config, "jobbroker.NQUEUED_SAT_CAP")["value"] == 99
    assert config("unset", "jobbroker.NQUEUED_SAT_CAP").code == 0
    assert of(config, "NQUEUED_SAT_CAP")["value"] == 150


def test_a_family_goes_on_with_an_ending(config):
    config("set", "NQUEUELIMITSITE_User Analysis", "7")
    assert of(config, "jobbroker.NQUEUELIMITSITE_User Analysis")["value"] == 7
    assert "jobbroker.NQUEUELIMITSITE_User Analysis" in config("list").out


def test_where_zero_means_the_default_the_default_is_shown_to_hold(config):
    config("set", "jobbroker.STORAGE_MIN_FREE_SIZE", "0")
    found = of(config, "jobbroker.STORAGE_MIN_FREE_SIZE")
    assert (found["set"], found["value"]) == (0, 200)


def test_gdpconfig_is_imported_and_what_no_brokerage_reads_is_named(config, tmp_path):
    file = tmp_path / "gdp.json"
    rows = [
        {"app": "jedi", "component": "jobbroker", "key": "NW_ACTIVE", "value": "True", "type": "boolean"},
        {"app": "jedi", "component": "taskrefiner", "key": "THINGS", "value": "abc", "type": "string"},
    ]
    file.write_text(json.dumps(rows))
    ended = config("import", file)
    assert (ended.code, ended.out) == (0, "config: 2 imported, 2 of them new\n")
    assert "(setting 'taskrefiner'): is a setting that the brokerage does not read" in ended.err
    assert of(config, "NW_ACTIVE")["value"] is True


def test_changes_are_in_the_history(config, run, state):
    config("set", "NW_ACTIVE", "true", "--now", "1700000000")
    (entry,) = json.loads(run("--state", state, "state", "history", "--json").out)
    assert (entry["subject"], entry["after"]) == ("broker config jobbroker.NW_ACTIVE", "true")
