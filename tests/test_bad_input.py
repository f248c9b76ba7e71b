"""Wrong input of every kind to every command: one line that names the culprit and the cure, and nothing changed."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from tests.bad_input_files import FILES

NOW = 1_795_210_080


CASES: list[tuple[str, int, str]] = [
    # the command line itself
    ("qeue", 2, "no such command 'qeue'; perhaps 'queue'"),
    ("queue --jsn", 2, "no such option: --jsn"),
    ("queue --json --csv", 2, "--json and --csv exclude each other"),
    ("slots lst", 2, "no such command 'lst'; perhaps 'list'"),
    ("slots add", 2, "give either a NAME or --file ADS"),
    ("negotiate now", 2, "unexpected argument: now"),
    ("queue --af", 2, "--af needs an attribute; give one or more"),
    ("queue --af:x Owner", 2, "'x' is not a modifier"),
    ("queue --state ''", 2, "--state"),
    ("userprio --config ''", 2, "--config"),
    # times
    # what has no end, or is nested too deeply
    ("submit doubling.sub", 31, "line 18: macros expand to more than 1000000 characters; do they double each"),
    ("submit growing.sub", 31, "growing.sub, line 17: A grows to more than 1000000 characters; does it double itself?"),
    ("submit empty_doubling.sub", 31, "macros expand to more than 1000000 characters; do they double each other?"),
    ("submit chain.sub", 31, "macros refer to each other in a chain of more than 500"),
    ("submit integer.sub", 31, "line 2: a number in $INT, $REAL, $STRING or $RANDOM_INTEGER is too large: arguments"),
    ("submit width.sub", 31, "line 2: a number in $INT, $REAL, $STRING or $RANDOM_INTEGER is too large: arguments"),
    ("submit comment.sub", 32, "line 2: invalid requirements: Memory > 1 // as always; remove // comments"),
    ("submit no_command.sub", 31, "no_command.sub, line 2: there is no command before the |; write from COMMAND |"),
    ("submit zero.sub", 31, "zero.sub, line 1: '/dev/zero' cannot be included: it is not text"),
    ("submit zero_items.sub", 31, "line 2: the items' file /dev/zero cannot be read: it is not text"),
    ("submit /dev/zero", 31, "/dev/zero: it is not text: it contains a zero byte"),
    ("submit deep.sub", 32, "nested too deeply; use at most 150 levels of brackets and 5000 operators in a row"),
    ("submit long.sub", 32, "nested too deeply; use at most 150 levels of brackets and 5000 operators in a row"),
    ("submit slice.sub", 31, "is not a slice; write it as [first:end:step]"),
    ("submit long_directory.sub", 32, "create it first"),
    ("import --slots deep_expression.json", 48, "ad 1: Start: this ClassAd expression is nested too deeply"),
    ("import --slots deep_list.json", 48, "ad 1: Start is nested too deeply; 100 levels are the most"),
    ("import --slots deeper_list.json", 48, "ad 1: it is nested too deeply"),
    ("import --slots deep.ads", 48, "ad 1: line 2: the value of Start is nested too deeply"),
    ("import --slots no_name.json", 48, "ad 1: an attribute inside Devices has no name; give it one, or remove it"),
    ("import --slots /dev/zero", 47, "/dev/zero, at its start or further on: not UTF-8 text"),
    ("import deep_document.json", 47, "deep_document.json, line 1: it is nested too deeply"),
    ("broker queues import deep_queue.json", 80, "nested too deeply; 100 levels are the most"),
    ("taskqueues import many_jobs.csv", 78, "2147483648 jobs without numbers; the limit is 1000000"),
    ("config check deep_key.toml", 13, "deep_key.toml: its tables are nested too deeply; use at most 50 levels"),
    ("config check deep_list.toml", 13, "deep_list.toml: its tables are nested too deeply; use at most 50 levels"),
    ("quotas check deep_header.toml", 13, "deep_header.toml: its tables are nested too deeply; use at most 50 levels"),
    ("negotiate --config /dev/zero", 14, "/dev/zero:1:1: not valid TOML"),
    ("config import doubling.conf", 18, "doubling.conf:83: macros expand to more than 1000000 characters here"),
    ("config import deep_if.conf", 18, "deep_if.conf:64: this if is nested too deeply; use at most 63 levels"),
    (f"queue --constraint '{1000 * '('}'", 23, "this ClassAd expression is nested too deeply: '(((((("),
    (f"queue --af 'a{100_000 * '.a'}'", 23, "this ClassAd expression is nested too deeply: 'a.a.a.a"),
    # bytes that are not UTF-8, as Python hands them over
    ("queue --constraint 'Owner == \"\udcff\"'", 21, "near ' == \"\\udcff\"'"),
    ("queue --af '\"\udcff\"'", 21, "not a ClassAd expression"),
    ("submit --accounting-group-user '\udcff' -- /bin/true", 26,
        "'\\udcff' is not a valid name for a submitter; give it in UTF-8"),
    ("submit --requirements 'X == \"\udcff\"' -- /bin/true", 32, "invalid requirements"),
    ("submit --environment 'A=$(Process)\udcff' -- /bin/true", 32,
        "invalid environment: A=$(Process)\\udcff; give macros in UTF-8 text only"),
    ("config set accounting.uid_domain 'a\udcff'", 16,
        "accounting.uid_domain = 'a\\udcff' is not valid; give a text without"),
    ("config set 'limits.\udcff' 3", 15, "is not a setting"),
    ("hold 1.0 --reason '\udcff'", 26, "the state holds Unicode text only"),
    ("finish --all --at 2300-01-01", 27, "'2300-01-01' is out of range for --at; give a time from 1970 to 2200"),
    ("negotiate --now noon", 24,
        "'noon' is not a valid time for --now; give a time such as 2026-11-20T14:00, 10:30, yesterday or -1h"),
    ("negotiate --now -5", 27, "'-5' is out of range for --now; give a time from 1970 to 2200"),
    ("negotiate --now 2026-02-30", 24, "'2026-02-30' is not a valid time for --now; give a time such as"),
    ("negotiate --now 99999999999999", 27, "'99999999999999' is out of range for --now; give a time from 1970 to 2200"),
    ("negotiate --now ''", 24, "'' is not a valid time for --now"),
    ("finish 1.0 --at never", 24, "'never' is not a valid time for --at"),
    ("finish 1.0 --at 5", 37, "job 1.0 cannot have ended at 19"),
    (f"finish 1.0 --at {NOW + 9} --now {NOW + 5}", 37, "; give a time from its start to now"),
    ("userprio --setbegin a@x soon", 24, "'soon' is not a valid time for the begin usage time; give a time such as"),
    ("userprio --setlast a@x 1e400", 24, "'1e400'"),
    # expressions
    ("queue --constraint 'Owner =='", 21, "'Owner ==' is not a ClassAd expression; check quotes, brackets and"),
    ("queue --constraint ''", 2, "--constraint is empty; give a ClassAd expression"),
    ("queue --af 'Owner +'", 21, "'Owner +' is not a ClassAd expression"),
    ("slots --constraint '(Cpus > 1'", 21, "'(Cpus > 1' is not a ClassAd expression"),
    ("userprio --constraint 'a b'", 21, "'a b' is not a ClassAd expression"),
    ("negotiate --dry-run --af '1 2'", 21, "'1 2' is not a ClassAd expression"),
    ("remove --constraint 'JobPrio <'", 21, "'JobPrio <' is not a ClassAd expression"),
    ("hold --constraint '\"open'", 21, "check quotes"),
    ("state history --constraint '?'", 21, "'?' is not a ClassAd expression"),
    ("config show --constraint '1 +'", 21, "'1 +' is not a ClassAd expression"),
    # submit
    ("submit", 2, "nothing to submit; name a submit description, or give -- PROGRAM ARGS..."),
    ("submit --", 2, "no program follows --; give -- PROGRAM ARGS..."),
    ("submit nowhere.sub", 33, "nowhere.sub cannot be read: No such file or directory; name a text file"),
    ("submit .", 33, "cannot be read: Is a directory"),
    ("submit binary.sub", 33, "binary.sub cannot be read: it is not UTF-8 text"),
    ("submit empty.sub", 31, "empty.sub"),
    ("submit no_queue.sub", 31, "no_queue.sub"),
    ("submit no_executable.sub", 32, "no_executable.sub: invalid executable: ; name the program to run"),
    ("submit missing_executable.sub", 32, "/no/such/program"),
    ("submit no_equals.sub", 31, "no_equals.sub, line 2"),
    ("submit --request-cpus 99999999999999999999 -- /bin/true", 32,
        "invalid request_cpus: 99999999999999999999; give an amount of 0 or more"),
    ("submit bad_memory.sub", 32, "invalid request_memory: 2 XB; give an amount, for example 512 or 2GB"),
    ("submit bad_cpus.sub", 32, "invalid request_cpus: -1"),
    ("submit bad_priority.sub", 32, "invalid priority: high"),
    ("submit bad_requirements.sub", 32, "invalid requirements: (Memory >"),
    ("submit bad_attribute.sub", 32, "astro physics"),
    ("submit bad_group.sub", 32, "invalid accounting_group: a b"),
    ("submit bad_universe.sub", 32, "parallel"),
    ("submit bad_count.sub", 31, "many"),
    ("submit no_items.sub", 31, "nowhere.txt"),
    ("submit open_list.sub", 31, "open_list.sub"),
    ("submit bad_if.sub", 31, "bad_if.sub"),
    ("submit --count 0 -- /bin/true", 2, "--count"),
    ("submit --count many -- /bin/true", 2, "invalid value for '--count': 'many' is not a whole number; try"),
    ("submit --count 5 empty.sub", 2, "--count is only for -- PROGRAM; set it in the submit description instead"),
    ("submit empty.sub -- /bin/true", 2, "both a submit description (empty.sub) and a program; give only one"),
    ("submit -- no-such-program-anywhere", 32, "it is not on PATH; give its path"),
    ("submit --attribute 5=5 -- /bin/true", 2, "--attribute 5=5: give NAME=EXPR"),
    ("submit --request-memory 1XB -- /bin/true", 32, "invalid request_memory: 1XB; give an amount, for example 512"),
    ("submit --accounting-group-user 'a b' -- /bin/true", 32, "spaces are not allowed"),
    # jobs
    (f"userprio --setfloor a@x {'9' * 5000}", 25,
        "99' is not a valid number for the floor; give a whole number up to 2147483647"),
    (f"userprio --prune {'9' * 5000}", 25, "99' is not a valid number for --prune; give seconds, or a duration such"),
    (f"slots add x --memory {'9' * 5000}", 25, "99' is not a valid number for --memory; give a positive size, such as"),
    (f"submit --request-memory {'9' * 5000} -- /bin/true", 32, "99; give an amount of 0 or more, for example 2GB"),
    ("remove", 2, "no jobs are selected; name jobs, clusters or owners, or give --constraint or --all"),
    ("remove 1 --all", 2, "--all and single jobs exclude each other; give only one"),
    ("remove 99", 30, "there is no job 99 in the queue; 'fairq queue' lists the jobs"),
    ("hold 1.99", 30, "there is no job 1.99 in the queue"),
    ("remove 1.x", 36, "'1.x' is not a job; give a job (7.0, 7.0@SCHEDD), a range (7.0-99), a cluster (7) or an owner"),
    ("remove 1.5-2", 36, "'1.5-2' is not a job"),
    ("remove 1.0-2.5", 36, "'1.0-2.5' is not a job"),
    ("remove ''", 36, "'' is not a job"),
    ("remove nobody", 35, "no job in the queue belongs to 'nobody'; nothing was changed; list the jobs and their"),
    ("remove --constraint false", 35, "no job in the queue satisfies false"),
    ("release 1.0", 34, "job 1.0 is running, not held; nothing was changed"),
    ("finish 1.1", 34, "job 1.1 is idle, not running; nothing was changed"),
    ("hold 2.0", 34, "job 2.0 is held"),
    ("release 1", 35, "no job in the queue of 1 is held"),
    ("finish 1.0 --exit-code 999", 2, "--exit-code"),
    ("prio 5", 2, "no jobs are selected"),
    ("prio high 1", 25, "'high' is not a valid number for the priority; give a whole number, then the jobs"),
    ("prio 99999999999 1", 25, "99999999999"),
    # slots
    ("slots add node", 42, "slot 'node'"),
    ("slots add ''", 26, "''"),
    ("slots add 'two words'", 26, "'two words'"),
    ("slots add x --cpus 0", 2, "invalid value for '--cpus': 0 is out of range; give 1 to 1000000; try"),
    ("slots add x --count -1", 2, "--count"),
    ("slots add x --memory much", 25, "'much'"),
    ("slots add x --disk -5GB", 25, "'-5GB'"),
    ("slots add x --attribute Start", 43, "'Start' is not an attribute; give Name=Expression"),
    ("slots add x --attribute 'Start=1 +'", 43, "Start"),
    ("slots add x --file there.json", 2, "--file"),
    ("slots add --file there.json", 42, "slot 'node'"),
    ("slots add --file nowhere.json", 46, "nowhere.json cannot be read: no such file or directory"),
    ("slots remove nothing", 40, "there is no slot 'nothing'; list the slots with 'fairq slots list'"),
    ("slots remove node", 41, "slot node is in use by anna@example.org for job 1.0; drain it first, or add --force"),
    ("slots drain nod", 40, "there is no slot 'nod'; did you mean 'node'?"),
    ("slots detect --slots 0", 2, "--slots"),
    # import and export
    ("import", 2, "nothing to import"),
    ("import nowhere.json", 46, "nowhere.json cannot be read"),
    ("import --slurm nowhere", 46, "nowhere cannot be read: no such file or directory"),
    ("import --slurm there.json", 46, "there.json cannot be read: it contains none of nodes.txt"),
    ("import document.json", 45, "not a complete state document"),
    ("import open.json", 47, "open.json"),
    ("import object.json --slots -", 2, "a state document has all data"),
    ("import --slots - --jobs -", 2, "can be read only once"),
    ("import --slots text.json", 47, "neither the -json nor the -long form"),
    ("import --slots open.json", 47, "the text ends too early"),
    ("import --slots numbers.json", 48, "ad 1: not an ad but a number"),
    ("import --slots nameless.json", 48, "ad 1: it has no Name"),
    ("import --slots twice.json", 49, "ad 2: duplicate slot a, first in ad 1; remove one"),
    ("import --slots bad_start.json", 48, "ad 1: Start does not parse"),
    ("import --slots huge.json", 48, "ad 1: Memory is too large a number"),
    ("import --slots infinite.json", 48, "ad 1: LoadAvg is not a finite number"),
    ("import --slots latin.json", 47, "not UTF-8 text"),
    ("import --slots no_equals.ads", 47, "line 2, ad 1: not of the form Name = value"),
    ("import --jobs proc.json", 48, "ad 1: it has no ClusterId"),
    ("import --jobs status.json", 48, "ad 1: JobStatus is 99"),
    ("import --jobs ownerless.json", 48, "'' is not a valid name for the owner of a job"),
    ("import --jobs same_job.json", 49, "ad 2: duplicate job 1.0"),
    ("import --accounting negative.json", 48, "ad 1: Priority is -5; give a number, 0 or more"),
    ("import --accounting factor.json", 48, "ad 1: PriorityFactor is 'ten'"),
    ("import --accounting blank_name.json", 48, "ad 1: Name is 'a b'"),
    ("export --slots --jobs", 2, "--slots and --jobs are separate dumps; give only one"),
    ("export --output no/such/place.json", 50, "no/such/place.json cannot be written"),
    ("export --output state.db", 50, "it is the state itself; name another file with --output"),
    ("export --slots --output link.db", 50, "it is the state itself"),
    ("export --output .", 50, "cannot be written"),
    # userprio
    ("userprio --foo", 2, "no such option: -"),
    ("userprio --setfactor a@x", 2, "setfactor needs 2 values"),
    ("userprio --setfactor a@x much", 25, "'much' is not a valid number for the factor; give a number"),
    ("userprio --setfactor a@x 0.5", 25, "0.5 is not a valid number for the priority factor; give at least 1"),
    ("userprio --setfactor a@x nan", 25, "'nan' is not a valid number for the factor; give a number"),
    ("userprio --setfactor a@x 1e999", 25, "'1e999' is not a valid number for the factor; give one below 1e308"),
    ("userprio --setfactor nobody 5", 26,
        "'nobody' is not a valid name for the submitter; give the full name, as user@domain, or the name of a known"),
    ("userprio --setfactor 'a b@x' 5", 26,
        "'a b@x' is not a valid name for the submitter; give user@domain, without blanks"),
    ("userprio --setprio a@x -1", 25, "-1.0 is not a valid number for the priority; give at least 0"),
    ("userprio --setceiling a@x 1.5", 25, "'1.5' is not a valid number for the ceiling; give a whole number up to"),
    ("userprio --setfloor a@x 99999999999", 25,
        "'99999999999' is not a valid number for the floor; give a whole number up to 2147483647"),
    ("userprio --setaccum a@x 0x10", 25, "'0x10'"),
    ("userprio --setfloor a@x 5 --duration 0", 25, "0 is not a valid number for the duration; give 1 second or more"),
    ("userprio --cancelfloorlease anna@example.org", 54, "anna@example.org has no floor lease in effect"),
    ("userprio --delete nobody@x", 56, "'nobody@x' has a record in"),
    ("userprio --delete anna@example.org", 55, "1 of its jobs hold slots; end them first, or add --force"),
    ("userprio --activefrom 13 1 2026", 2, "there is no day 13 1 2026; give month day year"),
    ("userprio --prune soon", 25,
        "'soon' is not a valid number for --prune; give seconds, or a duration such as 30m, 1h or 90d"),
    # settings
    ("config get halflife", 15, "halflife is not a setting"),
    ("config get priority_halflive", 15, "priority_halflife"),
    ("config set priority_halflife soon", 16, "priority_halflife = 'soon' is not valid; give a number"),
    ("config set priority_halflife -5", 16, "priority_halflife = '-5' is not valid; give a number of seconds or"),
    ("config set negotiator.rules best", 16, 'rules = \'best\' is not valid; give "documented" or "htcondor"'),
    ("config set negotiator_pre_job_rank '1 +'", 16, "'1 +' is not valid; give a ClassAd expression"),
    ("--config nowhere.toml userprio", 13, "nowhere.toml"),
    ("--config latin.toml userprio", 13, "latin.toml"),
    ("--config syntax.toml userprio", 14, "syntax.toml:1:"),
    ("--config unknown.toml userprio", 15, "priority_halflive is not a setting; did you mean"),
    ("--config type.toml userprio", 16, "type.toml:2"),
    ("--config range.toml negotiate", 16, "range.toml:2"),
    ("--config rules.toml negotiate", 16, "rules.toml:2"),
    ("--config expression.toml negotiate", 16, "negotiator_pre_job_rank"),
    ("--config orphan.toml negotiate", 17, "group_a"),
    ("config check nowhere.toml", 13, "nowhere.toml"),
    ("config import nowhere.conf", 13, "nowhere.conf: there is no such file"),
    ("config import bad_halflife.conf", 16, "soon"),
    # the brokerage's data
    ("broker queus", 2, "no such command 'queus'; perhaps 'queues'"),
    ("broker queues import", 2, "missing argument 'FILE'"),
    ("broker queues import nowhere.json", 46, "nowhere.json cannot be read"),
    ("broker queues import empty.json", 47, "empty.json, line 1: it is empty; give JSON or CSV"),
    ("broker queues import open.json", 47, "open.json, line 1: not JSON"),
    ("broker queues import numbers.json", 80, "numbers.json, record 1: not an object and 1 more; nothing was changed"),
    ("broker links import semicolons.csv", 47,
        "line 1: the columns are separated by ';'; separate them by commas or tabs"),
    ("broker links import text.json", 47, "text.json, line 1: neither JSON nor CSV of this kind: no heading is known"),
    ("broker config set NQUEUED_SAT_CAP -3", 83,
        "jobbroker.NQUEUED_SAT_CAP = '-3' is not valid; give a number of at least 0"),
    ("broker tasks import latin.json", 47, "not UTF-8 text; give JSON or CSV in UTF-8"),
    ("broker tasks import task.csv", 80, "task.csv, line 2 (task '1'): ramCount must be a number, not 'much'; nothing"),
    ("broker tasks import wide.csv", 47, "wide.csv, line 2: 3 values under 2 headings; put values that hold a comma"),
    ("broker sites import twice.csv", 47, "line 1: the heading 'name' occurs twice"),
    ("broker sites import object.json", 80, "object.json, record 1: name must be given; nothing was changed"),
    ("broker sites list CERN", 81, "no record of the sites has the name 'CERN'; list them with 'fairq broker sites'"),
    ("broker jobs import state.csv", 80, "line 2 (job '1'): jobStatus cannot be 'runing'; did you mean running?"),
    ("broker lint NOWHERE", 81, "no record of the queues has the name 'NOWHERE'"),
    ("broker timeouts --rules pand", 2, "--rules 'pand' is not known; give documented or panda"),
    ("broker timeouts --apply --constraint '1 +'", 21, "not a ClassAd expression"),
    ("broker tasks list x", 81, "no record of the tasks has the jediTaskID 'x'"),
    ("broker inputs import files.json", 80, "record 1 (input '1'): files, number 2: fsize must be a whole number, not"),
    ("broker tasks import status.csv", 80, "line 2 (task '1'): status cannot be 'pendng'; did you mean pending?"),
    ("broker run 4711", 85, "there is no task 4711; list the tasks with 'fairq broker tasks'"),
    ("broker why 4711", 85, "there is no task 4711; list the tasks with 'fairq broker tasks'"),
    ("broker why 4711 --last", 85, "there is no task 4711"),
    ("broker why 4711 --last --cycle 1", 2, "--cycle and --last exclude each other"),
    ("broker why 4711 --last --rules panda", 2, "--rules is for a new decision"),
    ("broker why --last", 2, "--last needs a task; name one"),
    ("broker run x", 2, "'x' is not a whole number"),
    ("broker run 1 --all", 2, "--all and single tasks exclude each other"),
    ("broker run --rules best", 2, "--rules 'best' is not known; give documented or panda"),
    ("broker config list NQUEUE_SAT", 82, "'NQUEUE_SAT' is not a setting of PanDA's brokerage; did you mean"),
    ("broker config set MIN_WEIGHT 1", 82, "'jobbroker.MIN_WEIGHT' is not a setting of PanDA's brokerage; append _"),
    ("broker config set NW_ACTIVE maybe", 83, "NW_ACTIVE = 'maybe' is not valid; give a number of at least 0"),
    ("broker config import config.csv", 80, "line 2 (setting 'jobbroker'): jobbroker.NW_ACTIVE must be a number"),
    ("broker tasks --constraint '1 +'", 21, "not a ClassAd expression"),
    # the state
    ("--state text.db queue", 5, "text.db is not a fairq state file"),
    ("--state text.db submit -- /bin/true", 5, "name another file with --state or FAIRQ_STATE"),
    ("--state . negotiate", 5, "it is a directory; name another file with --state or FAIRQ_STATE"),
    ("--state text.db/inside.db queue", 3, "text.db"),
    ("state backup text.db", 11, "the backup text.db was not written"),
    ("state backup no/such/place.db", 11, "the backup no/such/place.db was not written"),
    ("state history --limit -1", 2, "--limit"),
    ("state cycle 9", 62, "there is no negotiation cycle 9; the last one is 1, 'fairq state cycles' lists them"),
    ("demo --keep .", 60, ". cannot be created: file exists; give --keep a new directory"),
]  # fmt: skip


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Where the pool of all cases is kept once it was made."""
    return tmp_path_factory.mktemp("template") / "state.db"


