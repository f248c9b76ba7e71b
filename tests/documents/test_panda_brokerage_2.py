"""PanDA's page on brokerage, sentence by sentence: weights of production, software, network weight."""

from __future__ import annotations

from typing import Any

import pytest
from tests.documents.broker_pool import (
    HOUR,
    NOW,
    answer,
    at,
    files,
    jobs,
    link,
    pool,
    run,
    setting,
    user,
)
from tests.documents.sentences import Text, says

TEXT = Text("PanDA Brokerage",
            "PanDA documentation, advanced section, page brokerage.rst")  # fmt: skip

SAT: dict[str, dict[str, Any]] = {"SAT": {}}


class TestProductionWeight:
    @says("Production, step 3, running jobs", "Analysis, step 4, running jobs", points=["broker.running_jobs"])
    @pytest.mark.parametrize("kind", [{}, {"taskPriority": 799}, user(gshare="MC")])
    @pytest.mark.parametrize(
        ("real", "workers", "slots", "starting", "expected"),
        [(5, 3, None, 9, 5), (5, 12, None, 9, 12), (5, 90, None, 9, 20), (20, 90, None, 9, 20), (5, 12, 40, 9, 40),
         (50, 12, 40, 9, 50), (5, 3, 0, 9, 9), (12, 3, 0, 9, 12)],
    )  # fmt: skip
    def test_the_largest_counts(
        self, state, kind, real, workers, slots, starting,
        expected,
    ):  # fmt: skip
        """The largest counts of running jobs, min(workers, 20) if fewer run, numSlots, and starting jobs if it is 0."""
        found = answer(
            state, {"SAT": {"corecount": 8}}, kind | {"coreCount": 8},
            statistics=jobs(SAT={"running": real, "starting": starting}),
            workers=[{"queue": "SAT", "status": "running", "n": workers - 1},
                     {"queue": "SAT", "status": "submitted", "n": 1}],
            slots=[] if slots is None else [{"queue": "SAT", "numslots": slots}],
        )  # fmt: skip
        assert found.queues["SAT"]["numbers"]["nRun"] == expected

    @says("Production, step 3, assigned jobs")
    def test_assigned_jobs_with_local_input(self, state):
        """Assigned jobs do not count, for the weight and the filters after it, where the input is local."""
        counts = {"running": 10, "assigned": 30}
        found = answer(state, {"NEAR": {}, "FAR": {}}, inputs=[files(1)], replicas=at(NEAR=None),
                       statistics=jobs(NEAR=counts, FAR=counts))  # fmt: skip
        assert found.reasons("NEAR", "FAR") == ["", "cap"]
        assert found.weight("NEAR", "jobs") == pytest.approx(11 / 10)
        assert found.weight("FAR", "jobs") == pytest.approx(11 / 40 / 2)

    @says("Production, step 3, manyAssigned", points=["broker.many_assigned"])
    @pytest.mark.parametrize(("assigned", "activated", "many"),
                             [(3, 2, 1.5), (1, 2, 1), (9, 2, 2), (1, 0, 2), (0, 0, 1)])  # fmt: skip
    def test_many_assigned(self, state, assigned, activated, many):
        """manyAssigned is assigned / activated, at least 1 and at most 2."""
        found = answer(state, SAT, inputs=[files(1)], replicas=at(NUC=None),
                       statistics=jobs(SAT={"assigned": assigned, "activated": activated, "running": 50}))  # fmt: skip
        assert found.queues["SAT"]["numbers"]["manyAss"] == pytest.approx(many)

    @says("Production, step 3, weight", "Production, step 3, initial weight")
    def test_the_weight_of_jobs(self, state):
        """(running + 1) / ((activated + assigned + starting + defined + 10) x manyAssigned)."""
        counts = {"running": 40, "activated": 20, "assigned": 30, "starting": 3, "defined": 7}
        found = answer(state, SAT, inputs=[files(1)], replicas=at(NUC=None), statistics=jobs(SAT=counts))
        assert found.weight("SAT", "jobs") == pytest.approx(41 / (70 * 1.5))

    @says("Production, step 3, data", points=["broker.near_weight_of_io"])
    @pytest.mark.parametrize("there", [0, 3, 7])
    def test_the_weight_of_data(self, state, there):
        """The weight is multiplied by (available + total) / (total x (missing / 100 + 1)), and by network alone."""
        found = answer(state, SAT, {"ioIntensity": 900}, inputs=[files(7)], replicas=at(NUC=None, SAT=there),
                       config=setting(jobbroker__IO_INTENSITY_CUTOFF=1000))  # fmt: skip
        assert found.weight("SAT", "data") == pytest.approx((there + 7) / (7 * ((7 - there) / 100 + 1)))
        assert set(found.queues["NUC_Q"]["terms"]) == {"jobs", "data", "network"}

    @says("Production, step 3, network", points=["broker.network_weight_always"])
    def test_the_weight_of_the_network(self, state):
        """The weight is multiplied by the network weight."""
        found = answer(state, SAT, statistics=jobs(SAT={"running": 3}), links=[link("AGIS_closeness", 0)])
        assert found.weight("SAT") == pytest.approx(4 / 10 * 0.5 * (2 + 2))

    @says("Production, step 3, further filter 1", points=["broker.queue_caps"])
    @pytest.mark.parametrize("priority", [1, 500])
    @pytest.mark.parametrize(("starting", "reason"), [(2, ""), (3, "cap")])
    def test_activated_and_starting(self, state, priority, starting, reason):
        """activated + starting > 2 x running skips a queue, however few jobs these are."""
        found = answer(state, SAT, {"taskPriority": priority},
                       statistics=jobs(SAT={"running": 3, "activated": 4, "starting": starting}))  # fmt: skip
        assert found.reasons() == [reason]

    @says("Production, step 3, further filter 2")
    @pytest.mark.parametrize("state_of_jobs", ["defined", "assigned", "activated", "starting"])
    def test_all_that_is_queued(self, state, state_of_jobs):
        """defined + activated + assigned + starting > 2 x running skips a queue."""
        found = answer(state, {"A": {}, "B": {}}, inputs=[files(1)], replicas=at(NUC=None),
                       statistics=jobs(A={"running": 3, state_of_jobs: 6}, B={"running": 3, state_of_jobs: 7}),
                       )  # fmt: skip
        assert found.reasons("A", "B") == ["", "cap"]

    @says("Production, step 4, sentence 1", points=["broker.retry_by_priority"])
    @pytest.mark.parametrize("priority", [500, 990])
    def test_pending_for_an_hour(self, state, priority):
        """A task that finds no queue is pending for 1 hour."""
        pool(state, {}, {"coreCount": 8, "taskPriority": priority})
        decided = run(state)
        assert (decided.status, decided.retry) == ("pending", NOW + HOUR)

    @says("Production, step 4, sentence 2", points=["broker.bootstrap"])
    def test_the_ten_best(self, state):
        """The ten queues of the largest weights are taken, in this order; an idle queue is no exception."""
        counts = {f"Q{number:02}": {"running": number} for number in range(14)}
        found = answer(state, {name: {} for name in counts}, {"taskPriority": 1, "nucleus": None},
                       statistics=jobs(**counts))  # fmt: skip
        assert found.candidates == [f"Q{number:02}" for number in range(13, 3, -1)]


