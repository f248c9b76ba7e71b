"""Files of DAGMan."""

import json
from pathlib import Path

import pytest

DIAMOND = """
# A comment.
JOB A node.sub
JOB B node.sub
JOB C node.sub DIR sub
Job D node.sub
PARENT A CHILD B C
parent B C child D
VARS B X="two words" N="2"
RETRY ALL_NODES 1
PRIORITY C 5
DOT diamond.dot
"""


@pytest.fixture
def fairq(run, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "executable = /bin/true\narguments = $(JOB) $(X)\nqueue $(N:1)\n"
    Path("sub").mkdir()
    for folder in (".", "sub"):
        Path(folder, "node.sub").write_text(text)

    def ended(*words, code=0):
        found = run("--state", state, *words)
        assert found.code == code, found.err
        return found

    ended("slots", "add", "a", "--count", "4")
    return ended


def submit(fairq, text, *words, code=0):
    Path("test.dag").write_text(text)
    return fairq("submit", "test.dag", *words, code=code)


def waits(fairq):
    found = json.loads(fairq("queue", "--json").out)
    return {
        f"{one['DAGNodeName']}{one['ProcId']}": one.get("WaitsFor", {1: "", 2: "runs", 5: "held"}[one["JobStatus"]])
        for one in found
    }


def test_nodes_run_one_after_another(fairq):
    ended = submit(fairq, DIAMOND)
    assert ended.out == "5 job(s) of 4 nodes submitted to clusters 1-4.\n"
    assert "without effect here: DOT" in ended.err
    assert waits(fairq) == {"A0": "", "B0": "after_ok 1", "B1": "after_ok 1", "C0": "after_ok 1",
                            "D0": "after_ok 2, after_ok 3"}  # fmt: skip
    ads = {job["DAGNodeName"]: job for job in json.loads(fairq("queue", "--json").out)}
    assert (ads["B"]["Args"], ads["C"]["JobPrio"], ads["C"]["Iwd"]) == ("B two words", 5, str(Path("sub").absolute()))
    assert (ads["A"]["JobMaxRetries"], ads["A"]["JobBatchName"]) == (1, "test.dag")
    for names, then in (
        (["1.0"], {"B0": "", "B1": "", "C0": "", "D0": "after_ok 2, after_ok 3"}),
        (["2.0", "2.1"], {"C0": "runs", "D0": "after_ok 3"}),
        (["3.0"], {"D0": ""}),
    ):
        fairq("negotiate")
        fairq("finish", *names)
        assert waits(fairq) == then


def test_a_node_that_fails_holds_what_comes_after_it(fairq):
    submit(fairq, "JOB A node.sub\nJOB B node.sub\nJOB C node.sub\nPARENT A CHILD B\nPARENT B CHILD C\n")
    fairq("negotiate")
    fairq("finish", "1.0", "--exit-code", "1")
    assert waits(fairq) == {"B0": "held", "C0": "after_ok 2"}


def test_done_nodes_are_not_submitted(fairq):
    submit(fairq, "JOB A node.sub DONE\nJOB B node.sub\nJOB C node.sub\nPARENT A CHILD B\nPARENT B CHILD C\nDONE B\n")
    assert waits(fairq) == {"C0": ""}


def test_a_whole_dag_is_undone(fairq):
    submit(fairq, DIAMOND)
    fairq("submit", "--after", "4", "--", "/bin/true")
    numbers = [entry["number"] for entry in json.loads(fairq("state", "history", "--json").out)]
    assert "job 5.0 waits for it" in fairq("undo", str(numbers[-2]), code=103).err
    fairq("undo")
    fairq("undo")
    assert waits(fairq) == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("JOB A node.sub\nJOB B node.sub\nPARENT A CHILD B\nPARENT B CHILD A\n", "wait for each other: A -> B -> A"),
        ("JOB A node.sub\nSCRIPT PRE A x\n", "test.dag, line 2: fairq does not have SCRIPT"),
        ("JOB A node.sub\nMAXJOBS x\n", "line 2: write MAXJOBS CATEGORY N"),
        ("JOB A node.sub\nMAXJOBS\n", "line 2: MAXJOBS names no category"),
        ("JOB A node.sub\nCATEGORY A\n", "line 2: write CATEGORY NAME CATEGORY"),
        ("JOB A node.sub\nCATEGORY B big\n", "line 2: there is no node B above"),
        ("JOB A node.sub\nFLY A\n", "line 2: 'FLY' is no command of a DAG file"),
        ("JOB A node.sub\nPARENT A CHILD B\n", "line 2: there is no node B above"),
        ("JOB A node.sub\nJOB A node.sub\n", "line 2: there is another node A"),
        ("JOB A none.sub\n", "node A: none.sub: No such file or directory"),
        ("JOB A node.sub\nVARS A x=1\n", 'write VARS NAME macro="value"'),
        ("\n", "it has no node"),
    ],
)
def test_what_is_refused(fairq, text, problem):
    assert problem in submit(fairq, text, code=31).err
    assert waits(fairq) == {}


