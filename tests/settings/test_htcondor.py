"""HTCondor's configuration is read as HTCondor reads it, and nothing of it is lost in silence."""

import tarfile
from collections.abc import Callable

import pytest
from tests.golden.archive import ARCHIVE

from fairq.errors.base import HTCondorConfigError, SettingsFileError, SettingValueError
from fairq.settings import load
from fairq.steps.config import ImportedConfig, SettingsFiles, import_config

Import = Callable[..., ImportedConfig]


@pytest.fixture
def imported(tmp_path):
    """Import a configuration text into a settings file of its own."""

    def imported(text, **environ):
        file = tmp_path / "pool.conf"
        file.write_text(text)
        return import_config(SettingsFiles(tmp_path / "out.toml", None, environ), [str(file)])

    return imported


def setting(result, name):
    return load(result.file, None, {})[name]


def reasons(result):
    """Where and why, by name, with the line number instead of the place."""
    return {entry.name: f"{entry.where.rpartition(':')[2]}: {entry.why}" for entry in result.not_taken}


HALF = "accounting.priority_halflife"
RANK = "negotiator.negotiator_pre_job_rank"
ATTRIBUTES = "schedd.significant_attributes"

READ = {
    "a plain number": ("PRIORITY_HALFLIFE = 3600", HALF, 3600),
    "names in any case": ("Priority_HalfLife=3600", HALF, 3600),
    "a number as an expression": ("PRIORITY_HALFLIFE = 60 * 60", HALF, 3600),
    "a number in scientific notation": ("PRIORITY_HALFLIFE = 1e30", HALF, 1e30),
    "a continued line": ("PRIORITY_HALFLIFE = \\\n   3600", HALF, 3600),
    "a comment does not continue": ("# one \\\nPRIORITY_HALFLIFE = 3600", HALF, 3600),
    "a comment among continued lines": ("SIGNIFICANT_ATTRIBUTES = A, \\\n# x \\\n B", ATTRIBUTES, ("A", "B")),
    "the last one counts": ("PRIORITY_HALFLIFE = 1\nPRIORITY_HALFLIFE = 2", HALF, 2),
    "a macro": ("H = 60\nPRIORITY_HALFLIFE = $(H) * 60", HALF, 3600),
    "a macro defined later": ("PRIORITY_HALFLIFE = $(H)\nH = 60", HALF, 60),
    "a macro's default": ("PRIORITY_HALFLIFE = $(H:60)", HALF, 60),
    "a macro in a macro's default": ("G = 3\nPRIORITY_HALFLIFE = $(H:$(G))", HALF, 3),
    "a macro in a macro": ("A = $(B)\nB = $(C:1)0\nPRIORITY_HALFLIFE = $(A)", HALF, 10),
    "a macro of HTCondor's own": ("PRIORITY_HALFLIFE = $(HOUR)", HALF, 3600),
    "a macro in a name": ("X = HALFLIFE\nPRIORITY_$(X) = 3", HALF, 3),
    "a reference to itself": (
        "SIGNIFICANT_ATTRIBUTES = A\nSIGNIFICANT_ATTRIBUTES = $(SIGNIFICANT_ATTRIBUTES), B", ATTRIBUTES, ("A", "B")),
    "a first reference to itself": ("SIGNIFICANT_ATTRIBUTES = $(SIGNIFICANT_ATTRIBUTES) B", ATTRIBUTES, ("B",)),
    "a reference to HTCondor's default": (
        "NEGOTIATOR_PRE_JOB_RANK = 2 * ($(NEGOTIATOR_PRE_JOB_RANK))", RANK,
        "2 * ((10000000 * My.Rank) + (1000000 * (RemoteOwner =?= UNDEFINED)) - (100000 * Cpus) - Memory)"),
    "an addition": ("SIGNIFICANT_ATTRIBUTES = A\nSIGNIFICANT_ATTRIBUTES += B", ATTRIBUTES, ("A", "B")),
    "an addition with a separator": (
        "NEGOTIATOR_SLOT_CONSTRAINT = A\nNEGOTIATOR_SLOT_CONSTRAINT +&&= B", "negotiator.negotiator_slot_constraint",
        "A && B"),
    "a value of several lines": ("NEGOTIATOR_PRE_JOB_RANK @=end\n a +\n b\n@end", RANK, "a +\nb"),
    "an environment variable": ("ACCOUNTING_DOMAIN = $ENV(DOMAIN)", "accounting.accounting_domain", "x.org"),
    "a missing environment variable's default": (
        "ACCOUNTING_DOMAIN = $ENV(NONE:y)", "accounting.accounting_domain", "y"),
    "a dollar sign": ("NEGOTIATOR_PRE_JOB_RANK = \"$(DOLLAR)\"", RANK, '"$"'),
    "the negotiator's own macro": ("NEGOTIATOR.PRIORITY_HALFLIFE = 5\nPRIORITY_HALFLIFE = 6", HALF, 5),
    "the negotiator's own, from the general one": (
        "PRIORITY_HALFLIFE = 6\nNEGOTIATOR.PRIORITY_HALFLIFE = $(PRIORITY_HALFLIFE) * 2", HALF, 12),
    "the schedd's own macro": (
        "SCHEDD.SCHEDD_ENABLE_PER_USER_MATCH_LIMITS = True", "schedd.schedd_enable_per_user_match_limits", True),
    "true in any case": ("NEGOTIATOR_DEPTH_FIRST = TRUE", "negotiator.negotiator_depth_first", True),
    "1 is true": ("NEGOTIATOR_DEPTH_FIRST = 1", "negotiator.negotiator_depth_first", True),
    "a comparison is a boolean": ("NEGOTIATOR_DEPTH_FIRST = 1 > 2 || 3 > 2", "negotiator.negotiator_depth_first", True),
    "an obsolete colon": ("PRIORITY_HALFLIFE : 5", HALF, 5),
    "an old name": ("GROUP_DYNAMIC_MACH_CONSTRAINT = True", "negotiator.negotiator_slot_poolsize_constraint", "True"),
    "an expression set to nothing is unset": (
        "PREEMPTION_REQUIREMENTS =", "negotiator.preemption_requirements", None),
    "a rank set to nothing ranks all alike": ("NEGOTIATOR_PRE_JOB_RANK =", RANK, "0"),
    "a concurrency limit": ("LICENSE_LIMIT = 3", "limits.license", 3),
    "a concurrency limit with a dot": ("db.X_LIMIT = 3", "limits.db.x", 3),
    "the limits' default": ("CONCURRENCY_LIMIT_DEFAULT = 4", "limits.default", 4),
    "the default of some limits": ("CONCURRENCY_LIMIT_DEFAULT_DB = 4", "limits.default_db", 4),
    "a bracketed line is a comment": ("[x]\nPRIORITY_HALFLIFE = 5", HALF, 5),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name", "want"), READ.values(), ids=READ)
def test_a_macro_becomes_its_setting(imported, text, name, want):
    """The setting has the value that HTCondor would use."""
    assert setting(imported(text, DOMAIN="x.org"), name) == want


CONDITIONS = {
    "true": True, "false": False, "1": True, "0": False, "0.5": True, "yes": True, "F": False, "! true": False,
    "version >= 8.9": True, "version > 8.9.7": True, "version < 8.9": False, "version == 8.9": False,
    "defined A": True, "defined B": False, "! defined B": True, "defined EMPTY": False, "$(A)": True, "$(B)": False,
    "defined PRIORITY_HALFLIFE": True,
}  # fmt: skip


@pytest.mark.parametrize(("condition", "want"), CONDITIONS.items())
def test_conditions_choose_the_block(imported, condition, want):
    """If, and else with it, as HTCondor decides its simple conditions."""
    text = f"A = 1\nEMPTY =\nif {condition}\n PRIORITY_HALFLIFE = 10\nelse\n PRIORITY_HALFLIFE = 20\nendif\n"
    assert setting(imported(text), HALF) == (10 if want else 20)


def test_conditions_nest_and_only_the_first_true_part_counts(imported):
    """Blocks in blocks that are left out stay out, whatever their own conditions."""
    result = imported(
        "if false\n if true\n  PRIORITY_HALFLIFE = 1\n else\n  PRIORITY_HALFLIFE = 2\n endif\n"
        "elif true\n PRIORITY_HALFLIFE = 3\nelif true\n PRIORITY_HALFLIFE = 4\nelse\n PRIORITY_HALFLIFE = 5\nendif\n"
    )
    assert setting(result, HALF) == 3
    assert not result.not_taken


def test_a_condition_that_is_not_understood_is_reported_and_its_block_left_out(imported):
    """Neither part of it is taken: nobody knows which holds."""
    text = "UID_DOMAIN = x\nif $(UID_DOMAIN) == y\n PRIORITY_HALFLIFE = 1\nelse\n PRIORITY_HALFLIFE = 2\nendif"
    result = imported(text)

    assert reasons(result) == {"if $(UID_DOMAIN) == y": "2: condition not understood; skipped up to its endif"}
    assert setting(result, HALF) == 86400


GROUPS = """\
GROUP_NAMES = physics, Physics.HEP chem,chem
GROUP_NAMES = $(GROUP_NAMES), bio.x
GROUP_QUOTA_PHYSICS = 20
GROUP_QUOTA_physics.hep = 15
GROUP_QUOTA_DYNAMIC_chem = 0.25
GROUP_ACCEPT_SURPLUS = True
GROUP_ACCEPT_SURPLUS_chem = False
GROUP_AUTOREGROUP_physics = True
GROUP_PRIO_FACTOR_chem = 8
GROUP_QUOTA_bio.x = 3
GROUP_QUOTA_nobody = 3
"""


def test_groups_are_those_of_group_names(imported):
    """Macros count in any case; a group nobody named, without a parent, or named twice is reported."""
    result = imported(GROUPS)

    settings = load(result.file, None, {})
    assert {name: (g.quota, g.quota_dynamic, g.prio_factor, g.accept_surplus, g.autoregroup)
            for name, g in settings.groups.items()} == {
        "chem": (None, 0.25, 8, False, None),
        "physics": (20, None, None, None, True),
        "Physics.HEP": (15, None, None, None, None),
    }  # fmt: skip
    assert settings["negotiator.group_accept_surplus"] is True
    assert reasons(result) == {
        "group chem": "2: listed twice",
        "group bio.x": "2: its parent bio is missing",
        "GROUP_QUOTA_bio.x": "10: bio.x is not in GROUP_NAMES",
        "GROUP_QUOTA_nobody": "11: nobody is not in GROUP_NAMES",
    }


NOT_TAKEN = {
    "what only a daemon needs": ("NEGOTIATOR_INTERVAL = 60", "no daemon: a cycle runs when fairq negotiate is called"),
    "where HTCondor keeps its records": ("ACCOUNTANT_DATABASE_FILE = x", "all data is in the state file"),
    "what a startd decides": ("START = True", "slot ads contain what a startd decides"),
    "another daemon's own": ("STARTD.SLOT_WEIGHT = Memory", "it applies to the startd only"),
    "a misspelling": ("DEFAULT_PRIO_FACTR = 3", "unknown macro; did you mean DEFAULT_PRIO_FACTOR?"),
    "another negotiator's": (
        "NEGOTIATOR_GPU.PRIORITY_HALFLIFE = 5", "only to the negotiator with the local name NEGOTIATOR_GPU"),
    "groups of another negotiator": (
        "NEGOTIATOR_GPU.GROUP_NAMES = a", "only to the negotiator with the local name NEGOTIATOR_GPU"),
    "a quota of another negotiator": (
        "negotiator_x.GROUP_QUOTA_a = 5", "only to the negotiator with the local name negotiator_x"),
    "a limit of another negotiator": ("NEGOTIATOR2.SW_LIMIT = 5", "negotiator with the local name NEGOTIATOR2"),
    "a daemon with another name": ("X.SLOT_WEIGHT = 5", "only to the daemon with the local name X"),
    "groups for a daemon that reads none": ("STARTD.GROUP_NAMES = a", "it applies to the startd only"),
    "a group's quota for every negotiator": ("NEGOTIATOR.GROUP_QUOTA_a.b = 5", "a.b is not in GROUP_NAMES"),
    "a stranger": ("COLOUR = green", "unknown macro"),
    "a metaknob": ("use ROLE : Personal", "metaknobs are not expanded"),
    "an include": ("include : /etc/x.conf", "includes are not followed; import that file as well"),
    "a value set again": ("PRIORITY_HALFLIFE = 1\nPRIORITY_HALFLIFE = 2", "set again at"),
    "a macro that is defined elsewhere": ("UID_DOMAIN = $(FULL_HOSTNAME)", "it needs $(FULL_HOSTNAME), which"),
    "a function": ("UID_DOMAIN = $BASENAME(x)", "it needs $BASENAME(...)"),
    "a number that is empty": ("PRIORITY_HALFLIFE =", "it is empty; the default applies"),
    "what only looks like a limit": ("SKY_LIMIT = blue", "not a number, so it is not a concurrency limit"),
    "an old name beside the new": (
        "HFS_MAX_ALLOCATION_ROUNDS = 2\nGROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 3", "QUOTA_MAX_ALLOCATION_ROUNDS wins"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), NOT_TAKEN.values(), ids=NOT_TAKEN)
def test_every_line_not_taken_over_is_reported(imported, text, why):
    """With its place, its name, and why."""
    (entry,) = imported("DEFAULT_PRIO_FACTOR = 5\n" + text).not_taken

    assert why in entry.why
    assert entry.where.endswith("pool.conf:2")
    assert entry.name in text


@pytest.mark.parametrize(
    "name", ["OLD_PRIORITY_HALFLIFE", "SLOT_WEIGHT_TEST", "SLOT_WEIGHT2", "NEGOTIATOR_PRE_JOB_RANK_X", "MY_GROUP_NAMES"]
)
def test_a_name_of_somebody_s_own_is_taken_for_no_misspelling(imported, name):
    (entry,) = imported(f"DEFAULT_PRIO_FACTOR = 5\n{name} = 3").not_taken
    assert "did you mean" not in entry.why


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("PRIORITY_HALFLIFE = $INT(H)\nH = 3600 * 24", 86400),
        ("H = 2.9\nPRIORITY_HALFLIFE = $INT(H)", 2),
        ("PRIORITY_HALFLIFE = $INT(7 / 2)", 3),
        ("H = 10\nPRIORITY_HALFLIFE = $INT($(H) + 5, %05d)", 15),
        ("PRIORITY_HALFLIFE = $REAL(1 / 4.0)", 0.25),
        ("PRIORITY_HALFLIFE = 1$INT(H,%03d)\nH = 5", 1005),
        ("PRIORITY_HALFLIFE = $RANDOM_INTEGER(60, 120)", 60),
        ("LOW = 50\nPRIORITY_HALFLIFE = $RANDOM_INTEGER($(LOW), 2 * $(LOW), 10)", 50),
        ("PRIORITY_HALFLIFE = $RANDOM_CHOICE(70,80)", 70),
    ],
)
def test_functions_of_macros_are_computed_and_draws_take_the_least(imported, text, value):
    result = imported(text)
    assert setting(result, "accounting.priority_halflife") == value
    assert not result.not_taken


