"""PanDA's page on brokerage, sentence by sentence: timeouts, and the analysis brokerage."""

from __future__ import annotations

from typing import Any

import pytest
from tests.documents.broker_pool import (
    HOUR,
    NOW,
    answer,
    asked,
    at,
    files,
    jobs,
    pool,
    run,
    setting,
    store,
    user,
)
from tests.documents.sentences import Text, says

from fairq.common.records import Actor
from fairq.settings import load
from fairq.steps.broker.timeouts import clean

TEXT = Text("PanDA Brokerage",
            "PanDA documentation, advanced section, page brokerage.rst")  # fmt: skip

SAT: dict[str, dict[str, Any]] = {"SAT": {}}


PLAIN = {"workflow": "push", "status": "online"}


def timed_out(state, job, queue=None, **ages):
    """Return the rows of the timeouts that end a job; ages in hours, the others are not known."""
    times = {f"{name}Time": NOW - age * HOUR for name, age in ages.items()}
    fresh = {"creationTime": NOW - 1000 * 24 * HOUR, "modificationTime": NOW}
    store(state, queues=[{"name": "Q"} | PLAIN | (queue or {})],
          jobs=[{"PandaID": 1, "computingSite": "Q"} | fresh | times | job])  # fmt: skip
    return [str(one["row"]) for one in clean(state, SETTINGS, Actor("test", "test", NOW)).found]


SETTINGS = load(None, None, {"FAIRQ_CONFIG": "/dev/null"})

LIMITS: dict[str, tuple[dict[str, Any], float, str]] = {
    "Timeout Rules, pending": ({"jobStatus": "pending"}, 1, "pending"),
    "Timeout Rules, defined": ({"jobStatus": "defined", "lockedby": "jedi"}, 4, "defined"),
    "Timeout Rules, assigned": ({"jobStatus": "assigned"}, 12, "assigned"),
    "Timeout Rules, throttled": ({"jobStatus": "throttled"}, 7 * 24, "throttled"),
    "Timeout Rules, activated": ({"jobStatus": "activated"}, 48, "activated"),
    "Timeout Rules, starting": ({"jobStatus": "starting"}, 48, "starting"),
    "Timeout Rules, sent": ({"jobStatus": "sent"}, 0.5, "sent"),
    "Timeout Rules, running": ({"jobStatus": "running"}, 21 * 24, "active_long"),
    "Timeout Rules, holding": ({"jobStatus": "holding", "currentPriority": 799}, 48, "holding"),
    "Timeout Rules, holding, 800": ({"jobStatus": "holding", "currentPriority": 800}, 3, "holding_high"),
}


