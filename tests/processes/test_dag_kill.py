"""Turns that are killed while a DAG runs: each node runs once, after its parents.

FAIRQ_TEST_KILLS is the number of kills; from 100 on, the DAG has 200 nodes. 500 take a quarter of an hour.
"""

import os
import random
import signal
import subprocess
import sys

KILLS = int(os.environ.get("FAIRQ_TEST_KILLS", "6"))
NODES = 12 if KILLS < 100 else 200
TEXT = """executable = /bin/sh
arguments = "-c 'echo $(JOB) >> begun; sleep 0.05; echo $(JOB) >> ended'"
queue
"""


def test_a_dag_whose_turns_are_killed(tmp_path):
    environment = {**os.environ, "FAIRQ_STATE": str(tmp_path / "pool.db")}

    def fairq(*words):
        line = [sys.executable, "-m", "fairq", *words]
        return subprocess.run(line, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True).stdout

    draw = random.Random(7)
    parents = {number: draw.sample(range(number), min(number, 2)) for number in range(1, NODES)}
    lines = [f"JOB n{number} n.sub" for number in range(NODES)]
    lines += [f"PARENT n{parent} CHILD n{child}" for child, of in parents.items() for parent in of]
    (tmp_path / "n.sub").write_text(TEXT)
    (tmp_path / "test.dag").write_text("\n".join(lines))
    fairq("-q", "slots", "add", "m", "--count", "4", "--attribute", 'Launch="local"')
    fairq("submit", "test.dag")
    for _ in range(KILLS):
        line = [sys.executable, "-m", "fairq", "-q", "negotiate"]
        turn = subprocess.Popen(line, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
        try:
            turn.wait(draw.uniform(0.3, 2))
        except subprocess.TimeoutExpired:
            turn.send_signal(signal.SIGKILL)
            turn.wait()
    fairq("-q", "run", "--until-idle")
    ended = (tmp_path / "ended").read_text().split()
    assert sorted(ended) == sorted((tmp_path / "begun").read_text().split())
    assert sorted(ended) == sorted(f"n{number}" for number in range(NODES))
    place = {name: number for number, name in enumerate(ended)}
    assert all(place[f"n{parent}"] < place[f"n{child}"] for child, of in parents.items() for parent in of)
    assert fairq("queue", "--json") == "[]\n"
    fairq("state", "check")
