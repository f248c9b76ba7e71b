"""``fairq config unset`` takes a setting or a group out of its file; ``config set`` takes any value as typed."""

from pathlib import Path

import pytest

TEXT = """\
# our pool
[accounting]
priority_halflife = 3600 # an hour

[groups.physics] # the largest
quota = 20
# of the year
accept_surplus = true

[groups.physics.hep]
quota = 15

[negotiator]
preemption_rank = "0"
"""


@pytest.fixture
def file(state):
    file = Path(f"{state}.toml")
    file.write_text(TEXT)
    return file


@pytest.fixture
def config(run, state):
    return lambda *words: run("--state", state, "config", *words)


def test_a_setting_goes_back_to_its_default(config, file):
    """The rest of the file stays, comments included."""
    ended = config("unset", "priority_halflife")
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert file.read_text() == TEXT.replace("priority_halflife = 3600 # an hour\n", "")
    assert config("get", "priority_halflife").out == "86400.0\n"


def test_a_groups_setting(config, file):
    assert config("unset", "groups.Physics.quota").code == 0
    assert file.read_text() == TEXT.replace("quota = 20\n", "")


def test_a_group_goes_with_all_its_settings(config, file):
    """A group above others stays until they are gone."""
    ended = config("unset", "groups.physics")
    assert (ended.code, file.read_text()) == (17, TEXT)
    assert "group 'physics' has subgroups; unset groups.physics.hep first" in ended.err
    assert config("unset", "groups.physics.hep").code == 0
    assert config("unset", "groups.physics").code == 0
    assert file.read_text() == (
        '# our pool\n[accounting]\npriority_halflife = 3600 # an hour\n\n[negotiator]\npreemption_rank = "0"\n'
    )


def test_the_last_group_leaves_no_empty_table(config, file):
    file.write_text("[groups.a]\nquota = 1\n")
    assert config("unset", "groups.a").code == 0
    assert file.read_text().strip() == ""


def test_what_the_file_does_not_set_is_no_change(config, file):
    ended = config("unset", "uid_domain")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"no changes: {file} does not set uid_domain\n"
    assert config("unset", "-q", "uid_domain").err == ""
    file.unlink()
    assert "no changes" in config("unset", "uid_domain").err


def test_another_layer_that_still_sets_it_is_named(config, file, monkeypatch):
    monkeypatch.setenv("FAIRQ_NEGOTIATOR_PREEMPTION_RANK", "5")
    ended = config("unset", "preemption_rank")
    assert ended.err == "negotiator.preemption_rank is still 5, set by $FAIRQ_NEGOTIATOR_PREEMPTION_RANK\n"


def test_a_dry_run_leaves_the_file_alone(config, file):
    ended = config("unset", "--dry-run", "groups.physics.hep")
    assert (ended.code, ended.err) == (0, f"{file} would be changed\n")
    assert file.read_text() == TEXT


@pytest.mark.parametrize("name", ["halflive", "groups.chemistry", "groups", "accounting"])
def test_what_is_no_setting_is_refused(config, file, name):
    ended = config("unset", name)
    assert (ended.code, ended.out) == (15, "")
    assert ended.err.startswith(f"fairq: config unset: {name} is not a setting; ")


