"""What a submit description means: the jobs and ads that condor_submit would make of it."""

import time
from pathlib import Path

import pytest

from fairq.errors.pool import InvalidSubmitValueError, SubmitDescriptionError
from fairq.formats.submitfile import Context, Description, External, Program, submission, time_macros


def read(text, cluster=7, directory=Path("/tmp")):
    context = Context("alice", directory, "X86_64", "LINUX", {"HOME": "/home/alice", "LANG": "C", "X": "1 2"})
    return submission(Description(text, "job.sub", External(60)), cluster, context)


def ad_of(*lines, proc=0, queue="queue"):
    made = read("\n".join(["executable = /bin/sh", *lines, queue]))
    group = next(group for group in made.groups if group.first_proc <= proc <= group.last_proc)
    return {**group.ad(proc), "JobPrio": group.priority, "JobStatus": group.status}


def values(made, name):
    return [group.ad(proc)[name] for group in made.groups for proc in range(group.first_proc, group.last_proc + 1)]


ARCH = '(TARGET.Arch == "X86_64")'
PLATFORM = f'{ARCH} && (TARGET.OpSys == "LINUX")'
DISK = "(TARGET.Disk >= RequestDisk)"
MEMORY = "(TARGET.Memory >= RequestMemory)"


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        pytest.param([], {"RequestCpus": 1, "RequestMemory": 128, "RequestDisk": "/Expr(DiskUsage)/"}, id="defaults"),
        pytest.param(["request_memory = 2GB"], {"RequestMemory": 2048}, id="gigabytes are MB"),
        pytest.param(["request_memory = 1.5 G"], {"RequestMemory": 1536}, id="fractions"),
        pytest.param(["request_memory = 1"], {"RequestMemory": 1}, id="bare memory is MB"),
        pytest.param(["request_memory = 1K"], {"RequestMemory": 1}, id="amounts are rounded up"),
        pytest.param(["request_disk = 3M"], {"RequestDisk": 3072}, id="disk is KB"),
        pytest.param(["RequestCpus = 4"], {"RequestCpus": 4}, id="an attribute's name is a command too"),
        pytest.param(["request_cpus = 2 * 3"], {"RequestCpus": "/Expr(2 * 3)/"}, id="computed requests"),
        pytest.param(["request_licences = 2"], {"Requestlicences": 2}, id="custom resources"),
        pytest.param(["priority = -3"], {"JobPrio": -3}, id="priority"),
        pytest.param(["+JobPrio = 4"], {"JobPrio": 4}, id="priority as attribute"),
        pytest.param(["hold = true"], {"JobStatus": 5}, id="submitted on hold"),
        pytest.param(["rank = Memory"], {"Rank": "/Expr(Memory)/"}, id="rank"),
        pytest.param(['+Site = "CERN"'], {"Site": "CERN"}, id="plus attribute"),
        pytest.param(["+Owner = Undefined"], {"JobPrio": 0, "Owner": None}, id="an attribute left to fairq"),
        pytest.param(["My.Site = 5 + 2"], {"Site": "/Expr(5 + 2)/"}, id="My attribute"),
        pytest.param(["N = 4", "+Site = $(N)"], {"Site": 4}, id="macros in attributes"),
        pytest.param(["arguments = a b  c"], {"Args": "a b c"}, id="old arguments"),
        pytest.param(['arguments = a \\"b\\"'], {"Args": 'a "b"'}, id="old arguments with quotes"),
        pytest.param(["arguments = \"'a b' ''\""], {"Arguments": "'a b' ''"}, id="new arguments"),
        pytest.param(['arguments = "say ""hi"" it\'\'s"'], {"Arguments": 'say "hi" its'}, id="new quotes"),
        pytest.param(["shell = echo a > b"], {"Cmd": "/bin/sh", "Arguments": "-c 'echo a > b'"}, id="shell"),
        pytest.param(["environment = B=2;A=x y"], {"Environment": "'A=x y' B=2"}, id="old environment"),
        pytest.param(["environment = \"B=2 'A=x y'\""], {"Environment": "'A=x y' B=2"}, id="new environment"),
        pytest.param(
            ["getenv = true", "env = LANG=D"],
            {"Environment": "HOME=/home/alice LANG=D 'X=1 2'"},
            id="getenv, own variables win",
        ),
        pytest.param(["getenv = H*, !HO*"], {"Environment": ""}, id="getenv with patterns"),
        pytest.param(["output = o.$(Cluster).$(Process)"], {"Out": "o.7.0"}, id="cluster and process"),
        pytest.param(["log = x/../job.log"], {"UserLog": "/tmp/job.log"}, id="the log is an absolute path"),
        pytest.param(["initialdir = ..", "log = l"], {"Iwd": "/", "UserLog": "/l"}, id="initialdir"),
        pytest.param(
            ["accounting_group = g", "accounting_group_user = bob"],
            {"AcctGroup": "g", "AcctGroupUser": "bob", "AccountingGroup": "g.bob"},
            id="group and user",
        ),
        pytest.param(["accounting_group = g"], {"AccountingGroup": "g.alice"}, id="group alone"),
        pytest.param(["accounting_group_user = bob"], {"AccountingGroup": "bob"}, id="user alone is an alias"),
        pytest.param(
            ["nice_user = true"], {"AccountingGroup": "nice-user.alice", "MaxJobRetirementTime": 0}, id="nice user"
        ),
        pytest.param(["concurrency_limits = Lic:2 , DB"], {"ConcurrencyLimits": "db,lic:2"}, id="limits"),
        pytest.param(["notification = Error"], {"JobNotification": 3}, id="notification"),
        pytest.param(["a = $(b:x)", '+V = "$(a)"'], {"V": "x"}, id="default of a macro"),
        pytest.param(
            ['+V = "$CHOICE(1,a,b) $INT(n,%03d) $F(executable)"', "n = 2 * 3"],
            {"V": "b 006 /bin/sh"},
            id="macro functions",
        ),
        pytest.param(["if defined nothing", "+V = 1", "else", "+V = 2", "endif"], {"V": 2}, id="if and else"),
        pytest.param(["arguments = a \\", "  b"], {"Args": "a b"}, id="continuation lines"),
        pytest.param(
            ["request_gpus = 2", "gpus_minimum_memory = 8GB", "require_gpus = Capability > 7"],
            {
                "RequestGPUs": 2,
                "GPUsMinMemory": 8192,
                "RequireGPUs": "/Expr((Capability > 7) && GlobalMemoryMb >= GPUsMinMemory)/",
            },
            id="GPUs",
        ),
        pytest.param(
            ["universe = docker", "docker_image = debian"],
            {"JobUniverse": 5, "WantDocker": True, "DockerImage": "debian"},
            id="docker",
        ),
        pytest.param(
            ["universe = container", "docker_image = debian"],
            {"WantContainer": True, "WantDockerImage": True, "DockerImage": "debian", "WantDocker": None},
            id="a docker image in a container job",
        ),
        pytest.param(
            ["docker_image = debian"],
            {"WantContainer": True, "WantDockerImage": True, "WantDocker": None},
            id="an image makes a container job",
        ),
        pytest.param(
            ['container_image = "i.sif"'], {"WantContainer": True, "WantSIF": True, "ContainerImage": "i.sif"}, id="SIF"
        ),
        pytest.param(["container_image = dir/"], {"WantContainer": True, "WantSandboxImage": True}, id="directory"),
        pytest.param(
            ["container_image = docker://a/b"],
            {"WantContainer": True, "WantDockerImage": True, "ContainerImage": "docker://a/b"},
            id="image of a registry",
        ),
        pytest.param(["arguments @=end", "  a b", "# none", "c", "@end"], {"Args": "a b c"}, id="block"),
        pytest.param(["rank @= r-1", "Memory +", "Cpus", "@r-1"], {"Rank": "/Expr(Memory + Cpus)/"}, id="of a rank"),
        pytest.param(["transfer_executable = false"], {"Cmd": "/bin/sh", "TransferExecutable": False}, id="as it is"),
    ],
)
def test_a_command_becomes_the_attributes_of_condor_submit(lines, want):
    ad = ad_of(*lines)
    assert {name: ad.get(name) for name in want} == want


