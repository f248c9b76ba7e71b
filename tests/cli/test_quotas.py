"""``fairq quotas`` from the outside: the groups after a cycle, before one, and what they would become."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

NOW = 1_795_200_000

SETTINGS = """\
[accounting]
uid_domain = "test"
[groups.physics]
quota = 20
[groups.physics.hep]
quota = 15
accept_surplus = true
[groups.physics.lep]
quota_dynamic = 1
[groups.chemistry]
quota = 10
"""


@pytest.fixture
def pool(run, state):
    """Thirty slots; hal of physics.hep wants them all, bob of chemistry three."""
    Path(f"{state}.toml").write_text(SETTINGS)
    assert run("--state", state, "slots", "add", "node", "--count", "30", "--memory", "1GB").code == 0
    for group, user, count in (("physics.hep", "hal", 50), ("chemistry", "bob", 3)):
        words = ["--count", count, "--accounting-group", group, "--accounting-group-user", user]
        assert run("--state", state, "submit", *words, "--now", NOW, "--", "/bin/sleep", "60").code == 0
    return state


@pytest.fixture
def quotas(run, pool):
    def quotas(*words):
        return run("--state", pool, "quotas", *words)

    return quotas


@pytest.fixture
def negotiated(run, pool):
    assert run("--state", pool, "negotiate", "--now", NOW).code == 0
    return pool


TABLE = """\
Last Priority Update: {time}
Group                Effective  Config     Use    Subtree   Weighted 
Name                   Quota     Quota   Surplus   Quota   Requested 
-------------------- --------- --------- ------- --------- ----------
<none>                    0.00      0.00 yes         30.00          0
chemistry                10.00     10.00 no          10.00          3
physics                   0.00     20.00 no          20.00          0
physics.hep              15.00     15.00 ByQuota     15.00         50
physics.lep               5.00      1.00 no           5.00          0
-------------------- --------- --------- ------- --------- ----------
Number of users: 2                       ByQuota                     
"""  # noqa: W291


def test_a_pipe_gets_condor_userprios_table(quotas, negotiated):
    ended = quotas()
    assert ended.out.partition("\n")[2] == TABLE.partition("\n")[2]
    assert (ended.code, ended.err) == (0, "")
    assert quotas("--no-header").out.splitlines()[0].startswith("<none>")


def test_before_the_first_cycle_the_same_quotas_are_told(quotas):
    """They follow from the settings and the pool; it is said that no cycle has confirmed them.

    As long as nobody in a group has a record, condor_userprio's table leaves ``<none>`` out.
    """
    ended = quotas()
    body = ended.out.splitlines()
    assert body[0] == "Last Priority Update: never"
    assert [line.split() for line in body[4:-2]] == [line.split() for line in TABLE.splitlines()[5:9]]
    assert quotas("--af", "group").out.split()[0] == "<none>"
    assert "no cycle has run with these groups yet" in ended.err
    assert quotas("-q").err == ""


def test_json_has_a_record_for_each_group(quotas, negotiated):
    """One shape as in the other reports; HTCondor's attributes of a group are those of userprio."""
    groups = {group["group"]: group for group in json.loads(quotas("--json").out)}
    assert list(groups) == ["<none>", "chemistry", "physics", "physics.hep", "physics.lep"]
    hep = groups["physics.hep"]
    wanted = {
        "parent": "physics", "configured": 15.0, "static": True, "quota": 15.0, "own": 15.0, "accept_surplus": True,
        "autoregroup": False, "surplus_policy": "byquota", "requested": 50.0, "allocated": 20.0, "surplus": 5.0,
        "in_use": 20.0, "own_in_use": 20.0, "sort_key": 0.0, "submitters": 1, "last_update_time": NOW,
    }  # fmt: skip
    assert {name: hep[name] for name in wanted} == wanted
    physics = groups["physics"]
    assert (physics["quota"], physics["own"], physics["sort_key"]) == (20.0, 0.0, 3.3e38)
    assert (physics["in_use"], physics["own_in_use"]) == (20.0, 0.0)
    assert groups["physics.lep"]["static"] is False
    root = groups["<none>"]
    assert (root["parent"], root["quota"], root["in_use"]) == (None, 0.0, 0.0)