class TestTimeouts:
    @says("Timeout Rules, items 1 to 5, 7, 8 and 11",
          points=["broker.timeouts_of_state", "broker.timeouts_of_all", "broker.extra_timeouts",
                  "broker.holding_from_800"],
          note="'days' for holding jobs are the 48 hours of TIMEOUT_holding")  # fmt: skip
    @pytest.mark.parametrize("label", ["managed", "user"])
    @pytest.mark.parametrize("case", LIMITS)
    def test_each_state_has_its_limit(self, state, case, label):
        """pending 1 h, defined 4 h, assigned 12 h, throttled 7 d, activated and starting 2 d, sent 30 min, running
        21 d, holding 3 h from priority 800 and days below, each since the job entered the state."""
        job, limit, row = LIMITS[case]
        job = job | {"prodSourceLabel": label, "jediTaskID": 5, "jobDefinitionID": None}
        assert timed_out(state, job, stateChange=limit) == []
        assert timed_out(state, job, stateChange=limit + 0.01) == [row]

    @says("Timeout Rules, item 6")
    @pytest.mark.parametrize("status", ["activated", "starting"])
    def test_urgent_jobs_at_inactive_queues(self, state, status):
        """4 hours for urgent activated or starting jobs at queues whose last start is older than 2 hours."""
        job = {"jobStatus": status, "currentPriority": 800}
        store(state, pilots=[{"queue": "Q", "lastStart": NOW - 2 * HOUR - 1}])
        assert timed_out(state, job, stateChange=4) == []
        assert len(timed_out(state, job, stateChange=4.01)) == 1
        assert timed_out(state, job | {"currentPriority": 799}, stateChange=4.01) == []
        store(state, pilots=[{"queue": "Q", "lastStart": NOW - 2 * HOUR}])
        assert timed_out(state, job, stateChange=4.01) == []

    @says("Timeout Rules, item 9")
    @pytest.mark.parametrize("label", ["managed", "user"])
    def test_heartbeats(self, state, label):
        """2 hours without heartbeat, or what HEARTBEAT_TIMEOUT of the workflow says, for running and starting jobs."""
        for status in ("running", "starting"):
            job = {"jobStatus": status, "prodSourceLabel": label}
            assert timed_out(state, job, modification=2, stateChange=3) == []
            assert timed_out(state, job, modification=2.01, stateChange=3) == ["heartbeat"]
        store(state, config=setting(watcher__HEARTBEAT_TIMEOUT_push=5))
        assert timed_out(state, job, modification=5, stateChange=6) == []
        assert timed_out(state, job, modification=5.01, stateChange=6) == ["heartbeat"]

    @says("Timeout Rules, item 10", points=["broker.transferring_heartbeat_of_all"])
    def test_transferring_heartbeats(self, state):
        """Transferring jobs with a jobSubStatus have the same timeout."""
        job = {"jobStatus": "transferring", "jobSubStatus": "os"}
        assert timed_out(state, job, modification=2.01, stateChange=3) == ["heartbeat_transferring"]
        assert timed_out(state, job | {"jobSubStatus": ""}, modification=2.01, stateChange=3) == []

    @says("Timeout Rules, item 12", points=["broker.transfer_days_of_queue"])
    @pytest.mark.parametrize(("priority", "days"), [(800, 3), (799, 9)])
    def test_transfers(self, state, priority, days):
        """transtimehi days for transferring jobs of priority 800 and above, transtimelo days below."""
        job = {"jobStatus": "transferring", "currentPriority": priority, "prodSourceLabel": "user"}
        queue = {"cric": {"transtimehi": 3, "transtimelo": 9}}
        assert timed_out(state, job, queue, stateChange=24 * days) == []
        assert timed_out(state, job, queue, stateChange=24 * days + 0.1) == ["transferring"]

    @says("Timeout Rules, item 13", points=["broker.pauses_stop_timeouts"])
    @pytest.mark.parametrize("queue", [{"status": "paused"}, {"catchall": "disableReassign"}])
    @pytest.mark.parametrize("status", ["pending", "activated", "running", "holding"])
    def test_paused_queues(self, state, queue, status):
        """No timeout holds at paused queues and those with disableReassign."""
        assert timed_out(state, {"jobStatus": status}, queue, stateChange=9999, modification=9999) == []

    @says("Timeout Rules, item 14", points=["broker.fast_rebrokerage_all", "broker.fast_rebrokerage_total"])
    @pytest.mark.parametrize(
        ("waiting", "running", "elsewhere", "back"),
        [(14, 4, 0, 2), (14, 5, 0, 0), (10, 0, 0, 0), (11, 0, 0, 1), (14, 0, 33, 0), (14, 0, 20, 4)],
    )
    def test_fast_rebrokerage(self, state, waiting, running, elsewhere, back):
        """What is beyond the ratio to running jobs (3), the part of the share (0.3) and its own threshold goes back."""
        kinds = [("Q", "activated", waiting), ("Q", "running", running), ("OTHER", "defined", elsewhere)]
        records = [{"PandaID": 1000 * place + n, "jobStatus": status, "computingSite": queue, "gshare": "MC"}
                   for place, (queue, status, number) in enumerate(kinds) for n in range(number)]  # fmt: skip
        config = setting(rebroker__FAST_REBRO_THRESHOLD_NQUEUE_MC=10)
        store(state, queues=[{"name": name} | PLAIN for name in ("Q", "OTHER")], jobs=records, config=config)
        rows = [one["row"] for one in clean(state, SETTINGS, Actor("test", "test", NOW)).found
                if one["computing_site"] == "Q"]  # fmt: skip
        assert rows == ["fast_rebrokerage"] * back
        store(state, slots=[{"queue": "Q", "numslots": 1}])
        assert [one for one in clean(state, SETTINGS, Actor("test", "test", NOW)).found
                if one["computing_site"] == "Q"] == []  # fmt: skip


