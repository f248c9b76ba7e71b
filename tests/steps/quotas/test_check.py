"""``fairq quotas check``: every oddity of a configuration of groups, one line each with its cure."""

import json
from pathlib import Path

import pytest

NOW = 1_795_200_000

HTCONDOR = '[negotiator]\nrules = "htcondor"\n'
FLAT = '[negotiator]\nquota_model = "flat"\n'
LONG = "a" * 41


@pytest.fixture
def check(run, state, tmp_path):
    """Check a configuration; return group and kind of each oddity."""

    def check(text, name="groups.toml"):
        file = tmp_path / name
        file.write_text(text)
        ended = run("--state", state, "quotas", "check", file, "--json")
        found = [(one["group"], one["oddity"]) for one in json.loads(ended.out)]
        assert ended.code == (1 if found else 0), ended.err
        return found

    return check


@pytest.fixture
def slots(run, state):
    def add(count):
        assert run("--state", state, "slots", "add", "node", "--count", count, "--memory", "1GB").code == 0

    return add


@pytest.fixture
def submit(run, state, monkeypatch):
    def submit(*words):
        monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "test")
        ended = run("--state", state, "submit", *words, "--now", NOW, "--", "/bin/true")
        assert ended.code == 0, ended.err

    return submit


def table(**groups):
    """Return tables of groups; the dots of a name are written as two underscores."""
    return "".join(f'[groups."{name.replace("__", ".")}"]\n{keys}\n' for name, keys in groups.items())


SOUND = {
    "the manual's example": table(physics="quota = 20", physics__hep="quota = 15", physics__lep="quota = 5",
                                  chemistry="quota = 10"),
    "fractions that sum to 1": table(a="quota_dynamic = 0.33333", b="quota_dynamic = 0.66667"),
    "a quota of 0 on purpose": table(a="quota = 0\naccept_surplus = true"),
    "a fraction of a slot, where limits are not cut": table(a="quota = 7.5"),
    "surplus among nested groups, without oversubscription": table(
        a="quota = 3\naccept_surplus = true", a__b="quota = 2\naccept_surplus = true"),
    "oversubscription without surplus": HTCONDOR + table(a="quota = 3", a__b="quota = 2"),
    "no groups": "",
    "the flat model with a name of 40 letters": FLAT + table(**{"a" * 40: "quota = 3"}),
}  # fmt: skip


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_nothing_is_odd_about_a_sound_configuration(check, text):
    assert check(text) == []


ODD = {
    "children above their parent": (
        table(physics="quota = 20", physics__hep="quota = 15", physics__lep="quota = 8"),
        [("physics", "children above parent")]),
    "fractions above 1": (
        table(a="quota_dynamic = 0.7", b="quota_dynamic = 0.7"), [("<none>", "fractions above 1")]),
    "fractions above 1 within a group": (
        table(a="quota = 3", a__b="quota_dynamic = 1", a__c="quota_dynamic = 0.1"),
        [("a", "fractions above 1")]),
    "statics that leave nothing to fractions": (
        table(a="quota = 3", a__b="quota = 3", a__c="quota_dynamic = 0.5"), [("a", "nothing left")]),
    "no quota": (table(a="", a__b="quota_dynamic = 1"), [("a", "no quota")]),
    "two quotas": (table(a="quota = 2\nquota_dynamic = 0.9"), [("a", "two quotas")]),
    "surplus that is counted twice": (
        HTCONDOR + table(p="quota = 20", p__hep="quota = 15\naccept_surplus = true", p__lep="quota = 5"),
        [("p", "surplus counted twice")]),
    "surplus for all that is counted twice": (
        HTCONDOR + "group_accept_surplus = true\n" + table(p="quota = 20", p__hep="quota = 15"),
        [("p", "surplus counted twice")]),
    "regroup beside surplus": (
        HTCONDOR + table(a="quota = 2\nautoregroup = true", b="quota = 2\naccept_surplus = true"),
        [("<none>", "regroup and surplus")]),
    "a quota of which a part is cut": (HTCONDOR + table(a="quota = 7.5"), [("a", "cut")]),
    "a quota that is cut to nothing": (HTCONDOR + table(a="quota = 0.5"), [("a", "cut")]),
    "a part of a slot where every slot counts 1": (
        "[negotiator]\nnegotiator_use_slot_weights = false\n"
        + table(a="quota = 3.3", b="quota = 3.3\naccept_surplus = true"), [("a", "cut")]),
    "names beyond 40 letters in the flat model": (FLAT + table(**{LONG: "quota = 3"}), [(LONG, "long name")]),
    "levels in the flat model": (FLAT + table(a="quota = 3", a__b="quota = 1"), [("a.b", "nested")]),
    "no quota in the flat model": (FLAT + table(a="quota = 0"), [("a", "no quota")]),
    "surplus in the flat model": (FLAT + table(a="quota = 1\naccept_surplus = true"), [("a", "flat surplus")]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "found"), ODD.values(), ids=ODD)
