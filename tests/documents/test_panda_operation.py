"""PanDA's page in operation: boundaries, data that do not fit together, and what is told of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.documents.broker_pool import (
    HOUR,
    NOW,
    Answer,
    answer,
    asked,
    at,
    files,
    jobs,
    link,
    pool,
    setting,
    store,
    user,
)
from tests.documents.broker_pool import (
    run as broker_run,
)

SAT: dict[str, dict[str, Any]] = {"SAT": {}}
MIB = 2**20

TAKES = {
    "full": ("full", "http", "none", ""),
    "http": ("http", "none", ""),
    "none": ("none", ""),
    "": ("none", ""),
}
"""By the network of a queue, the networks of the tasks that it takes."""

OFFERED = [f"{network}#{stack}".rstrip("#") for network in TAKES for stack in ("", "IPv4", "IPv6")]
ASKED = [text for text in OFFERED if text]


class TestDirectAccess:
    """Input counts as nothing if the queue reads directly, whatever the task says and in both activities."""

    @pytest.mark.parametrize("kind", [{}, {"splitRule": "NF=1,LI=1"}, {"isMerging": True}, {"splitRule": "NF=1,IL=1"}])
    @pytest.mark.parametrize(("direct", "maxwdir", "reason"), [
        (True, 821, ""), (True, 820, "disk"), (False, 1121, ""), (False, 1120, "disk"), (False, 821, "disk"),
    ])  # fmt: skip
    def test_production(self, state, kind, direct, maxwdir, reason):
        """320 MB of working space and 500 of output, and 300 of input where it is copied."""
        queue = {"maxwdir": maxwdir, "direct_access_lan": direct}
        task = {"workDiskCount": 320, "workDiskUnit": "MB"} | kind
        found = answer(state, {"SAT": queue}, task, inputs=[files(1, 300 * MIB)], replicas=at(SAT=None, NUC=None))
        assert found.reasons() == [reason]

    @pytest.mark.parametrize(
        ("direct", "maxwdir", "reason"), [(True, 201, ""), (True, 200, "disk"), (False, 201, "disk")]
    )
    def test_analysis(self, state, direct, maxwdir, reason):
        queue = {"maxwdir": maxwdir, "direct_access_lan": direct}
        task = user(workDiskCount=200, workDiskUnit="MB")
        found = answer(state, {"SAT": queue}, task, inputs=[files(1, 300 * MIB)], replicas=at(SAT=None))
        assert found.reasons() == [reason]


class TestThreshold:
    """Larger than or equal, with a tolerance of one part in 10**9."""

    @pytest.mark.parametrize(
        ("queued", "reason"), [(72, ""), (72.00000005, ""), (72.001, "lowNetworkWeight"), (60, "")]
    )
    def test_decimals_are_compared_as_they_are_written(self, state, queued, reason):
        """A cap of 150: 2 - 72 / 150 = 1.52; throughput above 200: 2; half of each is 1.76 = 1.6 x 1.1."""
        found = answer(
            state, SAT, {"processingType": "urgent"},
            links=[link("Express_queued", queued), link("dashb_mbps_1h", 300)],
            config=setting(jobbroker__NW_THRESHOLD=1.6, jobbroker__NW_WEIGHT_MULTIPLIER=1.1),
        )  # fmt: skip
        assert found.reasons() == [reason]

    def test_in_panda_the_figures_are_those_of_the_computer(self, state):
        config = setting(jobbroker__NW_THRESHOLD=1.6, jobbroker__NW_WEIGHT_MULTIPLIER=1.1, jobbroker__NW_ACTIVE=True)
        pool(state, SAT, {"processingType": "urgent"}, links=[link("Express_queued", 72), link("dashb_mbps_1h", 300)],
             config=config)  # fmt: skip
        assert asked(state, network_tolerance=0.0).reasons() == ["lowNetworkWeight"]


class TestConnectivity:
    @pytest.mark.parametrize("asks", ASKED)
    def test_every_queue_for_every_task(self, state, asks):
        """The page's two lists, read out: what each queue takes."""
        queues = {f"Q{n}": {"wnconnectivity": offer} for n, offer in enumerate(OFFERED)}
        found = answer(state, queues, {"ipConnectivity": asks})
        wanted, _, wanted_stack = asks.partition("#")
        for n, offer in enumerate(OFFERED):
            network, _, stack = offer.partition("#")
            accepted = wanted in TAKES[network] and stack == wanted_stack
            assert (found.reasons(f"Q{n}") == [""]) == accepted, offer

    def test_a_task_that_names_nothing_goes_anywhere_and_in_panda_one_that_names_none(self, state):
        queues = {"A": {"wnconnectivity": "full#IPv4"}, "B": {"wnconnectivity": "none"}}
        assert answer(state, queues).reasons("A", "B") == ["", ""]
        store(state, tasks=[{"jediTaskID": 1, "nucleus": "NUC", "coreCount": 1, "ipConnectivity": "none"}])
        assert asked(state).reasons("A", "B") == ["network", ""]
        assert asked(state, ip_stack_of_queue=False).reasons("A", "B") == ["", ""]

    @pytest.mark.parametrize(("asks", "change"), [
        ("http", "the IP stack of the queue is unset, as that of the task (it is IPv4)"),
        ("none", "the IP stack of the queue is unset, as that of the task (it is IPv4)"),
        ("full#IPv6", "the IP stack of the queue is IPv6, as that of the task (it is IPv4)"),
    ])  # fmt: skip
    def test_the_hint_is_about_the_ip_stack(self, told, asks, change):
        told.pool({"SAT": {"wnconnectivity": "full#IPv4"}}, {"ipConnectivity": asks})
        assert told.why()["queues"][1]["change"] == change

    def test_the_hint_is_about_the_network_where_that_is_wrong(self, told):
        told.pool({"SAT": {"wnconnectivity": "none#IPv4"}}, {"ipConnectivity": "http#IPv6"})
        change = "wnconnectivity of the queue offers http#IPv6 (it is none#IPv4)"
        assert told.why()["queues"][1]["change"] == change


