"""Edits, reruns and their undo that are killed: each is there as a whole, with its history, or not at all.

FAIRQ_TEST_KILLS is the number of kills; 300 take ten minutes.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter

KILLS = int(os.environ.get("FAIRQ_TEST_KILLS", "5"))
JOBS = 20


def test_killed_edits_and_reruns(run, state):
    def fairq(*words):
        ended = run("--state", state, *words)
        assert ended.code == 0, ended.err
        return ended.out

    fairq("slots", "add", "m", "--count", JOBS)
    fairq("submit", "--count", JOBS, "--output", "o.$(Process)", "--", "/bin/true")
    fairq("submit", "--after-ok", "1", "--", "/bin/true")
    fairq("negotiate")
    fairq("finish", "1", "--exit-code", "3")
    fairq("submit", "--count", JOBS, "--request-memory", "100+$(Process)", "--", "/bin/true")
    draw = random.Random(3)
    done = Counter()
    for number in range(KILLS):
        words = draw.choice([("edit", "3", "--mem", str(200 + number)), ("rerun", "1"), ("undo",)])
        if words == ("undo",) and "submit" in run("--state", state, "undo", "--dry-run").out:
            continue
        line = [sys.executable, "-m", "fairq", "-q", "--state", str(state), *words]
        child = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            child.wait(draw.uniform(0.3, 3))
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
        done[words[0], child.returncode] += 1
        ads = json.loads(fairq("queue", "--json"))
        memory = {ad["RequestMemory"] for ad in ads if ad["ClusterId"] == 3}
        assert len(memory) in (1, JOBS), "an edit is there in part"
        reruns = Counter(ad["ClusterId"] for ad in ads if ad.get("RerunOf") == 1)
        assert set(reruns.values()) <= {JOBS}, "a rerun is there in part"
        follower = next(ad for ad in ads if ad["ClusterId"] == 2)
        waits = follower.get("WaitsFor", "")
        assert waits == "" or int(waits.split()[1]) in reruns, "a job waits for what is not there"
        assert (follower["JobStatus"] == 5) == (waits == "")
        entries = [
            entry for entry in json.loads(fairq("state", "history", "--json")) if "RerunOf" in (entry["after"] or {})
        ]
        assert {f"job {cluster}" for cluster in reruns} <= {entry["subject"] for entry in entries}
    fairq("state", "check")
    history = json.loads(fairq("state", "history", "--json"))
    sys.stdout.write(f"{dict(done)}; {len(history)} changes are in the history\n")
