"""What users and an administrator may do in the pool of a host, and what not: a table, tried through real sudo.

Runs where FAIRQ_TEST_SUDO is set, as root; prints the table.
"""

from __future__ import annotations

import subprocess
import sys
from typing import NamedTuple

import pytest
from tests.host.verb.host import ACCOUNT, ADMINISTRATOR, USERS, as_user, fill, host, missing

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")

ANN, BOB, EVE = USERS
ADM = ADMINISTRATOR
DESCRIPTION = "executable = /bin/echo\narguments = $(Cluster) $(item)\nlog = my.log\nqueue item in (a b c)\n"


class Row(NamedTuple):
    """A command line of *who*, and the exit code it must have; *said* must be in its output."""

    who: str
    line: str
    code: int = 0
    expected: str = ""
    stdin: str | None = None


WORKS = [
    Row(ADM, "slots add node1 --count 4", expected="4 slots added"),
    Row(ACCOUNT, "negotiate", expected="4 matches"),
    Row(ANN, "pool", expected="the pool of this host"),
    Row(ANN, "queue", expected="fqceve@lab"),
    Row(BOB, "queue fqcann --json", expected='"Owner": "fqcann"'),
    Row(ANN, "submit -- /bin/true", expected="submitted to cluster 4"),
    Row(BOB, "submit --count 1000 --output o.$(Process) -- /bin/echo a b", expected="1000 job(s) submitted"),
    Row(ANN, "submit -", expected="3 job(s) submitted", stdin=DESCRIPTION),
    Row(ANN, "submit --accounting-group physics -- /bin/true", expected="submitted"),
    Row(BOB, "submit --accounting-group open -- /bin/true", expected="submitted"),
    Row(BOB, "submit --nice-user --priority 7 --request-memory 1GB -- /bin/true", expected="submitted"),
    Row(ANN, "hold 1.7 --reason later", expected="held"),
    Row(ANN, "release 1.7", expected="released"),
    Row(ANN, "prio 5 1.6", expected="priority 5"),
    Row(ANN, "prio +3 1", expected="higher by 3"),
    Row(ANN, "prio --top 1.5", expected="moved ahead"),
    Row(ANN, "edit 1.5 --mem 300", expected="edited"),
    Row(ANN, "undo", expected="undone: fairq edit 1.5"),
    Row(ANN, "edit 1.5 --accounting-group physics", expected="edited"),
    Row(ANN, "undo", expected="undone: fairq edit 1.5"),
    Row(ANN, "hold --idle --since yesterday --reason all", expected="(idle, submitted since"),
    Row(ANN, "release --held --user fqcann", expected="of fqcann"),
    Row(BOB, "remove 2.8", expected="removed"),
    Row(BOB, "undo", expected="undone"),
    Row(BOB, "remove 2.4", expected="removed"),
    Row(BOB, "rerun 2.4", expected="1 job of cluster 2 runs again as cluster 10"),
    Row(BOB, "undo", expected="undone: fairq rerun 2.4"),
    Row(BOB, "rerun --constraint ProcId==4", expected="1 job of cluster 2 runs again"),
    Row(BOB, "queue --batch", expected="fqcbob"),
    Row(BOB, "hold --constraint ProcId>500", expected="499 jobs"),
    Row(BOB, "release --all", expected="499 jobs"),
    Row(BOB, "remove fqcbob --constraint ClusterId==5&&ProcId>=990", expected="10 jobs"),
    Row(EVE, "remove 3.8 --dry-run", expected="would be removed"),
    Row(EVE, "undo --dry-run", 103),
    Row(EVE, "why 3.8", expected="3.8"),
    Row(EVE, "userprio --allusers", expected="fqcann@lab"),
    Row(EVE, "quotas", expected="physics"),
    Row(EVE, "status", expected="fqcbob@lab"),
    Row(EVE, "slots", expected="slot4@node1"),
    Row(EVE, "history"),
    Row(EVE, "state history", expected="fairq submit"),
    Row(EVE, "state check", expected="no faults"),
    Row(EVE, "state backup mine.db"),
    Row(EVE, "negotiate --dry-run", expected="Dry run"),
    Row(EVE, "taskqueues", expected="task queue"),
    Row(EVE, "wait --timeout 1 3.8", 93),
    Row(EVE, "--state own.db submit -- /bin/true", expected="cluster 1"),
    Row(EVE, "config set pool.use private"),
    Row(EVE, "pool", expected="pool.use is private"),
    Row(EVE, "config unset pool.use"),
    Row(EVE, "queue", expected="fqcbob@lab"),
    Row(ADM, "hold 2.6 3.6", expected="held"),
    Row(ADM, "undo", expected="undone"),
    Row(ADM, "remove 2.7", expected="removed"),
    Row(ADM, "submit --accounting-group-user fqcbob -- /bin/true", expected="submitted"),
    Row(ADM, "userprio -setfactor fqcbob@lab 5 -setprio fqcbob@lab 20", expected="was set to 5"),
    Row(ADM, "userprio --setceiling fqceve 3 --duration 1h", expected="3"),
    Row(ADM, "userprio --resetall", expected="reset"),
    Row(ADM, "userprio --prune 400d", expected="deleted"),
    Row(ADM, "finish 1.0 --exit-code 0", expected="finished"),
    Row(ADM, "slots drain slot4@node1", expected="drained"),
    Row(ADM, "slots drain slot4@node1 --cancel", expected="takes jobs again"),
    Row(ADM, "slots reserve slot4@node1 --for fqcann --until +1h", expected="reservation 1 is made"),
    Row(EVE, "slots reservations", expected="fqcann"),
    Row(ADM, "slots reserve --cancel 1", expected="cancelled"),
    Row(ADM, "pool pause --reason network", expected="the pool is paused"),
    Row(EVE, "queue", expected="network"),
    Row(ADM, "pool resume", expected="resumed"),
    Row(ADM, "slots remove slot4@node1 --force", expected="removed"),
]

