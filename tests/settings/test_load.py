"""Settings come from layers, each value is checked, and every error says how to mend it."""

import subprocess
import sys
from pathlib import Path

import pytest

import fairq
from fairq.errors.base import (
    SettingsFileError,
    SettingsGroupError,
    SettingsSyntaxError,
    SettingValueError,
    UnknownSettingError,
)
from fairq.settings import GroupSettings, load
from fairq.settings.key import HTCONDOR
from fairq.settings.keys import KEYS, SINGLE
from fairq.settings.layers import site_file
from fairq.settings.model import UPLOADS
from fairq.steps.taskqueues import policy as share_policy

EXAMPLE = """\
[accounting]
priority_halflife = 86400          # seconds
default_prio_factor = 1000.0
nice_user_prio_factor = 1.0e10
remote_prio_factor = 1.0e7
uid_domain = "example.org"
[negotiator]
rules = "documented"               # or "htcondor"
quota_model = "hierarchical"       # or "flat", the old scheme
preemption_requirements = "..."    # a ClassAd expression
negotiator_pre_job_rank = "..."
negotiator_allow_quota_oversubscription = false
group_accept_surplus = false       # for all groups; a group's own accept_surplus wins
[groups.group_physics]
quota = 20
accept_surplus = false
autoregroup = false
prio_factor = 1.0
[groups."group_physics.hep"]
quota_dynamic = 0.75
"""


@pytest.fixture
def given(tmp_path):
    """Load a document as the file of --config, with variables."""

    def given(text="", **variables):
        file = tmp_path / "given.toml"
        file.write_text(text)
        return load(file, None, variables)

    return given


def test_the_designs_example_loads_as_it_stands(given):
    """Values have the types of the table, and a group's quota may be a whole number."""
    settings = given(EXAMPLE)

    assert settings["accounting.priority_halflife"] == 86400.0
    assert settings["accounting.uid_domain"] == "example.org"
    assert settings["negotiator.quota_model"] == "hierarchical"
    assert settings.groups == {
        "group_physics": GroupSettings("group_physics", 20.0, None, 1.0, False, False),
        "group_physics.hep": GroupSettings("group_physics.hep", None, 0.75),
    }
    assert settings.groups["group_physics.hep"].parent == "group_physics"


def test_without_any_file_everything_has_its_default():
    """Nothing set: the documented rules, HTCondor's factors, no groups, no concurrency limit in the way."""
    settings = load(None, None, {})

    assert settings["negotiator.rules"] == "documented"
    assert settings["accounting.default_prio_factor"] == 1000.0
    assert settings["schedd.schedd_enable_per_user_match_limits"] is False
    assert settings["schedd.max_concurrent_uploads_per_user"] == 20
    assert settings["negotiator.negotiator_slot_constraint"] is None
    assert settings.groups == {}
    assert settings.limits == {"default": 2308032.0}


POINTS = [
    ("accounting.remove_idle_records", True, False),
    ("accounting.count_preempted", False, True),
    ("negotiator.tie_break", "slot_name", "std_sort"),
    ("negotiator.floor_counts_usage", True, False),
    ("negotiator.preempt_prio_delta", 0.0, None),
    ("negotiator.match_claimed_idle", False, True),
    ("negotiator.preempt_only_to_share", True, False),
    ("negotiator.borrowed_first", True, False),
    ("negotiator.limit_reasons_add_up", False, True),
    ("negotiator.limits_of_slots_stay", False, True),
    ("negotiator.count_slots_outside", True, False),
    ("negotiator.count_unusable_slots", False, True),
    ("negotiator.static_ranks", False, True),
    ("negotiator.remote_group_at_once", True, False),
    ("negotiator.partitionable_slots", "carve", "whole"),
    ("negotiator.negotiator_allow_quota_oversubscription", False, True),
    ("negotiator.integer_group_limits", False, True),
    ("negotiator.remainders_as_computed", False, True),
    ("negotiator.hard_group_caps", True, False),
    ("negotiator.live_group_caps", True, False),
    ("negotiator.regroup_keeps_quota", True, False),
    ("negotiator.report_job", "job", "request"),
    ("negotiator.pie_slices", "max_min", "pool_share"),
    ("negotiator.last_dealing", True, False),
    ("negotiator.skip_by", "cluster", "autocluster"),
    ("negotiator.ads_per_job_priority", False, True),
    ("negotiator.resources_in_use", "slots", "weight"),
    ("negotiator.negotiator_cross_slot_prios", True, False),
    ("negotiator.strict_priority_quotas", True, False),
    ("schedd.job_order", "submission_time", "job_id"),
    ("accounting.exact_usage", True, False),
    ("accounting.edits_at_their_time", True, False),
]