class TestMemory:
    """A figure in MB is the job's, in production as well: docs/panda.md says why."""

    @pytest.mark.parametrize("kind", [{}, user()])
    @pytest.mark.parametrize(("unit", "need"), [("MB", 0.9 * (500 + 3300)), ("MBPerCore", 0.9 * (500 + 4 * 3300))])
    def test_the_unit_decides_whether_cores_count(self, state, kind, unit, need):
        queues = {"ENOUGH": {"corecount": 4, "maxrss": need}, "LESS": {"corecount": 4, "maxrss": need - 1}}
        task = {"coreCount": 4, "ramCount": 3300, "ramUnit": unit, "baseRamCount": 500} | kind
        assert answer(state, queues, task).reasons("ENOUGH", "LESS") == ["", "lowmemory"]


class TestNumbersOfJobs:
    """Where the statistics have no line of a queue, its imported jobs count; where both disagree, a note says so."""

    def imported(self, *of_queues, share="MC"):
        return [
            {"PandaID": 1000 * place + n, "jobStatus": state, "computingSite": queue, "gshare": share}
            for place, (queue, state, number) in enumerate(of_queues, 1)
            for n in range(number)
        ]

    def test_a_queue_without_statistics_counts_its_jobs(self, state):
        here = self.imported(("A", "running", 3), ("A", "activated", 6), ("B", "running", 3), ("B", "starting", 7),
                             ("C", "finished", 9), ("C", "running", 1))  # fmt: skip
        found = answer(state, {"A": {}, "B": {}, "C": {}}, jobs=here)
        assert found.reasons("A", "B", "C") == ["", "cap", ""]
        assert [found.queues[name]["numbers"]["nRun"] for name in "ABC"] == [3, 3, 1]
        assert found.weight("A", "jobs") == (3 + 1) / (6 + 10)

    def test_jobs_of_other_shares_count_where_all_shares_do(self, state):
        here = self.imported(("A", "transferring", 2001), share="Other")
        assert answer(state, {"A": {}}, jobs=here).reasons("A") == ["transferring"]

    def test_a_line_of_statistics_counts_alone(self, told):
        here = self.imported(("A", "activated", 6), ("B", "activated", 6))
        told.pool({"A": {}, "B": {}}, {}, jobs=here, statistics=jobs(A={"running": 1, "activated": 2}))
        records = {one["queue"]: one for one in told.why()["queues"]}
        assert (records["A"]["reason"], records["B"]["reason"]) == ("", "cap")
        note = ("statistics and imported jobs disagree at 1 queue, first at A: 2 and 6 activated jobs of share MC; the "
                "statistics count\n")  # fmt: skip
        assert told.err == note
        assert told("broker", "run", "--dry-run").err.count(note) == 1

    def test_numbers_that_agree_are_no_note(self, told):
        told.pool(SAT, {}, jobs=self.imported(("SAT", "activated", 2)), statistics=jobs(SAT={"activated": 2}))
        told.why()
        assert told.err == ""