@pytest.mark.parametrize(
    ("lines", "want"),
    [
        pytest.param([], [PLATFORM, DISK, MEMORY], id="nothing of its own"),
        pytest.param(
            ['requirements = Arch == "arm"'],
            ['(Arch == "arm")', '(TARGET.OpSys == "LINUX")', DISK, MEMORY],
            id="its own architecture",
        ),
        pytest.param(
            ['requirements = TARGET.OpSysAndVer == "Debian12"'],
            ['(TARGET.OpSysAndVer == "Debian12")', '(TARGET.Arch == "X86_64")', DISK, MEMORY],
            id="its own system",
        ),
        pytest.param(["request_cpus = 4"], [PLATFORM, DISK, MEMORY, "(TARGET.Cpus >= RequestCpus)"], id="cores"),
        pytest.param(
            ["request_cpus = 4", "requirements = Cpus > 3"], ["(Cpus > 3)", PLATFORM, DISK, MEMORY], id="its own cores"
        ),
        pytest.param(["request_memory = undefined", "request_disk = 0"], [PLATFORM], id="nothing asked"),
        pytest.param(["request_gpus = 1"], [PLATFORM, DISK, MEMORY, "(TARGET.GPUs >= RequestGPUs)"], id="GPUs"),
        pytest.param(["+Requirements = Foo"], ["Foo"], id="forced ones stand alone"),
        pytest.param(
            ["universe = docker", "docker_image = a", "docker_network_type = lab"],
            [ARCH, "TARGET.HasDocker", "StringListMember(My.DockerNetworkType, TARGET.DockerNetworks)", DISK, MEMORY],
            id="docker",
        ),
        *(
            pytest.param(lines, [ARCH, "TARGET.HasContainer", f"TARGET.{kind}", DISK, MEMORY], id=f"{lines}")
            for lines, kind in [
                (["universe = container", "docker_image = docker://o/i:1"], "HasDockerURL"),
                (["docker_image = i"], "HasDockerURL"),
                (["container_image = docker://o/i"], "HasDockerURL"),
                (["container_image = i.sif"], "HasSIF"),
                (["container_image = /images/i"], "HasSandboxImage"),
            ]
        ),
    ],
)
def test_requirements_get_a_clause_for_what_they_do_not_speak_of(lines, want):
    assert ad_of(*lines)["Requirements"] == "/Expr(" + " && ".join(want) + ")/"