@pytest.mark.parametrize(
    "function",
    ["$INT(no number)", "$INT(5, %s)", "$INT(5, %999999d)", "$RANDOM_INTEGER(5)", "$RANDOM_INTEGER(9, 3)", "$F(x)"],
)
def test_a_function_that_cannot_be_computed_is_told(imported, function):
    (entry,) = imported(f"DEFAULT_PRIO_FACTOR = 5\nPRIORITY_HALFLIFE = {function}").not_taken
    assert entry.why == f"it needs {function.partition('(')[0]}(...), which is not known here"


def test_a_macro_that_only_serves_others_is_not_reported(imported):
    """Its value went into the setting, or into a condition."""
    assert not imported("H = 60\nOLD = 1\nif $(OLD)\nPRIORITY_HALFLIFE = $(H)\nendif").not_taken


REFUSED = {
    "junk for a number": ("PRIORITY_HALFLIFE = abc", SettingValueError,
        "pool.conf:1: PRIORITY_HALFLIFE = 'abc' is not valid; give a number, at least 0.00001 (default 86400.0)"),
    "a number out of range": ("GROUP_QUOTA_MAX_ALLOCATION_ROUNDS = 0", SettingValueError,
        "1 to 1000000000 (default 3)"),
    "an infinite number": ("PRIORITY_HALFLIFE = 1e999", SettingValueError, "give a number"),
    "a quota out of range": (
        "GROUP_NAMES = a\nGROUP_QUOTA_DYNAMIC_a = 2", SettingValueError, "pool.conf:2: GROUP_QUOTA_DYNAMIC_a = '2'"),
    "junk for a boolean": ("GROUP_AUTOREGROUP = yes", SettingValueError, "give true or false (default false)"),
    "no expression": ("PREEMPTION_RANK = (a", SettingValueError, "PREEMPTION_RANK = '(a' is not valid"),
    "a negative limit": ("LICENSE_LIMIT = -1", SettingValueError, "at least 0"),
    "a line that is none": ("PRIORITY_HALFLIFE 3", HTCondorConfigError, "pool.conf:1: this is not NAME = value"),
    "a strange name": ("A-B = 3", HTCondorConfigError, "'A-B' cannot be a macro's name"),
    "an if without an end": ("\nif true", HTCondorConfigError, "pool.conf:2: this if has no endif"),
    "an endif without an if": ("endif", HTCondorConfigError, "endif without an if"),
    "an else after an else": ("if 1\nelse\nelse\nendif", HTCondorConfigError, "else after else"),
    "a value without its end": ("A @=end\nb", HTCondorConfigError, "this value has no end; add a line @end"),
    "a circle": ("A = $(B)\nB = $(A)\nUID_DOMAIN = $(A)", HTCondorConfigError, "refers to itself"),
    "an explosion": (
        f"A0 = {'x' * 99}\n" + "".join(f"A{n} = $(A{n - 1})$(A{n - 1})\n" for n in range(1, 40)) + "X_LIMIT = $(A39)",
        HTCondorConfigError, "macros expand to more than"),
    "an abyss": (
        "A0 = x" + "".join(f"\nA{n} = $(A{n - 1})" for n in range(1, 2000)) + "\nUID_DOMAIN = $(A1999)",
        HTCondorConfigError, "nested too deep"),
    "a file that refuses itself": ("error : do not use", HTCondorConfigError, "stops the import here: do not use"),
    "an ini file": ("[mail]\nserver = x\nuser = y", HTCondorConfigError, "is it HTCondor configuration?"),
    "a binary file": ("\0\1\2", SettingsFileError, "is not a text file"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "words"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_configuration_changes_nothing(imported, tmp_path, text, kind, words):
    """One line says where and what; the settings file is as before."""
    (tmp_path / "out.toml").write_text("# mine\n")
    with pytest.raises(kind) as refused:
        imported(text)

    assert words in str(refused.value)
    assert (tmp_path / "out.toml").read_text() == "# mine\n"
    assert not (tmp_path / "out.toml.bak").exists()


def test_several_files_are_one_configuration(tmp_path):
    """Later files win, and may use the macros of earlier ones."""
    first, second = tmp_path / "one", tmp_path / "two"
    first.write_text("H = 60\nPRIORITY_HALFLIFE = 1\nDEFAULT_PRIO_FACTOR = 5\n")
    second.write_text("PRIORITY_HALFLIFE = $(H)\n")

    result = import_config(SettingsFiles(tmp_path / "out.toml", None, {}), [str(first), str(second)])

    assert setting(result, HALF) == 60
    assert setting(result, "accounting.default_prio_factor") == 5
    assert [(entry.where, entry.why) for entry in result.not_taken] == [(f"{first}:2", f"set again at {second}:1")]


def test_every_golden_configuration_is_taken_over_whole(tmp_path):
    """Each line of each recorded pool becomes a setting, and its expressions stay letter by letter."""
    count = 0
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            if not member.name.endswith("pool.conf"):
                continue
            stream = archive.extractfile(member)
            assert stream is not None
            text = stream.read().decode()
            (tmp_path / "pool.conf").write_text(text)
            result = import_config(SettingsFiles(tmp_path / "out.toml", None, {}), [str(tmp_path / "pool.conf")])
            assert not result.not_taken, member.name
            assert result.taken == len([line for line in text.splitlines() if line.strip()]), member.name
            assert setting(result, "negotiator.rules") == "htcondor"
            count += 1
    assert count >= 100


def test_macros_without_effect_are_taken_and_told(imported):
    """What this version does nothing with is kept in the file, but nobody is led to believe in it."""
    result = imported("NEGOTIATOR_RESOURCE_REQUEST_LIST_SIZE = 50\nPRIORITY_HALFLIFE = 10\n")

    assert setting(result, "negotiator.negotiator_resource_request_list_size") == 50
    assert not result.not_taken
    (entry,) = result.without_effect
    assert entry.name == "NEGOTIATOR_RESOURCE_REQUEST_LIST_SIZE"
    assert entry.where.endswith(":1")