@pytest.mark.parametrize(("name", "documented", "htcondor"), POINTS)
def test_the_rules_decide_the_points_and_a_key_of_its_own_wins(given, name, documented, htcondor):
    """The default of a point follows negotiator.rules; whoever sets the point itself gets that."""
    assert given()[name] == documented
    assert given('[negotiator]\nrules = "htcondor"')[name] == htcondor
    assert str(given('[negotiator]\nrules = "htcondor"').origin(name)) == "rules htcondor"

    section, _, key = name.partition(".")
    text = '"off"' if documented is None else repr(documented).lower().replace("'", '"')
    other = f'[negotiator]\nrules = "htcondor"\n[{section}]\n{key} = {text}\n'
    if section == "negotiator":
        other = f'[negotiator]\nrules = "htcondor"\n{key} = {text}\n'
    assert given(other)[name] == documented


def test_every_point_is_tested_here():
    """The table of points above is the table of keys'."""
    own = {key.full_name for key in KEYS if key.point and key.scheme is HTCONDOR}
    assert {name for name, _, _ in POINTS} == own


def test_the_site_file_is_the_first_there_is(tmp_path, monkeypatch):
    """A desktop puts a directory of its own before /etc/xdg."""
    monkeypatch.setenv("XDG_CONFIG_DIRS", f"{tmp_path}/desktop:{tmp_path}/xdg")
    assert site_file() == tmp_path / "desktop" / "fairq" / "fairq.toml"
    (tmp_path / "xdg" / "fairq").mkdir(parents=True)
    (tmp_path / "xdg" / "fairq" / "fairq.toml").write_text("[pool]\nundo_kept = 7\n")
    assert load(None, None, {})["pool.undo_kept"] == 7


def test_later_layers_win_key_by_key(tmp_path, monkeypatch):
    """Site, user, the state's own file, a variable: the last one that says something counts."""
    site, user = tmp_path / "site" / "fairq", tmp_path / "user" / "fairq"
    monkeypatch.setenv("XDG_CONFIG_DIRS", str(site.parent))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user.parent))
    site.mkdir(parents=True)
    user.mkdir(parents=True)
    state = tmp_path / "pool.db"
    (site / "fairq.toml").write_text(
        "[accounting]\npriority_halflife = 1\ndefault_prio_factor = 1\nremote_prio_factor = 1\n"
        "nice_user_prio_factor = 1\n[groups.Physics]\nquota = 1\nautoregroup = true\n"
    )
    (user / "fairq.toml").write_text(
        "[accounting]\npriority_halflife = 2\ndefault_prio_factor = 2\nremote_prio_factor = 2\n"
        "[groups.physics]\nquota = 2\n"
    )
    (tmp_path / "pool.db.toml").write_text("[accounting]\npriority_halflife = 3\ndefault_prio_factor = 3\n")
    variables = {"FAIRQ_ACCOUNTING_PRIORITY_HALFLIFE": "4"}

    settings = load(None, state, variables)

    names = ["priority_halflife", "default_prio_factor", "remote_prio_factor", "nice_user_prio_factor"]
    assert [settings[f"accounting.{name}"] for name in names] == [4, 3, 2, 1]
    assert [str(settings.origin(f"accounting.{name}")) for name in names] == [
        "$FAIRQ_ACCOUNTING_PRIORITY_HALFLIFE",
        f"{state}.toml:3",
        f"{user}/fairq.toml:4",
        f"{site}/fairq.toml:5",
    ]
    assert settings.groups == {"Physics": GroupSettings("Physics", quota=2, autoregroup=True)}
    assert load(None, None, {})["accounting.priority_halflife"] == 2


