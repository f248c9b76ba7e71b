"""No value of a job stops the jobs of others where users submit through real sudo and jobs run as their owners.

FAIRQ_TEST_HOSTILE is how many jobs are drawn. It runs where FAIRQ_TEST_SUDO is set, as root: see `test_owners`.
"""

from __future__ import annotations

import json

import pytest
from tests.host.verb.host import ACCOUNT, missing
from tests.host.verb.test_sudo import answer, call, document
from tests.launch.owners_host import ANN, EVE, emptied, home, owners_host
from tests.launch.test_hostile_attributes import DRAWN, drawn

from fairq.state import jobs
from fairq.state.connection import reading

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


def test_no_attribute_stops_the_jobs_of_another_owner():
    with owners_host() as host, emptied(host):

        def submit(user, count, ad):
            group = {"first": 0, "last": count - 1, "ad": 0, "own": None, "template": None, "priority": 0,
                     "reason": None}  # fmt: skip
            complete_ad = {"Cmd": "/bin/true", "Iwd": str(home(user)), "Requirements": "/Expr(true)/", **ad}
            return answer(
                call(
                    host.directory / "apply", user, document("submit", ads=[complete_ad], groups=[group], cluster=None)
                )
            )

        answers = [submit(EVE, 1, {name: value}) for name, value in drawn(DRAWN)]
        assert any("done" in reply for reply in answers)
        assert not [reply for reply in answers if "internal error" in reply.get("refused", "")]
        submit(ANN, 20, {})

        def left(owner):
            with reading(host.state) as state:
                return list(jobs.select(state, owner=owner))

        matched: set[str] = set()
        for _ in range(40 + DRAWN):
            turn = host.pool_host.fairq(ACCOUNT, "negotiate", "-q", "--json")
            assert (turn.returncode, "Traceback" in turn.stderr) == (0, False), turn.stderr
            former = len(matched)
            matched.update(match["job"] for match in json.loads(turn.stdout)["matches"])
            if len(matched) == former and not left(ANN):
                break
        assert left(ANN) == []
        assert not [job.reason for job in left(EVE) if job.hold_code == 91]