@pytest.mark.parametrize("value", ["-5", "-RemoteUserPrio", "-1.5e3", "--x"])
def test_a_value_may_begin_with_a_dash(config, file, value):
    for words in (["preemption_rank", value], ["-v", "preemption_rank", value], ["preemption_rank", value, "-q"]):
        file.write_text("")
        assert config("set", *words).code == 0
        assert config("get", "preemption_rank").out == f"{value}\n"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("negotiator.rule", "negotiator.rules"),
        ("broker.rule", "broker.rules"),
        ("shares.rulse", "shares.rules"),
        ("negotiator.priority_halflife", "accounting.priority_halflife"),
        ("launch.slurm.acount", "launch.slurm.account"),
        ("accounting.uid", "accounting.uid_domain"),
        ("uid.domain", "accounting.uid_domain"),
        ("halflife", "accounting.priority_halflife"),
    ],
)
def test_the_nearest_name_is_looked_for_in_the_named_table_first(config, name, meant):
    assert f"did you mean {meant}?" in config("get", name).err


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("accounting.groups.physics.quota", "groups.physics.quota"),
        ("group.physics.hep.quota", "groups.physics.hep.quota"),
        ("physics.qouta", "groups.physics.quota"),
        ("quota", "groups.NAME.quota"),
        ("GROUP_QUOTA_physics.hep", "groups.physics.hep.quota"),
        ("group_quota_dynamic_physics", "groups.physics.quota_dynamic"),
        ("negotiator.GROUP_PRIO_FACTOR_Physics", "groups.Physics.prio_factor"),
        ("lhcb_user.job_share", "shares.groups.lhcb_user.job_share"),
        ("limit.matlab", "limits.matlab"),
        ("MATLAB_LIMIT", "limits.matlab"),
        ("CONCURRENCY_LIMIT_DEFAULT", "limits.default"),
        ("CONCURRENCY_LIMIT_DEFAULT_lic", "limits.default_lic"),
    ],
)
def test_a_setting_of_a_group_or_a_limit_is_found_however_it_is_written(config, name, meant):
    assert config("set", name, "1").err.endswith(f"did you mean {meant}?\n")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("NEGOTIATOR_INTERVAL", "a cycle runs when fairq negotiate is called"),
        ("START", "slot ads contain what a startd decides"),
        ("GROUP_NAMES", "a group exists as soon as it has a setting"),
        ("shares.x", "'fairq config show shares' lists them"),
        ("decay", "'fairq config show' lists them"),
    ],
)
def test_what_has_no_counterpart_gets_no_strange_neighbour(config, name, words):
    ended = config("set", name, "1")
    assert words in ended.err
    assert "did you mean" not in ended.err


@pytest.mark.parametrize(
    "name", ["negotiator_pre_job_rank", "negotiator_post_job_rank", "preemption_rank", "preemption_requirements"]
)
def test_an_empty_expression_is_no_preference(run, state, name):
    """No quotes within quotes; the next cycle matches without it."""
    assert run("--state", state, "config", "set", f"negotiator.{name}", "").code == 0
    assert run("--state", state, "config", "show", f"negotiator.{name}", "--af", "value").out == "undefined\n"
    assert run("--state", state, "slots", "add", "node").code == 0
    assert run("--state", state, "submit", "--", "/bin/true").code == 0
    assert "1 match " in run("--state", state, "negotiate").out


def test_a_slot_weight_is_never_empty(run, state):
    """Without a weight there would be no pie."""
    assert run("--state", state, "config", "set", "negotiator.slot_weight", "").code == 16


@pytest.mark.parametrize("group", ['"physics.hep"', "'physics.hep'", 'physics."hep"', "physics.hep"])
def test_a_group_may_be_named_as_its_table_in_the_file(config, file, group):
    """The quotes of TOML are no part of the name."""
    assert (config("set", f"groups.{group}.quota", "7").code, "quota = 7" in file.read_text()) == (0, True)
    assert config("get", f"groups.{group}.quota").out == "7.0\n"
    assert "7" in config("show", f"groups.{group}").out
    assert config("unset", f"groups.{group}.quota").code == 0
    assert config("unset", f"groups.{group}").code == 0
    assert "hep" not in file.read_text()


@pytest.mark.parametrize("name", ['#"', 'groups."physics.quota', 'groups."a"b.quota', 'groups."a.quota\\"'])
def test_a_quote_that_is_not_closed_is_no_name(config, file, name):
    ended = config("set", name, "7")
    assert "its quotes are not closed as in TOML" in ended.err
    assert (ended.code, file.read_text()) == (config("set", "no.such", "7").code, TEXT)