def test_an_oddity_is_found(check, text, found):
    assert check(text) == found


@pytest.mark.parametrize("setting", ["negotiator_use_slot_weights = false\n", 'quota_model = "flat"\n'])
def test_an_error_of_rounding_cuts_no_quota(check, slots, setting):
    """29 % of a hundred slots are 29, unless remainders count as computed."""
    slots(100)
    groups = table(a="quota_dynamic = 0.29", b="quota_dynamic = 0.71")

    assert check(f"[negotiator]\n{setting}{groups}") == []
    assert check(f"[negotiator]\nremainders_as_computed = true\n{setting}{groups}") == [("a", "cut")]


class TestBesideThePool:
    """What is odd only about quotas in a pool of that size."""

    def test_statics_above_the_pool(self, check, slots):
        slots(15)
        assert check(table(physics="quota = 20", chemistry="quota = 10")) == [("<none>", "above the pool")]

    def test_statics_that_fill_the_pool(self, check, slots):
        slots(30)
        quotas = table(physics="quota = 20", chemistry="quota = 10", rest="quota_dynamic = 1")
        assert check(quotas) == [("<none>", "nothing left")]
        assert check(table(physics="quota = 20", chemistry="quota = 10")) == []

    def test_children_above_a_fraction(self, check, slots):
        slots(10)
        assert check(table(a="quota_dynamic = 0.5", a__b="quota = 6")) == [("a", "children above parent")]

    def test_fractions_that_are_cut(self, check, slots):
        """Of 100 slots 0.29 is, as computers count, a little less than 29."""
        slots(100)
        assert check(HTCONDOR + table(a="quota_dynamic = 0.29", b="quota_dynamic = 0.25")) == [("a", "cut")]

    def test_fractions_that_the_flat_model_cuts(self, check, slots):
        slots(10)
        assert check(FLAT + table(a="quota_dynamic = 0.33")) == [("a", "cut")]


class TestBesideTheUsers:
    """What is odd only in view of who has jobs."""

    def test_groups_that_nobody_uses(self, check, submit):
        """Whoever is in a group uses those above it, too."""
        submit("--accounting-group", "a.b", "--accounting-group-user", "ann")
        quotas = table(a="quota = 9", a__b="quota = 2", a__c="quota = 2", d="quota = 1")
        assert check(quotas) == [("a.c", "unused"), ("d", "unused")]

    def test_a_group_used_in_the_past_is_used(self, run, check, state):
        run("--state", state, "userprio", "-setaccum", "a.ann@test", "60")
        assert check(table(a="quota = 9")) == []

    def test_a_group_named_like_a_user(self, run, check, state, tmp_path):
        """The jobs of ann.lee, who asks for no group, count for the group ann all the same."""
        job = {"ClusterId": 1, "ProcId": 0, "JobStatus": 1, "Owner": "ann.lee", "User": "ann.lee@test"}
        (tmp_path / "jobs.json").write_text(json.dumps([job]))
        assert run("--state", state, "import", "--jobs", tmp_path / "jobs.json", "--now", NOW).code == 0
        assert check(table(ann="quota = 9")) == [("ann", "named like a user")]

    def test_a_group_named_just_as_a_user(self, check, submit):
        submit("--accounting-group", "Bob", "--accounting-group-user", "ann")
        submit("--accounting-group-user", "bob")
        assert check(table(Bob="quota = 9")) == [("Bob", "named like a user")]

    def test_a_group_that_jobs_ask_for_and_that_is_not_there(self, run, check, state, tmp_path):
        job = {"ClusterId": 1, "ProcId": 0, "JobStatus": 1, "Owner": "ann", "User": "ann@test"}
        jobs = [{**job, "AccountingGroup": "a.x.ann"}, {**job, "ProcId": 1, "AccountingGroup": "A.ann"}]
        (tmp_path / "jobs.json").write_text(json.dumps(jobs))
        assert run("--state", state, "import", "--jobs", tmp_path / "jobs.json", "--now", NOW).code == 0
        assert check(table(a="quota = 9")) == [("a.x", "unknown group")]


MACROS = """\
GROUP_NAMES = physics, physics.hep, chemistry, orphan.child, Chemistry, a@b
GROUP_QUOTA_physics = 20
GROUP_QUOTA_physics.hep = 15
GROUP_QUOTA_orphan.child = 3
GROUP_QUOTA_chemistry = 10
GROUP_QUOTA_DYNAMIC_biology = 0.5
GROUP_ACCEPT_SURPLUS_physics.hep = True
"""