def test_csv_and_autoformat_show_the_same_groups(quotas, negotiated):
    rows = list(csv.DictReader(io.StringIO(quotas("--csv").out)))
    assert [(row["group"], row["quota"]) for row in rows][1:3] == [("chemistry", "10.0"), ("physics", "20.0")]
    assert quotas("--af", "group", "in_use / quota", "--constraint", "quota == 15").out == (
        "physics.hep 1.333333333333333\n"
    )


TREE = """\
Group      Configured  Quota  Own  Surplus  Requested  Allocated  In Use  Borrowed  Share of Pool  Use of Quota
chemistry          10     10   10  no               3          3       3            ###.....  33%  ##......  30%
physics            20     20    0  no               0          0      20         5  #####...  67%  ######## 100%
  hep              15     15   15  ByQuota         50         20      20         5  ####....  50%  ########+133%
  lep            100%      5    5  no               0          0       0            #.......  17%  ........   0%
<none>                     0    0  yes              0          0       0            ........   0%  ........    -
"""


def test_the_tree_stands_below_its_parents_with_bars(quotas, negotiated):
    """Shares of the pool, and use of the quota of the whole subtree; ASCII in a pipe."""
    assert quotas("--tree").out == TREE


def test_in_a_part_of_the_tree_a_group_without_its_parent_has_its_whole_name(quotas, negotiated):
    lines = quotas("--tree", "--no-header", "--constraint", "own_in_use > 0").out.splitlines()
    assert [line.split()[0] for line in lines] == ["chemistry", "physics.hep"]


def on_a_terminal(*words, **environment):
    """Run fairq on a pseudo-terminal of 24 by 80 cells."""
    outer, inner = pty.openpty()
    try:
        subprocess.run(
            [sys.executable, "-m", "fairq", *map(str, words)],
            stdout=inner,
            env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1", **environment},
            check=True,
            timeout=60,
        )
        return re.sub("\x1b\\[\\d*m", "", os.read(outer, 65536).decode().replace("\r\n", "\n"))
    finally:
        os.close(inner)
        os.close(outer)


def test_a_terminal_gets_the_tree_within_its_width(negotiated):
    """Block characters where the terminal has them, ASCII where its character set or it itself has none."""
    text = on_a_terminal("--state", negotiated, "quotas", TERM="xterm", LC_ALL="C.UTF-8", PYTHONUTF8="1")
    assert "Groups in a pool of 30, cycle 1" in text
    assert "  hep         15  ByQuota         50      20  ████      50%  ████████+133%" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "The terminal is too narrow for Configured, Own, Allocated, Borrowed." in text
    plain = on_a_terminal("--state", negotiated, "quotas", TERM="linux", LC_ALL="C.UTF-8", PYTHONUTF8="1")
    assert "####....  50%" in plain
    latin = on_a_terminal("--state", negotiated, "quotas", TERM="xterm", PYTHONUTF8="0", PYTHONIOENCODING="latin-1")
    assert "####....  50%" in latin


def test_a_terminal_gets_condor_userprios_table_on_request(negotiated):
    text = on_a_terminal("--state", negotiated, "quotas", "--plain", TERM="xterm")
    assert text.partition("\n")[2] == TABLE.partition("\n")[2]


def test_other_settings_count_at_once(run, quotas, negotiated):
    """The last cycle's figures are those of other groups then; those of the next cycle are told instead."""
    assert run("--state", negotiated, "config", "set", "groups.chemistry.quota", "8").code == 0
    ended = quotas("--af", "group", "quota", "allocated")
    assert "chemistry 8.0 3.0\n" in ended.out
    assert "no cycle has run with these groups yet" in ended.err
    assert run("--state", negotiated, "config", "set", "groups.chemistry.quota", "10").code == 0
    assert quotas().err == ""
    name = "negotiator.negotiator_allow_quota_oversubscription"
    assert run("--state", negotiated, "config", "set", name, "true").code == 0
    assert "physics 20.0\n" in quotas("--af", "group", "own").out


def test_the_flat_models_groups_are_shown_by_their_maxima(run, quotas, pool):
    """One level, no surplus; fractions make whole slots, and the rest is everybody's."""
    Path(f"{pool}.toml").write_text(
        '[accounting]\nuid_domain = "test"\n[negotiator]\nquota_model = "flat"\n'
        "[groups.physics]\nquota_dynamic = 0.55\naccept_surplus = true\n[groups.chemistry]\nquota = 2\n"
    )
    assert run("--state", pool, "negotiate", "--now", NOW).code == 0
    ended = quotas("--af", "group", "own", "surplus_policy", "own_in_use")
    assert ended.out == "<none> 12.0 byquota 0.0\nchemistry 2.0 no 2.0\nphysics 16.0 no 16.0\n"
    assert ended.err == ""