def test_config_is_read_alone(tmp_path):
    """With --config, and with FAIRQ_CONFIG, neither the state's file nor another one counts."""
    state = tmp_path / "s"
    (tmp_path / "s.toml").write_text("[accounting]\npriority_halflife = 3\n")
    first, second = tmp_path / "one.toml", tmp_path / "two.toml"
    first.write_text("[accounting]\ndefault_prio_factor = 1\n")
    second.write_text("[accounting]\ndefault_prio_factor = 2\n")

    assert load(first, state, {"FAIRQ_CONFIG": str(second)})["accounting.default_prio_factor"] == 1
    assert load(None, state, {"FAIRQ_CONFIG": str(second)})["accounting.default_prio_factor"] == 2
    assert load(first, state, {})["accounting.priority_halflife"] == 86400


VARIABLES = [
    ("FAIRQ_NEGOTIATOR_RULES", "htcondor", "negotiator.rules", "htcondor"),
    ("FAIRQ_NEGOTIATOR_NEGOTIATOR_USE_SLOT_WEIGHTS", "False", "negotiator.negotiator_use_slot_weights", False),
    ("FAIRQ_NEGOTIATOR_PREEMPT_PRIO_DELTA", "off", "negotiator.preempt_prio_delta", None),
    ("FAIRQ_NEGOTIATOR_NEGOTIATOR_PRE_JOB_RANK", "Memory", "negotiator.negotiator_pre_job_rank", "Memory"),
    ("FAIRQ_SCHEDD_SIGNIFICANT_ATTRIBUTES", "A, b C", "schedd.significant_attributes", ("A", "b", "C")),
    ("FAIRQ_SCHEDD_MAX_CONCURRENT_UPLOADS", "50", "schedd.max_concurrent_uploads_per_user", 10),
    ("FAIRQ_LIMITS_LICENSE", "3", "limits.license", 3.0),
]


@pytest.mark.parametrize(("variable", "text", "name", "want"), VARIABLES)
def test_a_variable_sets_a_setting(variable, text, name, want):
    """FAIRQ_<SECTION>_<KEY> wins over all files, its text read by the type of the key."""
    assert load(None, None, {variable: text})[name] == want
    assert load(None, None, {variable: ""})["negotiator.rules"] == "documented"  # empty counts as not there


SPELLINGS = {
    "an expression may be a bare boolean": ("[negotiator]\npreemption_requirements = false", "false"),
    "an expression may be a bare number": ("[negotiator]\npreemption_requirements = 0", "0"),
    "the empty text unsets an expression": ("[negotiator]\npreemption_requirements = ''", None),
}


@pytest.mark.parametrize(("text", "want"), SPELLINGS.values(), ids=SPELLINGS)
def test_expressions_may_be_written_shorter(given, text, want):
    """What is an expression anyway needs no quotes."""
    assert given(text)["negotiator.preemption_requirements"] == want


def test_dotted_names_need_no_quotes(given):
    """A table in a group's table is its child; limits with a dot likewise."""
    settings = given("[groups.a]\nquota = 3\n[groups.a.b]\nquota = 2\n[limits]\ndb.x = 5\nDefault_db = 9\ndefault = 1")

    assert {name: group.quota for name, group in settings.groups.items()} == {"a": 3, "a.b": 2}
    assert settings.limits == {"db.x": 5, "default_db": 9, "default": 1}
    assert settings["groups.a.b.quota"] == 2


