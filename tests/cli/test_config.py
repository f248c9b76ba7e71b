"""``fairq config``: looking at settings, changing them, checking them, taking them over."""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairq.settings.keys import KEYS

Run = Callable[..., Any]


@pytest.fixture
def config(run, tmp_path):
    """Run ``fairq --config FILE config ...``."""
    return lambda *words: run("--config", tmp_path / "c.toml", "config", *words)


@pytest.fixture
def file(tmp_path):
    """The settings file of the `config` fixture, with a setting of its own."""
    path = tmp_path / "c.toml"
    path.write_text("[accounting]\npriority_halflife = 60 # a minute\n")
    return path


def test_show_says_what_is_set_and_where(config, file):
    """With --origin: the file and line, the rules, or the default."""
    ended = config("show", "priority_halflife", "tie_break", "default_prio_factor", "--origin", "--csv")
    assert ended.out.splitlines() == [
        "name,value,origin",
        f"accounting.priority_halflife,60.0,{file}:2",
        "negotiator.tie_break,slot_name,rules documented",
        "accounting.default_prio_factor,1000.0,default",
    ]


def test_differences_lists_the_points_of_all_schemes_and_what_is_in_force(run, state):
    """Both values, the one in force and its origin; a point that is set itself wins over the rules."""
    Path(f"{state}.toml").write_text('[shares]\nrules = "dirac"\nsite_families = false\n')
    out = run("--state", state, "config", "show", "--differences").out.splitlines()
    assert out[0].startswith("negotiator.rules = documented, shares.rules = dirac, broker.rules = documented; ")
    lines = [line.split() for line in out[2:]]
    assert ["htcondor", "negotiator.preempt_prio_delta", "0.0", "off", "0.0", "rules", "documented"] in lines
    assert ["dirac", "shares.consolidation", "sum", "average", "average", "rules", "dirac"] in lines
    assert ["dirac", "shares.site_families", "false", "true", "false", f"{state}.toml:3"] in lines
    assert any(line[:2] == ["panda", "broker.throughput"] for line in lines)
    assert {line[1] for line in lines[1:]} == {key.full_name for key in KEYS if key.point}


def test_differences_as_json_say_what_text_and_program_do(run, state):
    """Of one table or setting, if that is asked for; other settings are no points."""
    records = json.loads(run("--state", state, "config", "show", "shares", "--differences", "--json").out)
    assert {record["name"] for record in records} == {
        key.full_name for key in KEYS if key.point and key.section == "shares"
    }
    assert all(record["text_says"] and record["program_function"] for record in records)
    (point,) = json.loads(run("config", "show", "shares.candidates", "--differences", "--json").out)
    assert (point["value"], point["documented"], point["program_value"]) == (None, "all", "10")
    none = run("config", "show", "priority_halflife", "--differences")
    assert (none.code, none.out, none.err) == (0, "", "no rule points\n")


def test_show_is_what_plain_config_does(run):
    """``fairq config`` alone shows."""
    assert run("config").out == run("config", "show").out


def test_show_takes_whole_tables_and_groups(config, file):
    """A table's name stands for all that is in it."""
    file.write_text("[groups.a]\nquota = 3\n[groups.'a.b']\nquota_dynamic = 0.5\n[limits]\nx = 1\n")
    assert [record["name"] for record in json.loads(config("show", "groups.A", "limits", "--json").out)] == [
        "groups.a.quota",
        "groups.a.b.quota_dynamic",
        "limits.x",
        "limits.default",
    ]


def test_show_json_has_values_of_their_types(config, file):
    """Numbers are numbers, unset is null, and a point tells both defaults."""
    first, second = json.loads(config("show", "priority_halflife", "uid_domain", "--json").out)
    assert (first["value"], second["value"]) == (60.0, None)
    (point,) = json.loads(config("show", "negotiator.floor_counts_usage", "--json").out)
    assert (point["value"], point["documented"], point["program_value"]) == (True, "true", "false")