class TestWhy:
    def test_all_obstacles_of_a_queue_are_told_those_of_the_final_check_too(self, told):
        queue = {"SAT": {"maxrss": 1000, "maxwdir": 400}}
        told.pool(queue, {"ramCount": 2000, "processingType": "urgent"},
                  storages=[{"rse": "SAT", "site": "SAT", "space_free": 100}],
                  statistics=jobs(SAT={"running": 4, "activated": 9}),
                  links=[link("AGIS_closeness", 11)], pilots=[{"queue": "SAT", "getJob": 0}])  # fmt: skip
        assert [(one["stage"], one["reason"]) for one in told.why("--queue", "SAT")["obstacles"]] == [
            ("memory check", "lowmemory"), ("disk check", "disk"), ("Storage check", "disk"),
            ("pilot check", "nopilot"), ("final check", "cap"), ("final check", "lowNetworkWeight"),
        ]  # fmt: skip

    def test_a_queue_that_is_taken_has_none_and_the_eleventh_its_weight(self, told):
        queues: dict[str, dict[str, Any]] = {f"Q{n:02}": {} for n in range(11)}
        told.pool(queues, {}, statistics=jobs(**{name: {"running": 50 - n} for n, name in enumerate(queues)}))
        assert told.why("--queue", "Q00")["obstacles"] == []
        (last,) = told.why("--queue", "Q10")["obstacles"]
        assert (last["reason"], last["change"].startswith("it weighs more than ")) == ("low_weight", True)
        assert "the least of the ten best" in last["change"]

    def test_of_analysis_as_well(self, told):
        counts = jobs("User Analysis", SAT={"running": 3, "activated": 41})
        told.pool({"SAT": {"maxrss": 1000}}, user(ramCount=9000), statistics=counts)
        found = told.why("--queue", "SAT")["obstacles"]
        assert [one["reason"] for one in found] == ["lowmemory", "cap"]
        assert found[1]["change"] == "at most 40 jobs of the share wait there (now 41, with 3 running)"

    @pytest.mark.parametrize(("failed", "finished", "limit"), [(40, 20, 40), (6, 1, 5)])
    def test_a_hint_names_the_limit_of_failed_jobs(self, told, failed, finished, limit):
        outcome = {"task": 1, "queue": "SAT", "failed": failed, "finished": finished}
        told.pool(SAT, user(), outcomes=[outcome])
        (sat,) = [one for one in told.why()["queues"] if one["queue"] == "SAT"]
        assert sat["change"].startswith(
            f"fewer than {limit} of the task's jobs failed or were closed there (now {failed}"
        )

    def test_a_hint_names_the_limit_of_transfers(self, told):
        told.pool(SAT, {}, statistics=jobs(SAT={"running": 1500, "transferring": 3001}))
        assert (
            told.why()["queues"][1]["change"]
            == "at most 3000 jobs transfer (now 3001): 2000, or twice the 1500 that run"
        )

    @pytest.mark.parametrize(("kinds", "line"), [
        ({"storages": [{"rse": "NUC", "site": "NUC", "space_free": 9}, {"rse": "SAT", "site": "SAT", "space_free": 9}]},
         "none left after the Storage check: disk 2"),
        ({"pilots": [{"queue": "NUC_Q", "getJob": 0}, {"queue": "SAT", "getJob": 0}],
          "storages": [{"rse": "SAT", "site": "SAT", "space_free": 9}]},
         "none left after the pilot check: nopilot 2"),
        ({"statistics": jobs(SAT={"activated": 9}, NUC_Q={"activated": 9})}, "none left after the final check: cap 2"),
    ])  # fmt: skip
    def test_the_pending_line_names_the_stage_at_which_the_last_queue_fell(self, state, kinds, line):
        assert answer(state, SAT, **kinds).reason == line
        assert broker_run(state).document["reason"] == line

    def test_the_stored_line_is_the_same(self, told):
        told.pool(SAT, {}, storages=[{"rse": name, "site": name, "space_free": 9} for name in ("NUC", "SAT")])
        told("broker", "run")
        assert told.why("--last")["reason"] == "none left after the Storage check: disk 2"


