"""``fairq taskqueues match`` and ``why``: how a pilot is described, and what is told of it."""

from tests.cli.test_taskqueues import PILOT, pool, queues, settings, submit

__all__ = ["pool"]


def test_a_dry_run_that_hands_out_nothing_says_only_that(run, pool):
    submit(run, "anna", "u", Sites='"A"')
    told = pool("taskqueues", "match", *PILOT, "--dry-run").err
    assert (
        told == "the pilot gets no job: the only task queue does not match; see fairq taskqueues why QUEUE --site ...\n"
    )


def test_why_shows_large_numbers_as_they_were_given(run, pool, state):
    settings(state, '[shares]\ntask_queue_cpu_time_intervals = "100, 9000000"\n')
    submit(run, "anna", "u", CPUTime="200", MinRAM="9999999")
    asked = ("--site", "A", "--cputime", 1234567, "--max-ram", 7654321)
    told = pool("taskqueues", "why", 1, *asked, "--json")
    assert [one["offered"] for one in told["failures"]] == ["1234567", "7654321"]


def test_groups_and_use_occur_once_and_null_is_no_share(pool, tmp_path):
    dump = tmp_path / "dirac"
    dump.mkdir()
    (dump / "task_queues.csv").write_text("TQId,Owner,OwnerGroup,CPUTime,Jobs\n1,ann,g,100,1\n")
    groups = dump / "groups.json"
    groups.write_text('{"g": {"JobShare": 5}, "g": {"JobShare": 6}}')
    assert "groups: duplicate group g; remove one" in pool("taskqueues", "import", dump, code=78).err
    (dump / "history.tsv").write_text("Group\tTimeSpan\tEntity\tAverage\n\t3600\tg\t5\n\t3600\tg\t9\n")
    groups.write_text('{"g": {"JobShare": null}}')
    twice = "fairq: history.tsv, line 3: duplicate use of g in 3600 s; remove one\n"
    assert pool("taskqueues", "import", dump, code=78).err == twice
    (dump / "history.tsv").unlink()
    pool("taskqueues", "import", dump)
    assert queues(pool)[0]["priority"] == 1000


def test_a_pilot_with_a_proxy_takes_its_own_users_jobs(run, pool, state):
    """Of a group with job sharing it takes anybody's; under DIRAC's rules of any group."""
    groups = "[shares.groups.u]\n[shares.groups.p]\njob_sharing = true\n"
    settings(state, groups)
    for owner, group in (("ann", "u"), ("bob", "u"), ("ann", "p"), ("bob", "p")):
        submit(run, owner, group)

    def taken(proxy):
        asked = ("taskqueues", "match", *PILOT, "--proxy", proxy, "--count", 9, "--dry-run", "--json")
        return {(one["owner"], one["group"]) for one in pool(*asked)["matches"]}

    assert taken("ann@u") == {("ann", "u")}
    assert taken("ann@p") == {("ann", "p"), ("bob", "p")}
    assert "--proxy bob@u" in pool("taskqueues", "why", 2, *PILOT, "--proxy", "ann@u").out
    assert "write USER@GROUP" in pool("taskqueues", "match", *PILOT, "--proxy", "ann", code=67).err
    assert "give only one of the two" in pool("taskqueues", "match", *PILOT, "--proxy", "a@u", "--vo", "x", code=67).err
    settings(state, f'[shares]\nprivate_pilots = "group"\n{groups}')
    assert taken("ann@u") == {("ann", "u"), ("bob", "u")}
