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
    said: str = ""
    stdin: str | None = None


WORKS = [
    Row(ADM, "slots add node1 --count 4", said="4 slots added"),
    Row(ACCOUNT, "negotiate", said="4 matches"),
    Row(ANN, "pool", said="the pool of this host"),
    Row(ANN, "queue", said="fqceve@lab"),
    Row(BOB, "queue fqcann --json", said='"Owner": "fqcann"'),
    Row(ANN, "submit -- /bin/true", said="submitted to cluster 4"),
    Row(BOB, "submit --count 1000 --output o.$(Process) -- /bin/echo a b", said="1000 job(s) submitted"),
    Row(ANN, "submit -", said="3 job(s) submitted", stdin=DESCRIPTION),
    Row(ANN, "submit --accounting-group physics -- /bin/true", said="submitted"),
    Row(BOB, "submit --accounting-group open -- /bin/true", said="submitted"),
    Row(BOB, "submit --nice-user --priority 7 --request-memory 1GB -- /bin/true", said="submitted"),
    Row(ANN, "hold 1.7 --reason later", said="held"),
    Row(ANN, "release 1.7", said="released"),
    Row(ANN, "prio 5 1.6", said="priority 5"),
    Row(ANN, "prio +3 1", said="higher by 3"),
    Row(ANN, "prio --top 1.5", said="moved ahead"),
    Row(ANN, "edit 1.5 --mem 300", said="edited"),
    Row(ANN, "undo", said="undone: fairq edit 1.5"),
    Row(ANN, "edit 1.5 --accounting-group physics", said="edited"),
    Row(ANN, "undo", said="undone: fairq edit 1.5"),
    Row(ANN, "hold --idle --since yesterday --reason all", said="(idle, submitted since"),
    Row(ANN, "release --held --user fqcann", said="of fqcann"),
    Row(BOB, "remove 2.8", said="removed"),
    Row(BOB, "undo", said="undone"),
    Row(BOB, "remove 2.4", said="removed"),
    Row(BOB, "rerun 2.4", said="1 job of cluster 2 runs again as cluster 10"),
    Row(BOB, "undo", said="undone: fairq rerun 2.4"),
    Row(BOB, "rerun --constraint ProcId==4", said="1 job of cluster 2 runs again"),
    Row(BOB, "queue --batch", said="fqcbob"),
    Row(BOB, "hold --constraint ProcId>500", said="499 jobs"),
    Row(BOB, "release --all", said="499 jobs"),
    Row(BOB, "remove fqcbob --constraint ClusterId==5&&ProcId>=990", said="10 jobs"),
    Row(EVE, "remove 3.8 --dry-run", said="would be removed"),
    Row(EVE, "undo --dry-run", 103),
    Row(EVE, "why 3.8", said="3.8"),
    Row(EVE, "userprio --allusers", said="fqcann@lab"),
    Row(EVE, "quotas", said="physics"),
    Row(EVE, "status", said="fqcbob@lab"),
    Row(EVE, "slots", said="slot4@node1"),
    Row(EVE, "history"),
    Row(EVE, "state history", said="fairq submit"),
    Row(EVE, "state check", said="no faults"),
    Row(EVE, "state backup mine.db"),
    Row(EVE, "negotiate --dry-run", said="Dry run"),
    Row(EVE, "taskqueues", said="task queue"),
    Row(EVE, "wait --timeout 1 3.8", 93),
    Row(EVE, "--state own.db submit -- /bin/true", said="cluster 1"),
    Row(EVE, "config set pool.use private"),
    Row(EVE, "pool", said="pool.use is private"),
    Row(EVE, "config unset pool.use"),
    Row(EVE, "queue", said="fqcbob@lab"),
    Row(ADM, "hold 2.6 3.6", said="held"),
    Row(ADM, "undo", said="undone"),
    Row(ADM, "remove 2.7", said="removed"),
    Row(ADM, "submit --accounting-group-user fqcbob -- /bin/true", said="submitted"),
    Row(ADM, "userprio -setfactor fqcbob@lab 5 -setprio fqcbob@lab 20", said="was set to 5"),
    Row(ADM, "userprio --setceiling fqceve 3 --duration 1h", said="3"),
    Row(ADM, "userprio --resetall", said="reset"),
    Row(ADM, "userprio --prune 400d", said="deleted"),
    Row(ADM, "finish 1.0 --exit-code 0", said="finished"),
    Row(ADM, "slots drain slot4@node1", said="drained"),
    Row(ADM, "slots drain slot4@node1 --cancel", said="takes jobs again"),
    Row(ADM, "slots reserve slot4@node1 --for fqcann --until +1h", said="reservation 1 is made"),
    Row(EVE, "slots reservations", said="fqcann"),
    Row(ADM, "slots reserve --cancel 1", said="cancelled"),
    Row(ADM, "pool pause --reason network", said="the pool is paused"),
    Row(EVE, "queue", said="network"),
    Row(ADM, "pool resume", said="resumed"),
    Row(ADM, "slots remove slot4@node1 --force", said="removed"),
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
    with host() as made:
        fill(made)
        yield made, lines
    capturing = request.config.pluginmanager.get_plugin("capturemanager")
    with capturing.global_and_fixture_disabled():
        sys.stdout.write("\n".join(["", f"{'who':8} exit  command and last line of its output", *lines, ""]))


def tried(pool, row):
    """Run the command line of *row* and check how it ends."""
    made, lines = pool
    ended = made.fairq(row.who, *row.line.split(), stdin=row.stdin)
    output = ended.stdout + ended.stderr
    lines.append(f"{row.who:8} {ended.returncode:4}  fairq {row.line}  ->  {(output.strip() or '-').splitlines()[-1]}")
    assert ended.returncode == row.code, output
    assert row.said in output


@pytest.mark.parametrize("row", WORKS, ids=lambda row: f"{row.who} {row.line}")
def test_what_must_work(pool, row):
    tried(pool, row)


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: f"{row.who} {row.line}")
def test_what_must_be_refused_changes_nothing(pool, row):
    made, _ = pool
    before = made.state.read_bytes()
    tried(pool, row)
    assert made.state.read_bytes() == before


def test_the_history_names_who_asked(pool):
    made, _ = pool
    told = made.fairq(ANN, "state", "history", "--user", BOB).stdout
    assert BOB in told
    assert not any(who in told.partition("User")[2].replace("fqcann@lab", "") for who in (ANN, ADM))


def test_no_user_can_open_the_state(pool):
    made, _ = pool
    for words in (["cat", made.state], ["ls", made.state.parent], ["touch", made.state.parent / "public" / "x"]):
        assert subprocess.run(words, check=False, capture_output=True, **as_user(EVE)).returncode