@pytest.mark.parametrize(
    ("queue", "want"),
    [
        pytest.param("queue", [""], id="one"),
        pytest.param("queue 3", ["", "", ""], id="a number"),
        pytest.param("N = 2\nqueue $(N) * 2", [""] * 4, id="a computed number"),
        pytest.param("queue item in (a, b c)", ["a", "b", "c"], id="in a list"),
        pytest.param("queue 2 item in (a b)", ["a", "a", "b", "b"], id="a number of each"),
        pytest.param("queue item in (\n a\n # no\n b\n)", ["a", "b"], id="in a list of lines"),
        pytest.param("queue item, other from (\n a x\n b, y z\n)", ["a x", "b y z"], id="from lines"),
        pytest.param("queue item from (\n a x\n b, y\n)", ["a x", "b, y"], id="one variable takes the whole line"),
        pytest.param("queue item from items.txt", ["one 1", "two 2", "three 3"], id="from a file"),
        pytest.param("queue item,other from items.txt", ["one 1", "two 2", "three 3"], id="variables from a file"),
        pytest.param("queue item from [1:] items.txt", ["two 2", "three 3"], id="a slice of a file"),
        pytest.param("queue item in [::2] (a b c d e)", ["a", "c", "e"], id="every second"),
        pytest.param("queue item in [-1:] (a b c)", ["c"], id="the last"),
        pytest.param("queue item from printf 'a\\nb' |", ["a", "b"], id="from a command"),
        pytest.param("queue item matching files d/*.dat", ["d/1.dat", "d/2.dat"], id="matching files"),
        pytest.param("queue item matching dirs d/*", ["d/sub/"], id="matching directories"),
        pytest.param("queue item in (a b)\nqueue item in (c)", ["a", "b", "c"], id="two statements"),
        pytest.param("queue\n+Late = 1\nqueue", ["", ""], id="later lines are for later statements"),
        pytest.param("if false\nqueue 5\nelse\nqueue 2\nendif", ["", ""], id="inside if"),
    ],
)
def test_every_form_of_queue(queue, want, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.txt").write_text("one 1\ntwo 2\nthree 3\n")
    (tmp_path / "d" / "sub").mkdir(parents=True)
    for name in ("1.dat", "2.dat", "3.txt"):
        (tmp_path / "d" / name).touch()

    made = read(f'executable = /bin/sh\n+V = "$(item) $(other)"\n{queue}\n', directory=tmp_path)

    assert [str(value).strip() for value in values(made, "V")] == want
    assert made.groups[0].first_proc == 0
    assert len(made) == len(want)


def test_a_statement_does_not_see_what_stands_below_it():
    made = read("executable = /bin/sh\n+V = 1\nqueue\n+V = 2\nqueue")
    assert values(made, "V") == [1, 2]


def test_row_step_and_process_count_as_in_condor_submit():
    made = read('executable=/bin/sh\n+V="$(Process) $(Step) $(Row) $(item)"\nqueue 2 item in [1:] (a b c)')
    assert values(made, "V") == ["0 0 1 b", "1 1 1 b", "2 0 2 c", "3 1 2 c"]


def test_a_million_jobs_that_differ_in_their_number_are_one_template():
    made = read("executable=/bin/sh\narguments=$(Process)\noutput=o.$(ProcId)\n+P=$(Step)\nqueue 1000000")
    (group,) = made.groups
    assert (group.first_proc, group.last_proc) == (0, 999_999)
    assert group.ad(31337)["Args"] == "31337"
    assert group.ad(31337)["Out"] == "o.31337"


@pytest.mark.parametrize(
    "line",
    [
        "+V = $INT(Process,%02d)",
        "request_memory = $(Process)",
        "priority = $(Process)",
        '+V = "$RANDOM_INTEGER(1,9)"',
        'm = $(Process)\n+V = "$CHOICE(m,a,b,c)"',
    ],
)
def test_what_is_computed_from_the_number_is_worked_out_for_every_job(line):
    text = f"executable=/bin/sh\n{line}\nqueue 3"
    made = read(text)
    assert [group.first_proc for group in made.groups] == [0, 1, 2]


def test_equal_ads_of_two_statements_are_equal():
    made = read("executable=/bin/sh\nqueue\nqueue")
    assert made.groups[0].shared == made.groups[1].shared


def test_unused_lines_are_told_as_condor_submit_does():
    made = read("executable=/bin/sh\nmemroy = 5\nx = 3\n+V = $(x)\nrequest_cpu = 2\nqueue")
    assert made.warnings == [
        "request_cpu is not a valid submit command, did you mean request_cpus?",
        "the line 'memroy = 5' was unused by fairq. Is it a typo?",
    ]


def test_the_macros_of_the_submission_s_time_hold_local_time_everywhere(monkeypatch, tmp_path):
    (tmp_path / "of2026").write_text("output = out.$(YEAR)-$(MONTH)-$(DAY).$(SUBMIT_TIME)\n")
    text = (
        f"executable = /bin/sh\ninclude : {tmp_path}/of$(year)\nif $(Month)\n+November = true\nendif\n"
        "DAY = 7\n+Day = $(DAY)\nqueue arguments in (a$(YEAR) b)\n"
    )
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    macros = time_macros(1795165200 + 8 * 3600)
    monkeypatch.undo()
    time.tzset()
    context = Context("alice", tmp_path, "X86_64", "LINUX", {})
    made = submission(Description(text, "job.sub", External(60), macros), 1, context)
    assert values(made, "Out") == ["out.2026-11-7.1795194000"] * 2
    assert values(made, "Args") == ["a2026", "b"]
    assert values(made, "November") == [True] * 2
    assert (macros["DAY"], macros["HOUR"]) == ("21", "3600")
    program = submission(Program(["/bin/sh"], {"output": "o.$(YEAR)"}, 1, macros), 1, context)
    assert values(program, "Out") == ["o.2026"]


RUN_IT = "if it is a program, run it with 'fairq submit -- PROGRAM'"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!/bin/sh\n", f"job.sub: there is no queue statement; {RUN_IT}"),
        ("#!/bin/sh\nls -l\n", f"job.sub, line 2: 'ls -l' is neither NAME = VALUE nor a queue statement; {RUN_IT}"),
        ("a = 1\n", "job.sub: there is no queue statement; end the description with a line 'queue'"),
    ],
)
def test_a_script_is_no_description_and_the_message_tells_how_to_run_it(text, message):
    with pytest.raises(SubmitDescriptionError) as caught:
        list(Description(text, "job.sub", External(60)).statements())
    assert str(caught.value) == message