def test_use_told_before_a_cycle_includes_slots_that_others_claimed(run, state, tmp_path):
    """Claims of an imported pool count for their groups though no cycle has charged them yet."""
    Path(f"{state}.toml").write_text("[groups.a]\nquota = 2\n[groups.a.b]\nquota = 1\n")
    slot = {"State": "Claimed", "RemoteUser": "a.b.ann@test", "Cpus": 2, "Memory": 1, "SlotWeight": 2}
    (tmp_path / "slots.json").write_text(json.dumps([{"Name": "s1", **slot}]))
    assert run("--state", state, "import", "--slots", tmp_path / "slots.json", "--now", NOW).code == 0
    ended = run("--state", state, "quotas", "--now", NOW, "--af", "group", "own_in_use", "in_use")  # fmt: skip
    assert ended.out == "<none> 0.0 0.0\na 0.0 2.0\na.b 2.0 2.0\n"


def test_nothing_is_written(run, quotas, negotiated):
    before = negotiated.read_bytes()
    for words in ([], ["--tree"], ["--slots", 15], ["--with", f"{negotiated}.toml"], ["check"], ["--json"]):
        quotas(*words)
    assert negotiated.read_bytes() == before
    missing = negotiated.with_name("missing.db")
    assert run("--state", missing, "quotas").code == 0
    assert not missing.exists()


def test_without_groups_it_is_said(run, state):
    ended = run("--state", state, "quotas")
    assert (ended.code, ended.out) == (0, "")
    assert "no groups are configured" in ended.err
    assert run("--state", state, "quotas", "--json").out == "[]\n"


def test_a_preview_without_groups_and_jobs_says_so(run, state):
    ended = run("--state", state, "quotas", "--slots", "1")
    assert (ended.code, ended.out) == (0, "")
    assert "no jobs are queued and no groups are configured" in ended.err


HALF = """\
Group      Configured now  then  Quota now  then  Own now  then  Allocated now  then
<none>                  0     0          0     0        0     0              0     0
chemistry              10    10         10     5       10     5              3     3
physics                20    20         20    10        0     0              0     0
  hep                  15    15         15    10       15    10             20    10
  lep                   1     1          5     0        5     0              0     0
---------  --------------  ----  ---------  ----  -------  ----  -------------  ----
pool                                    30    15
"""


def test_a_pool_of_another_size(quotas):
    """After a power failure half of the machines are left: the static quotas are scaled down to them."""
    out = quotas("--slots", "15").out
    assert HALF in out
    assert "physics.hep.hal@" in out.partition("Long-run")[2]


def test_another_configuration_beside_todays(quotas, tmp_path):
    """Groups of either stand there, those of only one with one side blank; HTCondor's configuration will do."""
    other = tmp_path / "next.conf"
    other.write_text("GROUP_NAMES = chemistry, biology\nGROUP_QUOTA_chemistry = 2\nGROUP_QUOTA_DYNAMIC_biology = 0.5\n")
    found = {ad["group"]: ad for ad in json.loads(quotas("--with", other, "--slots", "12", "--json").out)}
    assert list(found) == ["<none>", "biology", "chemistry", "physics", "physics.hep", "physics.lep"]
    assert (found["chemistry"]["quota_now"], found["chemistry"]["quota_then"]) == (10.0, 2.0)
    assert "quota_now" not in found["biology"]
    assert found["biology"]["quota_then"] == 5.0
    assert "quota_then" not in found["physics"]
    assert (found["<none>"]["requested_now"], found["<none>"]["requested_then"]) == (0.0, 50.0)
    assert found["<none>"]["allocated_then"] == 10.0
    header, *rows = csv.reader(io.StringIO(quotas("--with", other, "--csv").out))
    assert header[:5] == ["group", "configured_now", "configured_then", "static_now", "static_then"]
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--slots", "-1"], 25, "give the weight of a pool, 0 or more"),
        (["--slots", "nan"], 25, "give the weight of a pool, 0 or more"),
        (["--with", "/nowhere/x.toml"], 13, "there is no such file"),
        (["--tree", "--plain"], 2, "exclude each other"),
        (["--slots", "3", "--tree"], 2, "leave out --tree and --plain"),
        (["--constraint", "quota >"], 21, "expression"),
    ],
)
def test_wrong_use_is_told(quotas, words, code, message):
    ended = quotas(*words)
    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err