GOT = {
    "by its full name": ("accounting.priority_halflife", "60.0\n"),
    "by its bare name": ("priority_halflife", "60.0\n"),
    "by the macro's name": ("PRIORITY_HALFLIFE", "60.0\n"),
    "a boolean": ("group_autoregroup", "false\n"),
    "a list": ("remove_significant_attributes", "CpusUsage, DiskUsage, GPUsUsage, MemoryUsage, ResidentSetSize\n"),
    "an unset one": ("uid_domain", "\n"),
    "an unset one of a group": ("groups.A.autoregroup", "\n"),
    "a group's": ("groups.a.quota", "3.0\n"),
}


@pytest.mark.parametrize(("name", "want"), GOT.values(), ids=GOT)
def test_get_prints_the_bare_value(config, file, name, want):
    """For scripts: the value and an end of line."""
    file.write_text(file.read_text() + "[groups.a]\nquota = 3\n")
    assert config("get", name).out == want


@pytest.mark.parametrize("name", ["nothing", "groups.a.quota", "groups.a", "limits.x", "accounting", ""])
def test_get_refuses_what_is_no_setting(config, file, name):
    """Also a group or a limit that nobody declared."""
    ended = config("get", name)
    assert (ended.code, ended.out) == (15, "")
    assert "is not a setting" in ended.err


def test_set_keeps_the_rest_of_the_file(config, file):
    """Comment and permissions stay; no other file is left behind."""
    file.chmod(0o640)
    assert config("set", "priority_halflife", "3600").code == 0
    assert config("set", "groups.physics.quota", "20").code == 0

    assert file.read_text() == ("[accounting]\npriority_halflife = 3600 # a minute\n\n[groups.physics]\nquota = 20\n")
    assert file.stat().st_mode & 0o777 == 0o640
    assert [path.name for path in file.parent.iterdir()] == ["c.toml"]


def test_set_goes_to_the_chosen_states_own_file(run, tmp_path):
    """--state pool.db: the settings lie in pool.db.toml, and count only with that state."""
    assert run("--state", tmp_path / "pool.db", "config", "set", "negotiator.rules", "htcondor").code == 0

    assert (tmp_path / "pool.db.toml").read_text() == '[negotiator]\nrules = "htcondor"\n'
    assert run("--state", tmp_path / "pool.db", "config", "get", "tie_break").out == "std_sort\n"
    assert run("config", "get", "tie_break").out == "slot_name\n"


def test_set_without_a_chosen_state_goes_to_the_users_file(run):
    """The folder is made if need be."""
    assert run("config", "set", "priority_halflife", "7").code == 0
    assert run("config", "get", "priority_halflife").out == "7.0\n"
    assert (Path(os.environ["XDG_CONFIG_HOME"]) / "fairq" / "fairq.toml").exists()


def test_set_follows_a_symbolic_link(config, file):
    """The link stays a link; the file behind it changes."""
    real = file.with_name("real.toml")
    file.rename(real)
    file.symlink_to(real)
    config("set", "priority_halflife", "5")
    assert file.is_symlink()
    assert "priority_halflife = 5" in real.read_text()


WRONG_SETS = {
    "an unknown key": (("prioritty_halflife", "3"), 15, "did you mean accounting.priority_halflife?"),
    "junk for a number": (
        ("priority_halflife", "1x"),
        16,
        "give a number of seconds or a duration such as 12h, at least 0.00001 (default 86400.0)",
    ),
    "a number out of range": (("priority_halflife", "-1"), 16, "at least 0.00001"),
    "a word that is no boolean": (("group_autoregroup", "yes"), 16, "give true or false"),
    "no expression": (("preemption_requirements", "(a"), 16, "give a ClassAd expression"),
    "a group without a parent": (("groups.a.b.quota", "3"), 17, "add [groups.a]"),
    "a group's key that is none": (("groups.a.slots", "3"), 15, "a group has quota"),
    "a missing value": (("priority_halflife",), 2, "missing argument"),
}


@pytest.mark.parametrize(("words", "code", "message"), WRONG_SETS.values(), ids=WRONG_SETS)
def test_a_wrong_set_changes_nothing(config, file, words, code, message):
    """One line on stderr, the exit code of the error, the file as before."""
    before = file.read_bytes()
    ended = config("set", "--", *words)
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (code, "", 1)
    assert message in ended.err.lower() if code == 2 else message in ended.err
    assert file.read_bytes() == before