BAD = [
    ("", SubmitDescriptionError, "no queue statement"),
    ("foo bar\nqueue", SubmitDescriptionError, "line 2: 'foo bar' is neither"),
    ("JOB A a.sub", SubmitDescriptionError, "line 2"),
    ("if foo\nendif\nqueue", SubmitDescriptionError, "line 2"),
    ("if true\nqueue", SubmitDescriptionError, "line 2: this 'if' has no 'endif'"),
    ("include : /no/such/file\nqueue", SubmitDescriptionError, "line 2"),
    ("error : not today\nqueue", SubmitDescriptionError, "line 2"),
    ("a @=end\nx\nqueue", SubmitDescriptionError, "line 2: the block is not closed"),
    ("x=$(y)\ny=$(x)\nqueue", SubmitDescriptionError, "refer to each other"),
    ("x=$(y)\ny=$(x)\nif $(x)\nendif\nqueue", SubmitDescriptionError, "line 4: macros refer to each other"),
    ("arguments=$(x)\nqueue x in ($(x))", SubmitDescriptionError, "queue no job"),
    ("arguments=$(x)\nqueue x from (\n$(y)\n$(x)\n)", SubmitDescriptionError, "refer to each other: x -> x"),
    ("queue 1 2", SubmitDescriptionError, "'1 2' is not a number"),
    ("queue -1", SubmitDescriptionError, "-1 jobs"),
    ("queue 99999999999", SubmitDescriptionError, "99999999999 jobs"),
    ("queue 0", SubmitDescriptionError, "queue no job"),
    ("queue x in", SubmitDescriptionError, "nothing follows 'in'"),
    ("queue x in ()", SubmitDescriptionError, "queue no job"),
    ("queue x in (a\nb", SubmitDescriptionError, "line 2: the list"),
    ("queue x in files (a)", SubmitDescriptionError, "'files' cannot follow 'in'"),
    ("queue x in [a] (b)", SubmitDescriptionError, "not a slice"),
    ("queue x in [::0] (b)", SubmitDescriptionError, "step of a slice"),
    ("queue x from /no/such/file", SubmitDescriptionError, "No such file"),
    ("queue x from /no/such/command |", SubmitDescriptionError, "failed"),
    ("queue x from false |", SubmitDescriptionError, "failed"),
    ("queue x from -", SubmitDescriptionError, "standard input"),
    ("queue x matching /no/such/*", SubmitDescriptionError, "queue no job"),
    ("executable =\nqueue", InvalidSubmitValueError, "invalid executable"),
    ("executable = /no/such/program\nqueue", InvalidSubmitValueError, "line 2: invalid executable"),
    ("executable = /tmp\nqueue", InvalidSubmitValueError, "there is no file /tmp"),
    ("initialdir = /no/such/dir\nqueue", InvalidSubmitValueError, "line 2: invalid initialdir"),
    ("input = /no/such/input\nqueue", InvalidSubmitValueError, "line 2: invalid input"),
    ('arguments = "a\nqueue', InvalidSubmitValueError, "closing double quote"),
    ('arguments = "a \'b"\nqueue', InvalidSubmitValueError, "single quote"),
    ('arguments = a"b\nqueue', InvalidSubmitValueError, "double quote"),
    ('arguments = "a" b\nqueue', InvalidSubmitValueError, "text follows"),
    ("environment = nothing\nqueue", InvalidSubmitValueError, "NAME=value"),
    ("request_memory = 2XB\nqueue", InvalidSubmitValueError, "line 2: invalid request_memory: 2XB"),
    ("request_memory = -1\nqueue", InvalidSubmitValueError, "0 or more"),
    ('request_memory = "2GB"\nqueue', InvalidSubmitValueError, "without quotes"),
    ("request_cpus = many cores\nqueue", InvalidSubmitValueError, "not a ClassAd expression"),
    ("requirements = (Memory > \nqueue", InvalidSubmitValueError, "invalid requirements"),
    ("requirements = Requirements && true\nqueue", InvalidSubmitValueError, "refers to itself"),
    ("rank = )\nqueue", InvalidSubmitValueError, "invalid rank"),
    ("priority = high\nqueue", InvalidSubmitValueError, "whole number"),
    ("priority = 99999999999\nqueue", InvalidSubmitValueError, "to 2147483647"),
    ("accounting_group = a b\nqueue", InvalidSubmitValueError, "invalid accounting_group: a b"),
    ("accounting_group_user = a b\nqueue", InvalidSubmitValueError, "invalid accounting_group_user: a b"),
    ("concurrency_limits = a-b\nqueue", InvalidSubmitValueError, "invalid concurrency_limits"),
    ("nice_user = perhaps\nqueue", InvalidSubmitValueError, "true or false"),
    ("universe = grid\nqueue", InvalidSubmitValueError, "invalid universe"),
    ("universe = docker\nqueue", InvalidSubmitValueError, "docker_image"),
    ("universe = container\nqueue", InvalidSubmitValueError, "container_image or docker_image"),
    ("docker_image = a\ncontainer_image = b\nqueue", InvalidSubmitValueError, "either"),
    ("container_image = library://a\nqueue", InvalidSubmitValueError, "line 2: invalid container_image: library://a"),
    ("notification = loud\nqueue", InvalidSubmitValueError, "invalid notification"),
    ('+Owner = "root"\nqueue', InvalidSubmitValueError, "fairq sets this attribute itself"),
    ("+Site = CERN dot ch\nqueue", InvalidSubmitValueError, "double quotes"),
    ("max_retries = few\nqueue", InvalidSubmitValueError, "whole number"),
]


@pytest.mark.parametrize(("text", "error", "message"), BAD, ids=[text.replace("\n", " | ") for text, _, _ in BAD])
def test_a_wrong_description_is_refused_naming_the_place(text, error, message):
    with pytest.raises(error) as caught:
        read("executable = /bin/sh\n" + text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_variable_of_the_queue_statement_is_a_command_where_it_has_the_name_of_one():
    made = read("executable=/bin/sh\nqueue arguments, request_memory, MY.Site from (\na 3 1\nb 1GB 2\n)")
    assert values(made, "Args") == ["a", "b"]
    assert values(made, "RequestMemory") == [3, 1024]
    assert values(made, "Site") == [1, 2]