REFUSED = [
    Row(EVE, "remove 1.5", 101, "fqcann and administrators"),
    Row(EVE, "hold 1.5", 101),
    Row(EVE, "release 1", 35),
    Row(EVE, "prio 5 1.5", 101),
    Row(EVE, "prio -5 fqcann", 101),
    Row(EVE, "prio --top 1.5", 101),
    Row(EVE, "edit 1.5 --mem 300", 101),
    Row(EVE, 'edit 3.5 Owner "fqcann"', 59),
    Row(EVE, "edit 3.5 --accounting-group physics", 101, "their groups: open"),
    Row(EVE, "remove --user fqcann", 101),
    Row(EVE, "rerun 2.4", 101, "fqcbob and administrators"),
    Row(EVE, "rerun --user fqcbob", 101),
    Row(EVE, "rerun --all", 29),
    Row(EVE, "hold 1.5 --idle", 101),
    Row(EVE, "remove fqcann", 101),
    Row(EVE, "remove 3.5 1.5", 101),
    Row(EVE, "remove 1-3", 36),
    Row(EVE, 'remove --constraint Owner=="fqcann"', 35),
    Row(EVE, "undo 1", 101, "root"),
    Row(EVE, "undo 99999", 103),
    Row(EVE, "submit --accounting-group physics -- /bin/true", 101, "their groups: open"),
    Row(EVE, "submit --accounting-group physics.sub -- /bin/true", 101),
    Row(EVE, "submit --accounting-group nosuch -- /bin/true", 101),
    Row(EVE, "submit --accounting-group OPEN -- /bin/true", 101),
    Row(EVE, "submit --accounting-group-user fqcann -- /bin/true", 101),
    Row(EVE, "submit --accounting-group open --accounting-group-user fqcann -- /bin/true", 101),
    Row(EVE, 'submit --attribute Owner="fqcann" -- /bin/true', 32),
    Row(EVE, "submit --attribute JobStatus=2 -- /bin/true", 32),
    Row(EVE, "submit --attribute ClusterId=1 -- /bin/true", 32),
    Row(EVE, "submit --now 5 -- /bin/true", 2),
    Row(EVE, "--config /dev/null submit -- /bin/true", 2, "leave out --config"),
    Row(EVE, "userprio --setfactor fqceve 1", 101, "administrators"),
    Row(EVE, "userprio -setprio fqceve 1", 101),
    Row(EVE, "userprio --setfloor fqceve 3", 101),
    Row(EVE, "userprio --setceiling fqcann@lab 3", 101),
    Row(EVE, "userprio --setaccum fqceve 0", 101),
    Row(EVE, "userprio --setbegin fqceve 0", 101),
    Row(EVE, "userprio --setlast fqceve 0", 101),
    Row(EVE, "userprio --resetusage fqceve", 101),
    Row(EVE, "userprio --resetall", 101),
    Row(EVE, "userprio --setfactor fqcann@lab 9 --duration 1h", 101),
    Row(EVE, "userprio --delete fqceve --force", 101),
    Row(EVE, "userprio --target fqceve=90% --apply", 101),
    Row(EVE, "slots add mine", 101),
    Row(EVE, "slots detect --add", 101),
    Row(EVE, "slots remove slot1@node1", 101),
    Row(EVE, "slots remove slot1@node1 --force", 101),
    Row(EVE, "slots drain node1 --fast", 101),
    Row(EVE, "slots drain node1 --cancel", 101),
    Row(EVE, "pool pause", 101),
    Row(EVE, "slots reserve node1", 101),
    Row(EVE, "slots reserve --cancel 1", 101),
    Row(EVE, "pool resume", 101),
    Row(EVE, "finish 3.0", 101),
    Row(EVE, "negotiate", 101, "sudo -u fqcpool fairq negotiate"),
    Row(EVE, "state restore mine.db", 101),
    Row(EVE, "import state.json", 101),
    Row(EVE, "taskqueues match --site LCG.CERN.ch --cputime 5", 101),
    Row(EVE, "broker config set jobbroker.NW_THRESHOLD 2", 101),
    Row(EVE, "config set accounting.default_prio_factor 1", 13),
    Row(ADM, "negotiate", 101, "sudo -u fqcpool"),
    Row(ADM, "broker config set jobbroker.NW_THRESHOLD 2", 101, "sudo -u fqcpool"),
    Row(ADM, "submit --attribute JobStatus=2 -- /bin/true", 32),
]