def test_set_mends_a_wrong_value(config, file):
    """The file need only be right afterwards."""
    file.write_text("[negotiator]\nrules = 'new'\n")
    assert config("get", "negotiator.rules").code == 16
    assert config("set", "negotiator.rules", "htcondor").code == 0
    assert config("get", "negotiator.rules").out == "htcondor\n"


def test_set_refuses_what_is_no_file(run, tmp_path):
    """A device or a folder is never replaced."""
    ended = run("--config", "/dev/null", "config", "set", "negotiator.rules", "htcondor")
    assert ended.code == 13
    assert "not a regular file" in ended.err
    assert not Path("/dev/null").is_file()


def test_check_tells_every_problem(config, file):
    """A line for each, expressions included, and the exit code of the last."""
    file.write_text(
        "[accounting]\npriority_halflife = 0\nnonsense = 1\n"
        "[negotiator]\npreemption_rank = '(a'\n[groups.'a.b']\nquota = 1\n"
    )
    ended = config("check")
    assert ended.out == ""
    assert [line.split(" ")[1] for line in ended.err.splitlines()] == [
        f"{file}:2:",
        f"{file}:3:",
        f"{file}:6:",
        f"{file}:5:",
    ]
    assert ended.code == 16


def test_check_can_look_at_one_file(run, file):
    """Without using it."""
    assert run("config", "check", file).code == 0
    file.write_text("x")
    ended = run("config", "check", file)
    assert (ended.code, len(ended.err.splitlines())) == (14, 1)


def test_check_of_sound_settings_is_content(config, file):
    """It names what it looked at, as a note."""
    ended = config("check")
    assert (ended.code, ended.out, ended.err) == (0, "", f"no errors in {file}\n")
    assert config("check", "-q").err == ""


def test_check_tells_of_settings_without_effect(config, run, file):
    """They are no mistakes, but nobody is to rely on them; a pattern that is none is a mistake."""
    file.write_text("[negotiator]\nnegotiator_resource_request_list_size = 3\n")
    for ended in (config("check"), run("config", "check", file)):
        assert ended.code == 0
        assert "negotiator.negotiator_resource_request_list_size has no effect in this version" in ended.err

    file.write_text("[schedd]\nremove_significant_attributes_regex = '(['\n")
    assert config("check").code == 16


def test_path_shows_the_layers(run, tmp_path):
    """Which files are looked for, which exist, and where changes go."""
    state = tmp_path / "s.db"
    (tmp_path / "s.db.toml").touch()
    records = json.loads(run("--state", state, "config", "path", "--json").out)
    assert [(r["layer"], r["exists"], r["changes"]) for r in records] == [
        ("site", False, False),
        ("user", False, False),
        ("state", True, True),
    ]
    assert json.loads(run("--config", tmp_path / "x", "config", "path", "--json").out) == [
        {"layer": "--config", "path": str(tmp_path / "x"), "exists": False, "changes": True}
    ]


POOL = "GROUP_NAMES = a\nGROUP_QUOTA_a = 3\nUID_DOMAIN = x\nNEGOTIATOR_INTERVAL = 60\nX_LIMIT = 2\n"


def test_import_replaces_the_file_and_keeps_the_former(config, file, tmp_path):
    """The rules are HTCondor's from then on; what was not imported is told on stderr."""
    former = file.read_text()
    pool = tmp_path / "pool.conf"
    pool.write_text(POOL)

    ended = config("import", pool)

    assert ended.code == 0
    assert ended.out == (
        f"wrote {file} (the former one is {file}.bak): 2 settings, 1 group, 1 limit from 4 lines; 1 not imported\n"
    )
    assert ended.err == (
        f"{pool}:4: NEGOTIATOR_INTERVAL is not imported: no daemon: a cycle runs when fairq negotiate is called\n"
    )
    assert Path(f"{file}.bak").read_text() == former
    assert config("get", "negotiator.rules").out == "htcondor\n"
    assert config("get", "priority_halflife").out == "86400.0\n"


def test_import_says_as_json_what_it_did(config, tmp_path):
    """Counts, the document, and every line not imported with its reason."""
    (tmp_path / "pool.conf").write_text(POOL)
    summary = json.loads(config("import", tmp_path / "pool.conf", "--json").out)
    assert (summary["settings"], summary["groups"], summary["limits"], summary["lines"]) == (2, 1, 1, 4)
    assert [entry["name"] for entry in summary["not_taken"]] == ["NEGOTIATOR_INTERVAL"]


