"""Jobs are offered in their order, and one kind is given up after its first failure."""

from tests.engine.negotiation.pools import cycle, jobs, slots

from fairq.engine.negotiation.rejections import RejectReason


def test_higher_job_priority_goes_first_then_the_older_cluster():
    """Of three clusters the one of highest JobPrio runs first; equals go by cluster."""
    wants = {"a@x": [jobs(2, JobPrio=-5), jobs(2), jobs(2, JobPrio=10), jobs(2)]}
    decision = cycle(slots(5), wants)

    assert [(m.cluster, m.proc) for m in decision.matches] == [(3, 0), (3, 1), (2, 0), (2, 1), (4, 0)]


def test_pre_job_priorities_outrank_the_job_priority():
    """PreJobPrio1 counts before JobPrio, PostJobPrio1 after it."""
    wants = {"a@x": [jobs(1, JobPrio=10), jobs(1, PreJobPrio1=1), jobs(1, JobPrio=10, PostJobPrio1=3)]}
    decision = cycle(slots(3), wants)

    assert [m.cluster for m in decision.matches] == [2, 3, 1]


def test_a_kind_that_fails_is_skipped_and_the_next_kind_is_tried():
    """Jobs that ask too much are refused once; jobs of another kind behind them still run."""
    wants = {"a@x": [jobs(5, RequestMemory=99999), jobs(2), jobs(5, RequestMemory=99999)]}
    decision = cycle(slots(5), wants)

    assert [m.cluster for m in decision.matches] == [2, 2]
    assert [(r.request, r.reason) for r in decision.rejections] == [((1, 0), RejectReason.NO_MATCH)]


def test_jobs_that_differ_only_in_what_nobody_reads_are_of_one_kind():
    """An attribute that no expression reads does not make another request of a job."""
    wants = {"a@x": [jobs(1, RequestMemory=99999, Remark="one"), jobs(1, RequestMemory=99999, Remark="two")]}
    decision = cycle(slots(1), wants)

    assert len(decision.rejections) == 1


def test_an_attribute_that_a_slot_reads_makes_another_kind():
    """A slot whose Requirements read the job's Project tells projects apart."""
    pool = slots(2, Requirements='/Expr(TARGET.Project == "astro")/')
    wants = {"a@x": [jobs(1, Project="bio"), jobs(1, Project="astro")]}
    decision = cycle(pool, wants)

    assert [m.cluster for m in decision.matches] == [2]
    assert [r.request for r in decision.rejections] == [(1, 0)]


def test_an_expression_that_may_read_anything_tells_all_jobs_apart():
    """A slot that evaluates a text as an expression may look at any attribute of the job."""
    pool = slots(2, Requirements='/Expr(eval(strcat("TARGET.Pro", "ject")) == "astro")/')
    wants = {"a@x": [jobs(1, Project="bio"), jobs(1, Project="astro")]}
    decision = cycle(pool, wants)

    assert [m.cluster for m in decision.matches] == [2]