@pytest.fixture(scope="module")
def pool(request):
    """The host with jobs of three users, and the lines of the table, which are printed at the end."""
    lines: list[str] = []
    with host() as pool_host:
        fill(pool_host)
        yield pool_host, lines
    capturing = request.config.pluginmanager.get_plugin("capturemanager")
    with capturing.global_and_fixture_disabled():
        sys.stdout.write("\n".join(["", f"{'who':8} exit  command and last line of its output", *lines, ""]))


def run_row(pool, row):
    """Run the command line of *row* and check how it ends."""
    pool_host, lines = pool
    ended = pool_host.fairq(row.who, *row.line.split(), stdin=row.stdin)
    output = ended.stdout + ended.stderr
    lines.append(f"{row.who:8} {ended.returncode:4}  fairq {row.line}  ->  {(output.strip() or '-').splitlines()[-1]}")
    assert ended.returncode == row.code, output
    assert row.expected in output


@pytest.mark.parametrize("row", WORKS, ids=lambda row: f"{row.who} {row.line}")
def test_what_must_work(pool, row):
    run_row(pool, row)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row.who} {row.line}")
def test_what_must_be_refused_changes_nothing(pool, row):
    pool_host, _ = pool
    before = pool_host.state.read_bytes()
    run_row(pool, row)
    assert pool_host.state.read_bytes() == before


def test_the_history_names_who_asked(pool):
    pool_host, _ = pool
    output = pool_host.fairq(ANN, "state", "history", "--user", BOB).stdout
    assert BOB in output
    assert not any(who in output.partition("User")[2].replace("fqcann@lab", "") for who in (ANN, ADM))


def test_no_user_can_open_the_state(pool):
    pool_host, _ = pool
    for words in (
        ["cat", pool_host.state],
        ["ls", pool_host.state.parent],
        ["touch", pool_host.state.parent / "public" / "x"],
    ):
        assert subprocess.run(words, check=False, capture_output=True, **as_user(EVE)).returncode