def test_import_dry_run_only_shows(config, file, tmp_path):
    """The document that it would write, and nothing written."""
    (tmp_path / "pool.conf").write_text(POOL)
    before = file.read_bytes()
    ended = config("import", tmp_path / "pool.conf", "--dry-run")
    assert '[negotiator]\nrules = "htcondor"\n' in ended.out
    assert (file.read_bytes(), Path(f"{file}.bak").exists()) == (before, False)


def test_import_reads_stdin(fairq, tmp_path):
    """``condor_config_val -dump | fairq config import -``."""
    ended = fairq("--config", tmp_path / "c.toml", "config", "import", "-", stdin="PRIORITY_HALFLIFE = 9\n")
    assert ended.code == 0
    assert "priority_halflife = 9\n" in (tmp_path / "c.toml").read_text()


@pytest.mark.parametrize(
    ("name", "code", "words"), [("missing", 13, "there is no such file"), (".", 13, "Is a directory")]
)
def test_import_of_no_file_is_refused(config, tmp_path, name, code, words):
    """The line names the file."""
    ended = config("import", tmp_path / name)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err


def test_a_dry_run_of_set_says_which_file_would_change_and_refuses_what_is_wrong(config, file):
    before = file.read_bytes()
    ended = config("set", "priority_halflife", "90", "--dry-run")
    assert (ended.code, ended.err) == (0, f"{file} would be changed\n")
    assert config("set", "priority_halflife", "soon", "--dry-run").code == 16
    assert file.read_bytes() == before


def test_set_takes_a_negative_number(config):
    """A value that begins with a minus is a value: here one out of range, and not an unknown option."""
    ended = config("set", "priority_halflife", "-5")
    assert (ended.code, "at least" in ended.err) == (16, True)
    assert config("set", "priority_halflife", "-.5", "--dry-run").code == 16


def test_settings_made_at_once_are_all_kept(tmp_path):
    """Several people's changes to one file at the same moment do not undo each other."""
    file = tmp_path / "pool.toml"
    started = [
        subprocess.Popen([sys.executable, "-m", "fairq", "--config", file, "config", "set", f"groups.g{n}.quota", "1"])
        for n in range(8)
    ]
    assert [process.wait() for process in started] == [0] * 8
    assert len(tomllib.loads(file.read_text())["groups"]) == 8


@pytest.mark.parametrize(
    ("attribute", "told"),
    [('Launch="local"', True), ("Rack=3", False)],
    ids=["a pool that runs its jobs", "a pool that only matches"],
)
def test_import_says_what_whole_slots_cost_a_pool_that_runs_its_jobs(run, state, tmp_path, attribute, told):
    (tmp_path / "pool.conf").write_text("PRIORITY_HALFLIFE = 60\n")
    assert run("--state", state, "slots", "add", "m", "--partitionable", "--attribute", attribute).code == 0
    ended = run("--state", state, "config", "import", tmp_path / "pool.conf")
    assert ("one job per machine at a time" in ended.err and '"carve"' in ended.err) is told


def test_import_knows_the_launcher_that_the_former_settings_had(run, state, tmp_path):
    (tmp_path / "pool.conf").write_text("PRIORITY_HALFLIFE = 60\n")
    run("--state", state, "config", "set", "launch.kind", "local")
    ended = run("--state", state, "config", "import", tmp_path / "pool.conf", "--dry-run")
    assert "one job per machine at a time" in ended.err
    run("--state", state, "config", "import", tmp_path / "pool.conf")
    run("--state", state, "config", "set", "launch.kind", "local")
    slot = [{"MyType": "Machine", "Name": "slot1@m", "PartitionableSlot": True, "Cpus": 4, "Memory": 9, "Disk": 9}]
    (tmp_path / "slots.json").write_text(json.dumps(slot))
    ended = run("--state", state, "import", "--slots", tmp_path / "slots.json")
    assert "one job per machine at a time" in ended.err
    run("--state", state, "config", "set", "partitionable_slots", "carve")
    ended = run("--state", state, "import", "--slots", tmp_path / "slots.json")
    assert "one job per machine at a time" not in ended.err