def test_nodes_of_a_category_are_limited_together(fairq):
    nodes = [f"JOB {name} node.sub" for name in "ABCDE"]
    lines = [*nodes, "PARENT A CHILD E", "CATEGORY ALL_NODES big", "CATEGORY E free", "MAXJOBS big 2", "PRIORITY D 5"]
    submit(fairq, "\n".join(lines))
    full = "the limit of 2 nodes of category big"
    assert waits(fairq) == {"A0": "", "B0": "", "C0": full, "D0": full, "E0": "after_ok 1"}
    fairq("hold", "2")
    fairq("negotiate")
    fairq("finish", "1")
    assert waits(fairq) == {"B0": "held", "C0": full, "D0": full, "E0": ""}
    fairq("negotiate")
    assert waits(fairq) == {"B0": "held", "C0": full, "D0": "runs", "E0": "runs"}
    fairq("remove", "2", "4")
    fairq("negotiate")
    assert waits(fairq) == {"C0": "runs", "E0": "runs"}


def test_alike_nodes_are_made_as_each_alone(fairq):
    """Nodes share what their descriptions have in common, but for macros that decide which lines count."""
    Path("node.sub").write_text(
        "if $(BIG)\n request_memory = 2048\nendif\nexecutable = /bin/true\n"
        'arguments = "$(JOB) $(Cluster).$(Process) $(X) $(Y)"\nY = own\nqueue $(N)\n'
    )
    nodes = {"A": "false 1 plain", "B": "true 2 plain", "C": "false 2 $(JOB)$(Process)", "D": "false 1 other"}
    lines = [f"JOB {name} node.sub" for name in nodes]
    for name, values in nodes.items():
        big, count, x = values.split()
        lines.append(f'VARS {name} BIG="{big}" N="{count}" X="{x}" Y="not seen"')
    assert submit(fairq, "\n".join(lines)).out.startswith("6 job(s) of 4 nodes")
    found = json.loads(fairq("queue", "--json").out)
    assert [(ad["RequestMemory"], ad.get("Arguments", ad.get("Args"))) for ad in found] == [
        (128, "A 1.0 plain own"), (2048, "B 2.0 plain own"), (2048, "B 2.1 plain own"), (128, "C 3.0 C0 own"),
        (128, "C 3.1 C1 own"), (128, "D 4.0 other own"),
    ]  # fmt: skip


def test_a_dry_run_queues_nothing(fairq):
    assert submit(fairq, DIAMOND, "--dry-run").out == "5 job(s) of 4 nodes would be submitted to clusters 1-4.\n"
    assert waits(fairq) == {}


def test_options_of_programs_are_refused(fairq):
    Path("a.dag").write_text("JOB A node.sub\n")
    for option in (["--mem", "1GB"], ["--after-ok", "1"], ["--count", "2"], ["--max-running", "2"]):
        assert f"{option[0]} is not for a DAG" in fairq("submit", *option, "a.dag", code=2).err