class TestAnalysis:
    @says("Analysis, step 1, caps", points=["broker.share_classes"])
    @pytest.mark.parametrize(("owner", "kind"), [({}, "USER"), ({"workingGroup": "higgs"}, "GROUP")])
    @pytest.mark.parametrize(
        ("number", "unit", "limit", "reason"),
        [("nRunJobs", "JOBS", 10, "cap_running_jobs"), ("nQueuedJobs", "JOBS", 20, "cap_queued_jobs"),
         ("nRunCores", "CORES", 10, "cap_running_cores"), ("nQueuedCores", "CORES", 20, "cap_queued_cores")],
    )  # fmt: skip
    def test_caps(self, state, owner, kind, number, unit, limit, reason):
        """More than the cap running, or twice as much queued, in jobs or cores of the user or group, throttles."""
        name = "higgs" if owner else "jane"
        pool(state, SAT, user(**owner), users=[{"name": name, number: limit}],
             config=setting(**{f"prio_mgr__CAP_RUNNING_{kind}_{unit}": 10}))  # fmt: skip
        assert run(state).status == "assigned"
        store(state, users=[{"name": name, number: limit + 1}])
        decided = run(state)
        assert (decided.status, decided.document["reason"]) == ("waiting", reason)

    @says("Analysis, step 1, global disk quota", points=["broker.quota_throttles", "broker.quota_near"])
    def test_quota(self, state):
        """A global disk quota that exceeds throttles the task; being near it does not."""
        pool(state, SAT, user(), users=[{"name": "jane", "quota_near": True}])
        assert run(state).status == "assigned"
        store(state, users=[{"name": "jane", "quota_ok": False}])
        assert run(state).status == "waiting"

    @says("Analysis, step 2, item 1")
    def test_types(self, state):
        """Queues of type analysis and unified are taken."""
        kinds = ("analysis", "unified", "production", "special")
        found = answer(state, {kind: {"type": kind, "cloud": ""} for kind in kinds}, user())
        assert found.reasons(*kinds) == ["", "", "wrong_type", "wrong_type"]

    @says("Analysis, step 2, items 2 and 3", points=["broker.included_sites_always"])
    def test_lists_of_sites(self, state):
        """Queues in excludedSite, and those that are not in an includedSite, are left out."""
        lists = {"includedSite": ["A", "B"], "excludedSite": ["B"]}
        assert answer(state, {"A": {}, "B": {}, "C": {}}, user(parameters=lists)).reasons("A", "B", "C") == [
            "", "excluded", "notincluded"]  # fmt: skip

    @says("Analysis, step 2, pre-assigned queues", "Analysis, step 3, status",
          points=["broker.site_lists", "broker.online_only", "broker.preassigned_exempt", "broker.lost_site_is_fatal"],
          )  # fmt: skip
    @pytest.mark.parametrize("given", [{"site": "A,B"}, {"parameters": {"includedSite": "A,B"}}])
    def test_given_queues_and_status(self, state, given):
        """Queues must be online, but for those that site or includedSite pre-assigns."""
        queues = {"A": {"status": "offline"}, "B": {"status": "standby"}, "C": {}}
        pool(state, queues, user())
        assert asked(state).reasons("A", "B", "C") == ["status", "status", ""]
        pool(state, queues, user(**given))
        assert asked(state).reasons("A", "B") == ["", ""]
        assert asked(state).reasons("C") != [""]

    @says("Analysis, step 3, data locality", points=["broker.locality_suppressed"])
    @pytest.mark.parametrize(
        ("priority", "intensity", "reason"),
        [(1999, 51, "no_data"), (2000, 51, ""), (0, 50, ""), (0, None, "no_data")],
    )
    def test_locality(self, state, priority, intensity, reason):
        """Queues without the input are skipped, unless priority is 2000 or ioIntensity up to the cut-off."""
        found = answer(state, {"A": {}, "B": {}}, user(taskPriority=priority, ioIntensity=intensity),
                       inputs=[files(1)], replicas=at(A=None),
                       config=setting(anal_jobbroker__IO_INTENSITY_CUTOFF_USER=50))  # fmt: skip
        assert found.reasons("A", "B") == ["", reason]

    @says("Analysis, step 3, VP queues", points=["broker.vp_restricted"])
    def test_virtual_placement(self, state):
        """VP queues are skipped if the task specifies avoidVP or they are overloaded."""
        extra = [{"queue": "SAT", "rse": "X_VP_DISK", "default_read": False, "default_write": False}]
        storage = {"rse": "X_VP_DISK", "site": "SAT", "space_free": 999}
        pool(state, SAT | {"B": {}}, user(gshare="MC"), storages=[storage], relations=extra)
        assert asked(state).reasons("SAT") == [""]
        store(state, statistics=jobs(SAT={"activated": 21, "running": 1}, B={"running": 99}))
        assert asked(state).reasons("SAT") == ["overloaded_vp"]
        pool(state, SAT, user(splitRule="AV=1"))
        assert asked(state).reasons("SAT") == ["avoid_vp"]

    @says("Analysis, step 3, diskIO")
    def test_disk_traffic(self, state):
        """The limit of disk traffic holds for users' tasks too."""
        found = answer(state, {"A": {"maxdiskio": 50}, "B": {}}, user(diskIO=60),
                       metrics=[{"queue": name, "diskio": 51} for name in "AB"])  # fmt: skip
        assert found.reasons("A", "B") == ["diskIO", ""]

    @says("Analysis, step 3, memory")
    @pytest.mark.parametrize(("unit", "need"), [("MBPerCore", (500 + 1000 * 8) * 0.9), ("MB", 1350)])
    def test_memory(self, state, unit, need):
        """(baseRamCount + ramCount x coreCount) x 0.9 for MBPerCore, without coreCount for MB."""
        queues = {"FITS": {"corecount": 8, "maxrss": need}, "LESS": {"corecount": 8, "maxrss": need - 0.5}}
        task = user(coreCount=8, ramCount=1000, baseRamCount=500, ramUnit=unit)
        assert answer(state, queues, task).reasons("FITS", "LESS") == ["", "lowmemory"]

    @says("Analysis, step 3, disk usage", points=["broker.scratch_of_whole_job"])
    @pytest.mark.parametrize(("direct", "need"), [({}, 1024 + 512 + 100), ({"maxinputsize": -1}, 512 + 100)])
    def test_scratch(self, state, direct, need):
        """Input (or nothing), outDiskCount x input, and working space; maxwdir per core must be larger."""
        size = {"corecount": 4, **direct}
        queues = {"AS_MUCH": {**size, "maxwdir": 4 * need}, "MORE": {**size, "maxwdir": 4 * need + 4}}
        task = user(coreCount=4, outDiskCount=0.5, outDiskUnit="MB", workDiskCount=100, workDiskUnit="MB",
                    splitRule="NF=1,NG=50")  # fmt: skip
        found = answer(state, queues, task, inputs=[files(1)], replicas=at(AS_MUCH=None, MORE=None))
        assert found.reasons("AS_MUCH", "MORE") == ["disk", ""]

    @says("Analysis, step 3, walltime", points=["broker.stated_walltime", "broker.analysis_minimum_walltime"])
    def test_walltime(self, state):
        """The task's walltime must be between mintime and maxtime, both included."""
        queues = {"BELOW": {"maxtime": 3599}, "UP_TO": {"maxtime": 3600}, "FROM": {"mintime": 3600},
                  "ABOVE": {"mintime": 3601}, "NONE": {"maxtime": 0}}  # fmt: skip
        found = answer(state, queues, user(walltime=3600, scout=True))
        assert found.reasons(*queues) == ["shortwalltime", "", "", "longwalltime", ""]

    @says("Analysis, step 3, failed and closed jobs", points=["broker.failures_everywhere"])
    @pytest.mark.parametrize(("finished", "bad", "reason"), [(0, 4, ""), (0, 5, "badsite"), (4, 7, ""),
                                                             (4, 8, "badsite")])  # fmt: skip
    def test_failures(self, state, finished, bad, reason):
        """Failed and closed jobs must be fewer than max(2 x finished, MIN_BAD_JOBS_TO_SKIP_PQ)."""
        ended = [{"task": 1, "queue": "SAT", "failed": bad - 3, "closed": 3, "finished": finished}]
        assert answer(state, SAT, user(), outcomes=ended).reasons() == [reason]

    @says("Analysis, step 3, queued jobs", points=["broker.analysis_queue_ratio"])
    @pytest.mark.parametrize(("running", "workers", "queued", "reason"),
                             [(1, 0, 40, ""), (1, 0, 41, "cap"), (30, 0, 60, ""), (30, 0, 61, "cap")])  # fmt: skip
    def test_queued(self, state, running, workers, queued, reason):
        """More than 2 x max(20, running) queued jobs skip a queue."""
        counts = {"running": running, "defined": queued - 3, "activated": 1, "assigned": 1, "starting": 1}
        assert answer(state, SAT, user(gshare="MC"), statistics=jobs(SAT=counts)).reasons() == [reason]

    @says("Analysis, step 3, the user's queued jobs")
    def test_queued_jobs_of_the_user(self, state):
        """Queues where the user has too many queued jobs are skipped."""
        there = [{"queue": "SAT", "gshare": "MC", "user": who, "nQueue": 300, "nRunning": n}
                 for who, n in (("jane", 0), ("_total", 200))]  # fmt: skip
        found = answer(state, SAT, user(gshare="MC"), userstatistics=there,
                       statistics=jobs(SAT={"running": 200, "activated": 300}))  # fmt: skip
        assert found.reasons() == ["badsite"]

    @says("Analysis, step 3, two kinds of issues")
    def test_persistent_and_temporary(self, state):
        """Every verdict is of a persistent or of a temporary issue."""
        found = answer(state, {"A": {"status": "offline"}, "B": {}}, user(gshare="MC"),
                       statistics=jobs(B={"activated": 99}))  # fmt: skip
        assert [found.queues[name]["temporary"] for name in "AB"] == [False, True]

    @says("Analysis, step 4, weight", points=["broker.analysis_weight"])
    def test_weight(self, state):
        """(running + 1) / (activated + assigned + starting + defined + 1)."""
        counts = {"running": 30, "activated": 1, "assigned": 2, "starting": 3, "defined": 4}
        found = answer(state, SAT, user(gshare="MC"), statistics=jobs(SAT=counts))
        assert found.weight("SAT") == pytest.approx(31 / 11)

    @says("Analysis, step 5, sentence 1",
          points=["broker.problems_open_second_pass", "broker.second_pass_needs_source"])  # fmt: skip
    def test_the_second_pass(self, state):
        """If persistent issues skip all queues, those without the input are tried; temporary ones do not open them."""
        pool(state, {"A": {"status": "offline"}, "B": {}}, user(gshare="MC"), inputs=[files(1)], replicas=at(A=None))
        assert "B" in asked(state).candidates
        store(state, queues=[{"name": "A", "status": "online", "type": "unified", "cloud": "W", "corecount": 1,
                              "releases": ["ANY"], "site": "A"}], statistics=jobs(A={"activated": 99}))  # fmt: skip
        assert asked(state).reasons("A", "B") == ["cap", "no_data"]

    @says("Analysis, step 5, sentence 2", points=["broker.retry_by_activity"])
    @pytest.mark.parametrize("priority", [500, 990])
    def test_pending_for_20_minutes(self, state, priority):
        """A task that still finds no queue is pending for 20 minutes."""
        pool(state, {}, user(coreCount=8, taskPriority=priority))
        decided = run(state)
        assert (decided.status, decided.retry) == ("pending", NOW + 20 * 60)

    @says("Analysis, step 5, sentence 3", points=["broker.used_queues_first", "broker.distributed_unlimited"])
    def test_the_ten_best(self, state):
        """The ten queues of the largest weights are taken, whatever the task uses already."""
        counts = {f"Q{number:02}": {"running": number} for number in range(14)}
        found = answer(state, {name: {} for name in counts}, user(gshare="MC"), statistics=jobs(**counts),
                       outcomes=[{"task": 1, "queue": "Q00"}])  # fmt: skip
        assert found.candidates == [f"Q{number:02}" for number in range(13, 3, -1)]