def test_a_wrong_configuration_to_compare_with_keeps_its_error(quotas, tmp_path):
    other = tmp_path / "bad.toml"
    other.write_text("[groups.a]\nquota = -3\n")
    ended = quotas("--with", other)
    assert (ended.code, ended.out) == (16, "")
    assert f"{other}:2: groups.a.quota = -3 is not valid" in ended.err


def test_no_numpy_for_the_figures_of_a_cycle(negotiated):
    script = (
        "import sys; from fairq.cli.app import main; main(sys.argv[1:]);"
        "sys.stderr.write(' '.join({'numpy', 'classad2', 'htcondor2', 'rich'} & sys.modules.keys()))"
    )
    for words in (["quotas"], ["quotas", "--json"], ["quotas", "--tree"], ["userprio", "--quiet"]):
        ended = subprocess.run(
            [sys.executable, "-c", script, "--state", str(negotiated), *words],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.stderr == "", words


class TestUserprio:
    """The views of userprio with the groups of a real cycle."""

    @pytest.fixture
    def userprio(self, run, negotiated):
        def userprio(*words):
            return run("--state", negotiated, "userprio", "-allusers", "--now", NOW, *words)

        return userprio

    def test_default_is_hierarchical(self, userprio):
        """Users stand below their groups, these by sort key: without a quota late, ``<none>`` last."""
        lines = userprio().out.splitlines()[4:-2]
        assert [line.split()[0] for line in lines] == [
            "chemistry", "bob@test", "physics.hep", "hal@test", "physics.lep", "physics", "<none>",
        ]  # fmt: skip
        assert userprio("-hierarchical").out == userprio().out

    def test_flat_and_grouporder(self, userprio):
        flat = [line.split()[0] for line in userprio("-flat").out.splitlines()[4:-2]]
        assert set(flat[-2:]) == {"chemistry.bob@test", "physics.hep.hal@test"}
        first = [line.split()[0] for line in userprio("-grouporder").out.splitlines()[4:-2]]
        assert first[:5] == ["<none>", "chemistry", "physics", "physics.hep", "physics.lep"]

    def test_sort_keys_are_those_of_the_last_round(self, userprio):
        shown = dict(line.split() for line in userprio("-sortkey").out.splitlines()[4:-2] if "@" not in line)
        assert shown == {
            "<none>": "3.4e+38", "chemistry": "0.00", "physics": "3.3e+38", "physics.hep": "0.00",
            "physics.lep": "0.00",
        }  # fmt: skip

    def test_group_numbers_and_places(self, userprio):
        shown = [line.split() for line in userprio("-groupid", "-order").out.splitlines()[4:-2]]
        assert shown[1:3] == [["chemistry", "1", "1.00"], ["bob@test", "1", "1.00"]]
        assert ["hal@test", "3", "3.00"] in shown

    def test_surplus_and_quotas_are_of_groups(self, userprio):
        assert [line.split() for line in userprio("-surplus").out.splitlines()[4:-2]] == [
            ["<none>", "yes"], ["chemistry", "no"], ["physics", "no"], ["physics.hep", "ByQuota"],
            ["physics.lep", "no"],
        ]  # fmt: skip
        assert userprio("-quotas").out.partition("\n")[2] == TABLE.partition("\n")[2]

    def test_rollup_sums_the_use_of_the_subtree(self, userprio):
        used = {ad["Name"]: ad["WeightedResourcesUsed"] for ad in json.loads(userprio("-grouprollup", "--json").out)}
        assert (used["physics"], used["physics.hep"], used["<none>"]) == (20.0, 20.0, 23.0)

    def test_a_groups_factor_can_be_edited(self, run, userprio, negotiated):
        """A group has no @ in its name; HTCondor's tool cannot do this."""
        ended = run("--state", negotiated, "userprio", "-setfactor", "physics", "5")
        assert ended.out == "The priority factor of physics was set to 5.000000\n"
        (physics,) = json.loads(userprio("physics", "--json").out)
        assert (physics["PriorityFactor"], physics["Priority"], physics["ConfigQuota"]) == (5.0, 2.5, 20.0)
        assert run("--state", negotiated, "userprio", "-setfactor", "physix", "5").code == 26
        assert "called 'physics'" in run("--state", negotiated, "userprio", "-setfactor", "Physics", "5").err
