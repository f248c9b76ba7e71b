"""Rows of the queue: running jobs of one range share a line only where they are alike."""

from fairq.common.records import Claim, JobRange, JobStatus, SlotRecord
from fairq.settings import load
from fairq.state import claims, jobs, slots
from fairq.state.connection import writing
from fairq.steps.jobs.selection import Selection
from fairq.steps.jobs.view import look, queue_pages

NOW = 1_795_000_000


def test_running_jobs_share_a_line_where_their_claims_are_alike(state):
    settings = load(None, state, {})
    matched, started = (Claim(0, "a@x", NOW - 9, 1.0, "", 0, 0, matched=made) for made in (True, False))
    held = {1: [matched] * 4, 2: [matched, matched, started, started], 3: [started, None, None, started], 4: [], 5: []}
    with writing(state) as opened:
        slots.add(opened, [SlotRecord(0, f"s{number}", {}) for number in range(10)])
        ad, free = jobs.ad_id(opened, {"Cmd": "/x"}), iter(range(1, 11))
        jobs.add(opened, [JobRange(n, 0, 3, ad, "a@x", "a", JobStatus.RUNNING, NOW - 99, NOW - 9) for n in held])
        for cluster, of_procs in held.items():
            for proc, claim in enumerate(of_procs):
                if claim is not None:
                    values = {"slot_id": next(free), "schedd": "", "cluster": cluster, "proc": proc}
                    claims.store(opened, [Claim(submitter="a@x", start_time=NOW - 9, slot_weight=1.0,
                                                matched=claim.matched, **values)])  # fmt: skip

    with queue_pages(state, settings, NOW) as pages:
        rows = list(pages.rows())
    found = look(state, settings, Selection([], None), NOW)

    assert [row["Jobs"] for row in rows] == ["1.0-3", "2.0-1", "2.2-3", "3.0-3", "4.0-3", "5.0-3"]
    assert rows == list(found.rows())
    assert pages.matched() == found.matched() == 6