REFUSED = {
    "a mistyped key gets the nearest": (
        "[accounting]\npriority_halflive = 3", UnknownSettingError, "did you mean accounting.priority_halflife?"),
    "a key in the wrong table gets the right one": (
        "[accounting]\ntie_break = 'slot_name'", UnknownSettingError, "did you mean negotiator.tie_break?"),
    "a key outside any table gets its table": (
        "priority_halflife = 3", UnknownSettingError, "did you mean priority_halflife under [accounting]?"),
    "a mistyped table gets the nearest": ("[acounting]\n", UnknownSettingError, "did you mean [accounting]?"),
    "a strange table gets the list": ("[network]\n", UnknownSettingError, "[limits]"),
    "upper case is another name": (
        "[accounting]\nPRIORITY_HALFLIFE = 3", UnknownSettingError, "did you mean accounting.priority_halflife?"),
    "a group's mistyped key gets the nearest": ("[groups.a]\nqouta = 3", UnknownSettingError, "groups.a.quota?"),
    "a macro of a group gets its setting": ("GROUP_QUOTA_a = 3", UnknownSettingError, "did you mean groups.a.quota?"),
    "a text is no number": ("[accounting]\npriority_halflife = '1x'", SettingValueError, "a duration such as 12h, at"),
    "true is no number": ("[accounting]\npriority_halflife = true", SettingValueError, "default 86400.0"),
    "nan is no number": ("[accounting]\npriority_halflife = nan", SettingValueError, "give a number"),
    "infinity is no number": ("[accounting]\ndefault_prio_factor = inf", SettingValueError, "give a number"),
    "a fraction is no whole number": (
        "[schedd]\nmax_concurrent_uploads = 1.5", SettingValueError, "give a whole number, at least 0"),
    "a number may be too large for 64 bits": (
        f"[schedd]\nmax_concurrent_uploads = {10**30}", SettingValueError, "give a whole number"),
    "a half-life of nothing": ("[accounting]\npriority_halflife = 0", SettingValueError, "at least 0.00001"),
    "too many rounds": (
        "[negotiator]\ngroup_quota_max_allocation_rounds = 2000000000", SettingValueError, "1 to 1000000000"),
    "1 is no boolean": ("[negotiator]\ngroup_accept_surplus = 1", SettingValueError, "give true or false"),
    "rules that are none": (
        "[negotiator]\nrules = 'upstream'", SettingValueError, 'give "documented" or "htcondor"'),
    "a list of numbers": ("[schedd]\nsignificant_attributes = [1]", SettingValueError, "give a list of names"),
    "a domain of two words": ("[accounting]\nuid_domain = 'a b'", SettingValueError, "a text without white space"),
    "a date": ("[accounting]\npriority_halflife = 2026-01-01", SettingValueError, "give a number"),
    "a delta below 0": ("[negotiator]\npreempt_prio_delta = -1", SettingValueError, 'at least 0, or "off"'),
    "a dynamic quota above 1": (
        "[groups.a]\nquota_dynamic = 1.01", SettingValueError, "a number or a percentage, 0 to 1"),
    "a negative quota": ("[groups.a]\nquota = -1", SettingValueError, "0 to 2147483647"),
    "a negative limit": ("[limits]\nlicense = -1", SettingValueError, "at least 0"),
    "a group without a parent": ("[groups.'a.b']\nquota = 1", SettingsGroupError, "add [groups.a]"),
    "a group twice in two spellings": (
        "[groups.a]\nquota = 1\n[groups.A]\nquota = 2", SettingsGroupError, "also as 'a'"),
    "a group that is a value": ("[groups]\na = 3", SettingsGroupError, "write [groups.a]"),
    "a group twice in two forms": (
        "[groups.a]\nquota = 3\n[groups.a.b]\nquota = 1\n[groups.'a.b']\nquota = 2", SettingsGroupError,
        "'a.b' stands here twice, also as [groups."),
    "the group of nobody": ("[groups.'<none>']\nquota = 1", SettingsGroupError, "everybody who is in no other"),
    "a group without a name": ("[groups.'']\nquota = 1", SettingsGroupError, "cannot be called so"),
    "a group that rings": ('[groups."a\\u0007"]\nquota = 1', SettingsGroupError, "cannot be called so"),
    "a group with an empty part": ("[groups.'a..b']\nquota = 1", SettingsGroupError, "cannot be called so"),
    "no TOML": ("[accounting\n", SettingsSyntaxError, "given.toml:1:12: not valid TOML"),
    "no TOML at the end": ("[accounting]\nx = ", SettingsSyntaxError, "given.toml:2:"),
    "a key twice": ("[limits]\na = 1\na = 2", SettingsSyntaxError, "given.toml:3:6:"),
    "a number of thousands of digits": ("[limits]\na = " + "9" * 5000, SettingsFileError, "thousands of digits"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "words"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_file_is_refused(given, text, kind, words):
    """One line that names the file, the key, and what would be right."""
    with pytest.raises(kind) as refused:
        given(text)

    message = str(refused.value)
    assert words in message
    assert "given.toml" in message
    assert "\n" not in message


def test_an_error_names_the_line(given):
    """The line of a wrong key is that in the file, whatever stands before it."""
    text = '# [accounting]\n[negotiator]\ngroup_sort_expr = """\nrules = 3\n"""\n\nrules = "x"\n'
    with pytest.raises(SettingValueError, match=r"given.toml:7: negotiator.rules = 'x'"):
        given(text)


UNREADABLE = {
    "a file that is not there": ("missing.toml", "there is no such file"),
    "a folder": (".", "Is a directory"),
    "a binary file": ("binary.toml", "not a text file in UTF-8"),
}


@pytest.mark.parametrize(("name", "words"), UNREADABLE.values(), ids=UNREADABLE)
def test_an_unreadable_file_is_refused(tmp_path, name, words):
    """A file named by --config must be there and be text."""
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SettingsFileError, match=words):
        load(tmp_path / name, None, {})


WRONG_VARIABLES = {
    "a mistyped key": ("FAIRQ_ACCOUNTING_PRIORITY_HALFLIVE", "3", UnknownSettingError, "priority_halflife"),
    "a wrong value": ("FAIRQ_NEGOTIATOR_RULES", "new", SettingValueError, "$FAIRQ_NEGOTIATOR_RULES: negotiator.rules"),
    "a group": ("FAIRQ_GROUPS_A_QUOTA", "3", UnknownSettingError, "groups are set in files only"),
}


@pytest.mark.parametrize(("variable", "text", "kind", "words"), WRONG_VARIABLES.values(), ids=WRONG_VARIABLES)
def test_a_wrong_variable_is_refused(variable, text, kind, words):
    """A variable that begins like a setting but is none would else be ignored in silence."""
    with pytest.raises(kind) as refused:
        load(None, None, {variable: text})
    assert words in str(refused.value)


def test_other_variables_of_fairq_do_no_harm():
    """FAIRQ_STATE and the like are no settings."""
    load(None, None, {"FAIRQ_STATE": "x", "FAIRQ_DEBUG": "1", "FAIRQ_OTHER_THING": "1"})


def test_the_key_table_is_consistent():
    """Every setting's default is a value it accepts, and no name or macro stands for two settings."""
    from fairq.settings.values import from_text, from_toml, to_text, to_toml

    for key in SINGLE.values():
        for default in {repr(value): value for value in (key.default, key.default_under(key.scheme.real))}.values():
            if default is None and key.type == "integer":
                continue  # follows from another setting
            assert from_toml(key, to_toml(key, default)) == default, key.full_name
            assert from_text(key, to_text(key, default)) == default, key.full_name
    names = [key.name for key in SINGLE.values() if key.name != "rules"]
    macros = [macro for key in KEYS for macro in key.macros]
    assert len(set(names)) == len(names)
    assert len(set(macros)) == len(macros)


def test_the_default_expressions_are_expressions():
    """What is used when nothing is set parses."""
    from fairq.engine.classad import parse

    for key in SINGLE.values():
        if key.type == "expression" and key.default is not None:
            parse(key.default)


def test_loading_settings_imports_nothing_heavy(tmp_path):
    """Every command loads the settings, so that must not pull in NumPy, the ClassAd library or Rich."""
    (tmp_path / "x.toml").write_text(EXAMPLE)
    program = (
        "import sys; from pathlib import Path; from fairq.settings import load; "
        f"load(Path({str(tmp_path / 'x.toml')!r}), None, {{}}); "
        "heavy = {'numpy', 'classad2', 'htcondor2', 'rich', 'typer', 'tomli_w', 'platformdirs'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def test_every_setting_is_read_or_said_to_have_no_effect():
    """A key that no code asks for says so itself, and one that is asked for does not.

    max_concurrent_uploads only sets the default of another one.
    """
    package = Path(fairq.__file__).parent
    code = "".join(file.read_text() for file in package.rglob("*.py") if file.parent.name != "settings")
    policy = (package / "engine" / "negotiation" / "policy.py").read_text()
    unread = {key.full_name for key in KEYS if not key.is_pattern and f'"{key.full_name}"' not in code}
    by_name = {key.full_name for key in KEYS if f'"{key.name.rpartition(".")[2]}"' in code or f"{key.name}:" in policy}
    by_rules = {f"shares.{point}" for point in share_policy.POINTS}

    assert unread - by_name - by_rules - {UPLOADS} == {key.full_name for key in KEYS if key.without_effect}