AGLT2: dict[str, Any] = {
    "queue": "AGLT2",
    "cmtconfigs": ["x86_64-centos7-gcc62-opt", "x86_64-slc6-gcc62-opt"],
    "containers": ["any", "/cvmfs"],
    "cvmfs": ["atlas", "nightlies"],
    "architectures": [
        {"type": "cpu", "arch": ["x86_64"], "instr": ["avx2"], "vendor": ["intel", "excl"]},
        {"type": "gpu", "vendor": ["nvidia", "excl"], "model": ["kt100"]},
    ],
    "tags": [{"cmtconfig": "x86_64-slc6-gcc62-opt", "container_name": "img", "project": "Athena", "release": "21.0.38",
              "sources": ["docker://img"]}],
}  # fmt: skip


def software(state, task, others=(), **published):
    """Return why a queue that publishes AGLT2's software, but for *published*, does not take a task."""
    entries = [AGLT2 | {"architectures": []} | published, *others]
    return answer(state, {"AGLT2": {"releases": ["AUTO"]}}, task, software=entries).reasons("AGLT2")[0]


class TestSoftware:
    @says("Hardware, format of architecture", points=["broker.infer_cpu", "broker.gpu_lists"])
    @pytest.mark.parametrize(
        ("architecture", "reason"),
        [("x86_64-slc6-gcc62-opt#x86_64-intel-avx2&nvidia-kt100", ""), ("x86_64-slc6-gcc62-opt", "cache"),
         ("#x86_64", "cache"), ("#x86_64-amd&nvidia", "cache"), ("#x86_64-intel&nvidia", ""),
         ("x86_64-slc6-gcc62-opt@centos7#x86_64-intel&nvidia-kt100", ""), ("#x86_64-intel-avx5&nvidia", "cache")],
    )  # fmt: skip
    def test_aglt2(self, state, architecture, reason):
        """sw_platform, base platform, CPU and GPU are read; AGLT2, exclusive in both, takes tasks that ask for both."""
        found = software(state, {"transHome": "Athena-21.0.38", "architecture": architecture},
                         architectures=AGLT2["architectures"])  # fmt: skip
        assert found == reason

    @says("Hardware, lists of attributes")
    @pytest.mark.parametrize(("asked_for", "reason"), [("", ""), ("#x86_64-intel", ""), ("#x86_64-amd", "cache")])
    def test_a_listed_value(self, state, asked_for, reason):
        """A listed value takes tasks that ask for it or for nothing."""
        lists = [{"type": "cpu", "arch": ["x86_64"], "vendor": ["intel"]}]
        task = {"transHome": "Athena-21.0.38", "architecture": f"x86_64-slc6-gcc62-opt{asked_for}"}
        assert software(state, task, architectures=lists) == reason

    @says("Hardware, excl", points=["broker.software_without_release"])
    @pytest.mark.parametrize("home", ["Athena-21.0.38", None])
    def test_excl(self, state, home):
        """With excl only tasks that ask for a listed value are taken, whether or not they name a release."""
        lists = [{"type": "cpu", "arch": ["x86_64", "excl"]}]
        task = {"transHome": home, "architecture": "x86_64-slc6-gcc62-opt"}
        assert software(state, task, architectures=lists) == "cache"

    @says("Hardware, example of #x86_64", points=["broker.empty_attribute"])
    @pytest.mark.parametrize(("arch", "reason"),
                             [(["x86_64"], ""), ([""], ""), (["x86_64", "excl"], ""), (["arm64"], "cache")],
                             )  # fmt: skip
    def test_the_example(self, state, arch, reason):
        """#x86_64 is taken with x86_64, with an empty text, and with x86_64 and excl, but not with arm64."""
        task = {"transHome": "Athena-21.0.38", "architecture": "#x86_64"}
        assert software(state, task, architectures=[{"type": "cpu", "arch": arch}]) == reason

    @says("Fat containers, onlyTagsForFC")
    @pytest.mark.parametrize(("name", "reason"), [("img", ""), ("docker://img", ""), ("/cvmfs/img", "cache")])
    @pytest.mark.parametrize("home", ["Athena-21.0.38", None])
    def test_only_tags(self, state, name, reason, home):
        """With onlyTagsForFC the container is that of a tag or among a tag's sources."""
        task = {"container_name": name, "splitRule": "OT=1", "transHome": home}
        assert software(state, task) == reason

    @says("Fat containers, any or /cvmfs", points=["broker.tags_name_containers"])
    @pytest.mark.parametrize(("places", "reason"), [(["any"], ""), (["/cvmfs"], ""), (["docker://"], "cache")])
    def test_any_container(self, state, places, reason):
        """Without onlyTagsForFC any or /cvmfs among the containers is enough; a tag of that name is not."""
        assert software(state, {"container_name": "img"}, containers=places) == reason

    @says("Fat containers, forward match")
    @pytest.mark.parametrize(("name", "reason"), [("/cvmfs/a/img", ""), ("/eos/img", "cache")])
    def test_a_prefix(self, state, name, reason):
        """Without onlyTagsForFC a listed text that the container's name begins with is enough."""
        assert software(state, {"container_name": name}, containers=["/cvmfs/a"]) == reason

    @says("Fat containers, source path")
    def test_a_source_path(self, state):
        """Without onlyTagsForFC so is one that the source path begins with, which the queue ALL has for the name."""
        everywhere = {"queue": "ALL", "tags": [{"container_name": "img2", "sources": ["/cvmfs/b/img2"]}]}
        assert software(state, {"container_name": "img2"}, (everywhere,), containers=["/cvmfs/b"]) == ""

    @says("Releases, cvmfs", points=["broker.platform_in_container"])
    @pytest.mark.parametrize(
        ("published", "home", "reason"),
        [({"containers": []}, "Athena-21.0.1", ""),
         ({"containers": [], "cvmfs": ["nightlies"]}, "Athena-21.0.1", "cache"),
         ({"containers": [], "cvmfs": ["nightlies"]}, "Athena-rel_1", ""),
         ({"containers": [], "cmtconfigs": []}, "Athena-21.0.1", "cache"),
         ({"cmtconfigs": []}, "Athena-21.0.1", ""), ({"containers": [], "cvmfs": ["any"]}, "Athena-rel_1", "")],
    )  # fmt: skip
    @pytest.mark.parametrize("base", ["", "@centos7"])
    def test_cvmfs(self, state, published, home, reason, base):
        """cvmfs has any or the tag (atlas, nightlies), and containers any or /cvmfs or cmtconfigs the platform."""
        task = {"transHome": home, "architecture": f"x86_64-slc6-gcc62-opt{base}"}
        assert software(state, task, **published) == reason

    @says("Releases, tags", points=["broker.tags_need_any"])
    @pytest.mark.parametrize(
        ("places", "home", "reason"),
        [(["any"], "Athena-21.0.38", ""), (["/cvmfs"], "Athena-21.0.38", "cache"), (["any"], "Athena-21.0.39", "cache"),
         ([], "Athena-21.0.38", "cache")],
    )  # fmt: skip
    def test_tags(self, state, places, home, reason):
        """Otherwise any must be in containers and a tag have the platform, project and version."""
        task = {"transHome": home, "architecture": "x86_64-slc6-gcc62-opt"}
        assert software(state, task, containers=places, cvmfs=[]) == reason