def test_htcondors_configuration_is_checked_in_its_own_words(run, state, tmp_path):
    """What HTCondor leaves out with a line in its log is odd, too; cures name the macros."""
    file = tmp_path / "condor_config.local"
    file.write_text(MACROS)
    ended = run("--state", state, "quotas", "check", file)
    assert ended.code == 1
    assert ended.out.splitlines() == [
        f"a@b: GROUP_NAMES ({file}:1): not a valid name for a group; correct GROUP_NAMES",
        f"Chemistry: GROUP_NAMES ({file}:1): listed twice; correct GROUP_NAMES",
        f"orphan.child: GROUP_NAMES ({file}:1): its parent orphan is missing; add orphan there, or remove it",
        f"biology: GROUP_QUOTA_DYNAMIC_biology is set ({file}:6), but GROUP_NAMES does not list the group; "
        "add it to GROUP_NAMES, or remove the line",
        "physics: with oversubscription, and surplus going to physics.hep, what physics and physics.hep leave "
        "unused is offered twice; set NEGOTIATOR_ALLOW_QUOTA_OVERSUBSCRIPTION = false, or accept no surplus",
    ]
    assert not state.exists()


def test_each_line_says_what_is_odd_and_how_to_mend_it(run, state, tmp_path, slots):
    slots(15)
    file = tmp_path / "groups.toml"
    file.write_text(table(physics="quota = 20", physics__hep="quota = 15", physics__lep="quota = 8",
                          a="quota_dynamic = 0.5", b=""))  # fmt: skip
    assert run("--state", state, "quotas", "check", file).out == (
        "b: it has no quota, which counts as 0; give it a quota, or remove the group\n"
        "<none>: the static quotas of physics sum to 20, the pool has 15: they are scaled down to 0.75 of their "
        "values; lower them by 5 in total, or make them dynamic\n"
        "<none>: the static quotas of physics take all 15 of it: the dynamic quotas of a become 0; "
        "lower the static quotas or make them dynamic\n"
        "physics: the static quotas of physics.hep and physics.lep sum to 23, it has 20: they are scaled down to "
        "0.8696 of their values; lower them by 3 in total, or raise quota\n"
    )


def test_the_settings_in_force_are_checked_without_a_file(run, state):
    Path(f"{state}.toml").write_text(table(a="quota = 2", a__b="quota = 3"))
    ended = run("--state", state, "quotas", "check")
    assert (ended.code, ended.out[:28]) == (1, "a: the static quotas of a.b ")
    assert run("--state", state, "quotas", "check", "--af", "group", "oddity").out == "a children above parent\n"
    Path(f"{state}.toml").write_text(table(a="quota = 2"))
    sound = run("--state", state, "quotas", "check")
    assert (sound.code, sound.out, sound.err) == (0, "", "no problems in 1 group\n")
    assert run("--state", state, "-q", "quotas", "check").err == ""


def test_errors_of_settings_keep_their_codes_and_the_rest_is_checked(run, state, tmp_path):
    """All of them are told, the exit code is that of the last."""
    file = tmp_path / "groups.toml"
    file.write_text(table(a="quota = -2", b__c="quota = 3", d="quota = 1\nquota_dynamic = 1"))
    ended = run("--state", state, "quotas", "check", file)
    assert ended.code == 17
    assert ended.out.startswith("a: it has no quota")
    assert "d: it has a static quota, 1, and a dynamic one" in ended.out
    errors = ended.err.splitlines()
    assert "groups.a.quota = -2 is not valid" in errors[0]
    assert "group 'b.c' has no parent" in errors[1]


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("[groups.a\nquota = 1\n", 14, "not valid TOML"),
        ("[groups.a]\nquota = 1\n[negotiator]\ngroup_sort_expr = '1 +'\n", 16, "group_sort_expr"),
        ("nothing of the kind\n", 18, "NAME = value"),
        ("GROUP_NAMES = a\nGROUP_QUOTA_a = -3\n", 16, "GROUP_QUOTA_a"),
    ],
)
def test_what_is_no_configuration_is_an_error(run, state, tmp_path, text, code, message):
    file = tmp_path / ("groups.toml" if text.startswith("[") else "groups.conf")
    file.write_text(text)
    ended = run("--state", state, "quotas", "check", file)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_standard_input_is_a_file_too(fairq, state):
    ended = fairq("--state", state, "quotas", "check", "-", stdin="GROUP_NAMES = a\nGROUP_QUOTA_b = 3\n")
    assert ended.code == 1
    assert ended.out.splitlines()[0].startswith("b: GROUP_QUOTA_b is set (stdin:2)")