@pytest.fixture
def pool(run, template, tmp_path, monkeypatch):
    """One slot that runs job 1.0 of anna, whose job 1.1 is idle; job 2.0 is held. All FILES lie around."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRQ_ACCOUNTING_UID_DOMAIN", "example.org")
    if not template.exists():
        for words in (
            "slots add node",
            "submit --count 2 --accounting-group-user anna -- /bin/sleep 1",
            "submit --accounting-group-user bert -- /bin/sleep 1",
            "hold 2",
            "negotiate",
        ):
            first, *rest = words.split(" ")
            assert run(first, "--state", template, *(["--now", NOW] if first != "slots" else []), *rest).code == 0
    for name, content in FILES.items():
        Path(name).write_bytes(content)
    shutil.copy(template, "state.db")
    Path("link.db").symlink_to("state.db")
    monkeypatch.setenv("FAIRQ_STATE", "state.db")
    return Path("state.db")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("line", "code", "message"), CASES, ids=[line[:60] for line, _, _ in CASES])
def test_wrong_input_is_refused_in_one_line_and_changes_nothing(line, code, message, run, pool, tmp_path):
    before = contents(tmp_path)

    ended = run(*shlex.split(line))

    assert (ended.code, ended.out) == (code, ""), ended.err
    assert ended.err.startswith("fairq: ")
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err and "internal error" not in ended.err
    assert contents(tmp_path) == before


def test_the_pool_itself_is_in_order(run, pool):
    """None of the above is refused because of the pool."""
    assert [job["JobStatus"] for job in json.loads(run("queue", "--json").out)] == [2, 1, 5]
    assert run("state", "check").code == 0