class TestNetworkWeight:
    @says("Network Weight, formula")
    def test_it_is_the_mean(self, state):
        """The network weight is half the sum of the weights by queued files and by throughput."""
        metrics = [link("Production Output_queued", 75), link("dashb_mbps_1h", 60)]
        told = answer(state, SAT, links=metrics).queues["SAT"]
        parts = told["numbers"]["weightNwQueued"] + told["numbers"]["weightNwThroughput"]
        assert told["terms"]["network"] == pytest.approx(0.5 * parts)
        assert parts == pytest.approx(1.5 + 1.6)

    @says("Network Weight, most recent data", points=["broker.throughput", "broker.network_age"])
    @pytest.mark.parametrize(("keys", "expected"), [("hdw", 201), ("dw", 101), ("w", 51), ("hw", 201), ("h", 201)])
    def test_the_freshest_throughput(self, state, keys, expected):
        """The throughput of the last hour counts, else of the day, else of the week."""
        values = {"h": 201, "d": 101, "w": 51}
        found = answer(state, SAT, links=[link(f"dashb_mbps_1{key}", values[key]) for key in keys])
        assert found.queues["SAT"]["numbers"]["throughputMBps"] == expected

    @says("Network Weight, closeness")
    @pytest.mark.parametrize("closeness", [0, 3, 11])
    def test_closeness(self, state, closeness):
        """Without metrics the closeness counts: 1 + (11 - closeness) / 11."""
        found = answer(state, SAT, links=[link("AGIS_closeness", closeness)])
        assert found.queues["SAT"]["numbers"]["weightNwThroughput"] == pytest.approx(1 + (11 - closeness) / 11)