class TestSite:
    @pytest.mark.parametrize("rules", ["documented", "panda"])
    def test_a_site_that_is_no_queue_is_told(self, told, rules):
        told.pool(SAT, {"site": "SATT"})
        found = told.why("--rules", rules)
        assert (found["status"], found["unknown_sites"]) == ("failed", ["SATT"])
        assert found["reason"] == "unknown_site (site SATT, nearest SAT)"
        assert found["change"] == "its site is SAT (it is SATT)"
        assert told.err == "site of task 1 names SATT, which is no queue\n"

    def test_one_of_several_is_told_and_the_others_are_used(self, told):
        told.pool(SAT, {"site": "SAT,GONE"})
        assert [one["queue"] for one in told.why()["candidates"]] == ["SAT"]
        assert "names GONE, which is no queue" in told.err
        assert "names GONE, which is no queue" in told("broker", "run").err

    def test_in_analysis_it_is_told_and_includedsite_stays_in_force(self, told):
        told.pool({"A": {}, "B": {}}, user(site="GONE", includedSite="B"))
        assert [one["queue"] for one in told.why()["candidates"]] == ["B"]
        assert told.err == "site of task 1 names GONE, which is no queue\n"

    def test_storage_that_queues_read_is_no_unknown_name_there(self, told):
        told.pool({"A": {}, "B": {}}, user(site="RSE"), relations=[{"queue": "A", "rse": "RSE"}])
        store(told.state, storages=[{"rse": "RSE", "site": "A", "space_free": 900}])
        assert told.why()["unknown_sites"] == []


class TestFigures:
    @pytest.mark.parametrize(
        ("ages", "expected"),
        [
            ({"h": 0, "d": 0, "w": 0}, 201),
            ({"h": 3600, "d": 0, "w": 0}, 201),
            ({"h": 3601, "d": 3601, "w": 0}, 101),
            ({"h": 9000, "d": 86_400, "w": 0}, 101),
            ({"h": 9000, "d": 86_401, "w": 604_800}, 51),
            ({"h": 9000, "d": 86_401, "w": 604_801}, None),
        ],
    )
    def test_throughput_counts_as_long_as_the_time_that_it_is_of(self, state, ages, expected):
        values = {"h": 201, "d": 101, "w": 51}
        links = [link(f"dashb_mbps_1{key}", values[key], age=age) for key, age in ages.items()]
        found: Answer = answer(state, SAT, links=links)
        assert found.queues["SAT"]["numbers"]["throughputMBps"] == expected
        fresh = [values[key] for key, age in ages.items() if age <= HOUR]
        panda = asked(state, network_age="hour").queues["SAT"]["numbers"]["throughputMBps"]
        assert panda == (fresh[0] if fresh else None)


class Told:
    """What the command line says of task 1 in one state."""

    def __init__(self, run, state):
        self._run, self.state, self.err = run, state, ""

    def pool(self, queues, task, **kinds):
        pool(self.state, queues, task, **kinds)

    def __call__(self, *words):
        ended = self._run("--state", self.state, *words, "--now", NOW)
        assert ended.code == 0, ended.err
        self.err = ended.err
        return ended

    def why(self, *words):
        found: dict[str, Any] = json.loads(self("broker", "why", 1, *words, "--json").out)
        return found


@pytest.fixture
def told(run, state):
    return Told(run, state)
