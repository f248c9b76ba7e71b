"""PanDA's page on brokerage, sentence by sentence: the candidates and filters of production."""

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
    link,
    pool,
    setting,
    store,
    user,
)
from tests.documents.sentences import NotNormative, Text, says

TEXT = Text("PanDA Brokerage",
            "PanDA documentation, advanced section, page brokerage.rst")  # fmt: skip

NOT_NORMATIVE = [
    NotNormative("Introduction", "Brokerage distributes work; four goals, some of them contradictory.",
                 "names aims, and says itself that they contradict each other"),
    NotNormative("Introduction, last sentences", "Organizations can bring their own algorithms as plugins.",
                 "describes PanDA's structure; fairq has entry points for filters and weights"),
    NotNormative("Production, step 2, diskIO, sentence 3", "Disk traffic comes under the threshold progressively.",
                 "an expected effect of the limit"),
    NotNormative("Analysis, step 3, gpu", "Queues flagged gpu must publish the architecture.", "marked OBSOLETE"),
    NotNormative("Release/cache check, example", "What the queue AGLT2 publishes.", "data of the examples below it"),
    NotNormative("Network Weight, figures", "Plots of the two partial weights.", "the text gives no numbers of them"),
    NotNormative("Network Weight, sources", "Addresses of the network services.", "the metrics are imported"),
]  # fmt: skip

SAT: dict[str, dict[str, Any]] = {"SAT": {}}


class TestProductionCandidates:
    @says("Production, step 1, item 1", points=["broker.exclude_test_queues", "broker.every_queue"])
    def test_all_queues_but_those_for_tests(self, state):
        """Candidates are all queues, of any type and with or without cloud, but those with 'test' in their names."""
        queues = {"A": {"type": "analysis"}, "B": {"cloud": ""}, "C_TeSt": {}, "D": {"type": "special"}}
        assert answer(state, queues).reasons("A", "B", "C_TeSt", "D") == ["", "", "test_queue", ""]

    def test_a_nucleus_needs_no_cloud(self, state):
        queues = {"SAT": {}, "NUC_Q": {"site": "NUC", "role": "nucleus", "cloud": "", "type": "analysis"}}
        assert answer(state, queues, {"taskPriority": 900}).reasons("SAT", "NUC_Q") == ["not_in_nucleus", ""]

    @says("Production, step 1, item 2, sentence 1", points=["broker.included_sites_always"])
    @pytest.mark.parametrize("task", [{"site": "A,B"}, {"parameters": {"includedSite": ["A", "B"]}}])
    def test_a_list_of_given_queues(self, state, task):
        """A task may be pre-assigned to a list of queues."""
        found = answer(state, {"A": {}, "B": {"status": "test"}, "C": {}}, task)
        assert found.reasons("A", "B", "C") == ["", "", "nonpreassigned"]

    @says("Production, step 1, item 2, sentence 2")
    def test_unified_queues_become_pseudo_queues(self, state):
        """A unified queue that is pre-assigned stands for its pseudo queues."""
        found = answer(state, {"U": {"capability": "ucore", "corecount": 8, "maxrss": 16000}}, {"site": "U"})
        assert found.candidates == ["U/SCORE", "U/SCORE_HIMEM"]

    @says("Production, step 1, item 2, sentence 3", points=["broker.merges_freed_by_skips"])
    def test_merges_are_free_after_24_hours(self, state):
        """Merges are pre-assigned until their queues have been skipped for 24 hours."""
        task = {"isMerging": True, "frozenTime": NOW - 24 * HOUR + 1}
        pool(state, {"A": {"corecount": 8}, "B": {}}, task, inputs=[files(1, site="A", type="trn_log")],
             replicas=at(A=None))  # fmt: skip
        assert asked(state).reasons("A", "B") == ["cpucore", "nonpreassigned"]
        assert asked(state, now=NOW + 1).reasons("B") == [""]


class TestProductionFilters:
    @says("Production, step 2, status", points=["broker.online_only"])
    def test_only_online(self, state):
        """Queues must be online unless they are pre-assigned."""
        states = {f"Q{n}": {"status": s} for n, s in enumerate(("standby", "test", "paused", "offline", "brokeroff"))}
        pool(state, states, {})
        assert asked(state).reasons(*states) == ["status"] * 5
        store(state, tasks=[{"jediTaskID": 1, "site": ",".join(states), "nucleus": "NUC", "coreCount": 1}])
        assert asked(state).reasons(*states) == [""] * 5

    @says("Production, step 2, blocked links")
    def test_blocked_links(self, state):
        """Queues with a blocked link to the nucleus are skipped."""
        assert answer(state, SAT, links=[link("AGIS_closeness", -1)]).reasons() == ["link_unusable"]

    @says("Production, step 2, NQUEUED_SAT_CAP", points=["broker.link_caps"])
    @pytest.mark.parametrize(("queued", "reason"), [(150, ""), (151, "link_unusable")])
    def test_over_the_cap_of_a_link(self, state, queued, reason):
        """Queues with more files queued on their link than NQUEUED_SAT_CAP are skipped."""
        assert answer(state, SAT, links=[link("Production Output_queued", queued)]).reasons() == [reason]

    @says("Production, step 2, NQUEUED_NUC_CAP_FOR_JOBS", points=["broker.nucleus_cap_spares_nucleus"])
    @pytest.mark.parametrize(("queued", "reason"), [(70, ""), (71, "links_full")])
    def test_over_the_cap_of_a_nucleus(self, state, queued, reason):
        """All queues, the nucleus's too, are skipped with more files for the nucleus than NQUEUED_NUC_CAP_FOR_JOBS."""
        metrics = [link("Production Output_queued", 30, "OTHER"), link("Production Output_queued", queued - 30)]
        found = answer(state, SAT, links=metrics, config=setting(jobbroker__NQUEUED_NUC_CAP_FOR_JOBS=70))
        assert found.reasons("SAT", "NUC_Q") == [reason, reason]

    @says("Production, step 2, priority 800", points=["broker.urgent_needs_nucleus"])
    @pytest.mark.parametrize("task", [{"taskPriority": 800}, {"scout": True}])
    def test_urgent_tasks_stay_near_the_nucleus(self, state, task):
        """From priority 800, and for scouts, only queues associated with the nucleus are left."""
        assert answer(state, SAT, task).reasons("SAT", "NUC_Q") == ["not_in_nucleus", ""]

    @says("Production, step 2, inactive", points=["broker.inactive_with_starting"])
    @pytest.mark.parametrize("task", [{"isMerging": True}, {"splitRule": "NF=1,MO=1"}])
    def test_inactive_queues(self, state, task):
        """Merges and the like skip queues where activated jobs have not got started for 2 hours."""
        names = ("A", "B", "C")
        found = answer(
            state, {name: {} for name in names}, task,
            pilots=[{"queue": name, "getJob": 5, "lastStart": NOW - 2 * HOUR - (name != "C")} for name in names],
            statistics=jobs(A={"activated": 1, "running": 9}, B={"starting": 1, "running": 9}, C={"activated": 1,
                                                                                                  "running": 9}),
        )  # fmt: skip
        assert found.reasons(*names) == ["inactive", "", ""]

    @says("Production, step 2, zero share",
          points=["broker.unnamed_have_no_share", "broker.evgensimul", "broker.tests_have_shares"])  # fmt: skip
    @pytest.mark.parametrize(
        ("kind", "reasons"),
        [("simul", ["", "", "", ""]), ("evgen", ["", "", "", "zeroshare"]),
         ("reprocessing", ["zeroshare", "zeroshare", "", ""]), ("validation", ["zeroshare", "zeroshare", "", ""])],
    )  # fmt: skip
    def test_zero_share(self, state, kind, reasons):
        """With type=evgensimul:100% only evgen and simul jobs are assigned; all others have a share of zero."""
        policies = ("type=evgensimul:100%", "type=evgensimul:100%,type=any:0%", "type=evgensimul:100%,type=any:9%",
                    "type=evgen:0%")  # fmt: skip
        queues = {f"Q{n}": {"fairsharepolicy": policy} for n, policy in enumerate(policies)}
        assert answer(state, queues, {"processingType": kind}).reasons() == reasons

    @says("Production, step 2, ioIntensity",
          points=["broker.move_limits", "broker.partial_input", "broker.tape_second", "broker.io_check_lapses"],
          )  # fmt: skip
    @pytest.mark.parametrize(
        ("missing", "intensity", "reason"), [(4, 201, ""), (5, 201, "io"), (9, 201, "io"), (9, 200, "")]
    )
    def test_missing_input(self, state, missing, intensity, reason):
        """With a high ioIntensity, size and number of the files missing must be below both cut-offs."""
        found = answer(
            state, SAT, {"ioIntensity": intensity}, inputs=[files(20)], replicas=at(NUC=20 - missing, SAT=20 - missing),
            config=setting(jobbroker__NUM_CUTOFF_TO_MOVE_INPUT=5, jobbroker__SIZE_CUTOFF_TO_MOVE_INPUT=9),
        )  # fmt: skip
        assert found.reasons("SAT", "NUC_Q") == [reason, reason]

    @pytest.mark.parametrize(("missing", "reason"), [(4, ""), (5, "io")])
    def test_missing_size(self, state, missing, reason):
        sizes = setting(jobbroker__SIZE_CUTOFF_TO_MOVE_INPUT=5)
        found = answer(state, SAT, {"ioIntensity": 201}, inputs=[files(20)], replicas=at(SAT=20 - missing),
                       config=sizes)  # fmt: skip
        assert found.reasons() == [reason]

    @says("Production, step 2, MAX_DISKIO_DEFAULT", "Production, step 2, maxDiskIO", points=["broker.disk_io_per_core"])
    def test_disk_traffic(self, state):
        """Queues over the limit of disk traffic, their own or the default, take no tasks with more than it."""
        queues: dict[str, Any] = {"A": {}, "B": {"maxdiskio": 300}, "C": {}}
        metrics = [{"queue": "A", "diskio": 101}, {"queue": "B", "diskio": 101}, {"queue": "C", "diskio": 100}]
        found = answer(state, queues, {"diskIO": 101}, metrics=metrics,
                       config=setting(jobbroker__MAX_DISKIO_DEFAULT=100))  # fmt: skip
        assert found.reasons("A", "B", "C") == ["diskIO", "", ""]

    @says("Production, step 2, core count", "Analysis, step 3, core count")
    @pytest.mark.parametrize("kind", [{}, user()])
    def test_core_counts_match(self, state, kind):
        """Cores of slots must match those of the task."""
        found = answer(state, {"ONE": {}, "EIGHT": {"corecount": 8}}, kind | {"coreCount": 8})
        assert found.reasons("ONE", "EIGHT") == ["cpucore", ""]

    @says("Production, step 2, releases", "Analysis, step 3, releases",
          points=["broker.any_releases", "broker.software_without_release"])  # fmt: skip
    def test_releases(self, state):
        """The check is skipped at queues with ANY; with AUTO what is published decides."""
        queues = {"ANY": {}, "AUTO": {"releases": ["AUTO"]}, "SILENT": {"releases": ["AUTO"]}}
        task = {"transHome": "Athena-21.0.38", "architecture": "x86_64-slc6-gcc62-opt#x86_64",
                "container_name": "/cvmfs/img"}  # fmt: skip
        published = [{"queue": "AUTO", "containers": ["any"], "architectures": [{"type": "cpu", "arch": ["x86_64"]}]},
                     {"queue": "ANY", "architectures": [{"type": "cpu", "arch": ["aarch64"]}]}]  # fmt: skip
        pool(state, queues, task, software=published[:1])
        assert asked(state).reasons("ANY", "AUTO", "SILENT") == ["", "", "cache"]
        store(state, software=published)
        assert asked(state).reasons("ANY") == ["cache"], "hardware that is published is compared"

    @says("Production, step 2, memory", points=["broker.base_memory_always"])
    @pytest.mark.parametrize(("cores", "need"), [(1, 2250.0), (8, (500 + 2000 * 8) * 0.9)])
    def test_memory(self, state, cores, need):
        """(baseRamCount + ramCount x coreCount) x 0.9 must lie within the range of the queue."""
        size = {"corecount": cores}
        queues = {"FITS": {**size, "maxrss": need, "minrss": need}, "LESS": {**size, "maxrss": need - 1},
                  "MORE": {**size, "minrss": need + 1}}  # fmt: skip
        found = answer(state, queues, {"coreCount": cores, "ramCount": 2000, "baseRamCount": 500,
                                       "ramUnit": "MBPerCore"})  # fmt: skip
        assert found.reasons("FITS", "LESS", "MORE") == ["", "lowmemory", "highmemory"]

    @says("Production, step 2, direct access")
    def test_direct_access(self, state):
        """Tasks with direct access alone skip queues that do not support it."""
        found = answer(state, {"A": {}, "B": {"direct_access_lan": True}}, {"splitRule": "NF=1,IL=2"})
        assert found.reasons("A", "B") == ["remoteio", ""]

    @says("Production, step 2, disk usage", "Production, step 2, maxwdir",
          points=["broker.scratch_floor", "broker.scratch_margin", "broker.scratch_must_exceed",
                  "broker.scratch_per_core"])  # fmt: skip
    @pytest.mark.parametrize(
        ("task", "need"),
        [({"workDiskCount": 200}, 1024 + 500 + 200), ({"outDiskCount": 0.75, "outDiskUnit": "MB"}, 1024 + 768),
         ({"outDiskCount": 6, "outDiskUnit": "MBPerEvent"}, 1024 + 600)],
    )  # fmt: skip
    def test_scratch(self, state, task, need):
        """maxwdir per core must be larger than input, output (0.5 GB at least) and working space."""
        queues = {"AS_MUCH": {"maxwdir": need}, "MORE": {"maxwdir": need + 1}}
        found = answer(state, queues, task | {"workDiskUnit": "MB"}, inputs=[files(1)], replicas=at(NUC=None))
        assert found.reasons("AS_MUCH", "MORE") == ["disk", ""]

    def test_scratch_is_divided_by_cores(self, state):
        queues = {"A": {"corecount": 8, "maxwdir": 8 * 500}, "B": {"corecount": 8, "maxwdir": 8 * 501}}
        assert answer(state, queues, {"coreCount": 8}).reasons("A", "B") == ["disk", ""]

    @says("Production, step 2, inputDiskCount of zero", points=["broker.direct_access_of_queue"])
    def test_direct_reading_needs_no_scratch_for_input(self, state):
        """Input counts as nothing at queues that read it directly."""
        queues = {
            "A": {},
            "B": {"maxinputsize": -1},
            "C": {"direct_access_lan": True},
            "D": {"direct_access_wan": True},
        }
        queues = {name: {"maxwdir": 501} | fields for name, fields in queues.items()}
        found = answer(state, queues, inputs=[files(1)], replicas=at(NUC=None))
        assert found.reasons("A", "B", "C", "D") == ["disk", "", "", "disk"]
        by_the_task = asked(state, direct_access_of_queue=False)
        assert by_the_task.reasons("A", "B", "C", "D") == ["disk", "", "disk", "disk"]

    @says("Production, step 2, DISK size", "Analysis, step 3, DISK size",
          points=["broker.space", "broker.space_must_exceed"])  # fmt: skip
    @pytest.mark.parametrize("kind", [{}, user()])
    @pytest.mark.parametrize(("free", "reason"), [(200, "disk"), (200.5, "")])
    def test_free_space(self, state, kind, free, reason):
        """Free space in the storage must be over 200 GB, whatever of it is kept free."""
        storages = [{"rse": "SAT", "site": "SAT", "space_free": free, "space_min_free": 150, "space_expired": 40}]
        assert answer(state, SAT, kind, storages=storages).reasons() == [reason]

    @says("Production, step 2, blacklisted storage", "Analysis, step 3, blacklisted storage")
    @pytest.mark.parametrize(("kind", "tag"), [({}, "write_lan_blacklist"), (user(), "blacklist")])
    def test_blacklisted_storage(self, state, kind, tag):
        """Queues with blacklisted storage are skipped."""
        down = {"rse": "SAT", "site": "SAT", "space_free": 999, "detailed_status": {"write_lan": "OFF"}}
        assert answer(state, SAT, kind, storages=[down]).reasons() == [tag]

    @says("Production, step 2, maxtime of 24 hours", points=["broker.plain_minimum_walltime"])
    @pytest.mark.parametrize("unit", [None, "HS06sPerEvent"])
    def test_merges_need_24_hours(self, state, unit):
        """Scouts and merges skip queues with a maxtime of less than 24 hours, whatever the unit; 0 is no limit."""
        queues = {"LESS": {"maxtime": 86399}, "DAY": {"maxtime": 86400}, "NONE": {"maxtime": 0}}
        found = answer(state, queues, {"isMerging": True, "cpuTimeUnit": unit, "baseWalltime": 600})
        assert found.reasons("LESS", "DAY", "NONE") == ["min_walltime", "", ""]

    @says("Production, step 2, walltime",
          points=["broker.walltime_below_maxtime", "broker.unknown_walltime_needs_day", "broker.mintime_in_production"],
          )  # fmt: skip
    @pytest.mark.parametrize(("cores", "efficiency"), [(1, 100), (8, 90)])
    def test_walltime(self, state, cores, efficiency):
        """cpuTime x nEvents / (C x P x cpuEfficiency) + baseTime must be less than maxtime."""
        seconds = 7200 * 100 / (cores * 10 * efficiency / 100) + 600
        queues = {"AS_LONG": {"maxtime": seconds}, "LONGER": {"maxtime": seconds + 1, "mintime": 10**6}}
        task = {"cpuTime": 7200, "cpuTimeUnit": "HS06sPerEvent", "cpuEfficiency": efficiency, "baseWalltime": 600,
                "coreCount": cores}  # fmt: skip
        found = answer(state, {name: one | {"corecount": cores} for name, one in queues.items()}, task,
                       inputs=[files(1)], replicas=at(NUC=None))  # fmt: skip
        assert found.reasons("AS_LONG", "LONGER") == ["shortwalltime", ""]

    @says("Production, step 2, wnconnectivity, network")
    @pytest.mark.parametrize(("asks", "passing"), [("full", ["F"]), ("http", ["F", "H"]), ("none", ["F", "H", "N"])])
    def test_network_connectivity(self, state, asks, passing):
        """full takes any task, http those with http or none, none those with none."""
        queues = {"F": {"wnconnectivity": "full"}, "H": {"wnconnectivity": "http"}, "N": {"wnconnectivity": "none"}}
        found = answer(state, queues, {"ipConnectivity": asks})
        assert [name for name in "FHN" if name in found.candidates] == passing

    @says("Production, step 2, wnconnectivity, ip_stack", points=["broker.ip_stack_of_queue"])
    @pytest.mark.parametrize(("asks", "passing"), [("full#IPv4", ["Q4"]), ("full#IPv6", ["Q6"]), ("full", ["Q"])])
    def test_ip_stack(self, state, asks, passing):
        """IPv4 takes tasks with IPv4, IPv6 those with IPv6, an unset stack those that name none."""
        queues = {f"Q{ip}": {"wnconnectivity": f"full#IPv{ip}" if ip else "full"} for ip in ("", "4", "6")}
        found = answer(state, queues, {"ipConnectivity": asks})
        assert [name for name in queues if name in found.candidates] == passing

    @says("Production, step 2, event service")
    def test_event_service(self, state):
        """A queue's settings for event service are followed."""
        queues = {"ES": {"jobseed": "es"}, "STD": {"jobseed": "std"}, "ALL": {"jobseed": "all"}}
        pool(state, queues, {})
        assert asked(state).reasons(*queues) == ["nones", "", ""]
        store(state, tasks=[{"jediTaskID": 1, "nucleus": "NUC", "coreCount": 1, "eventService": 1}])
        assert asked(state).reasons(*queues) == ["", "es", ""]

    @says("Production, step 2, transferring", points=["broker.transfers_spare_nucleus"])
    @pytest.mark.parametrize("name", ["SAT", "NUC_Q"])
    @pytest.mark.parametrize(
        ("limit", "moving", "running", "reason"),
        [(None, 2000, 0, ""), (None, 2001, 0, "transferring"), (100, 101, 50, "transferring"), (100, 120, 60, "")],
    )
    def test_transferring(self, state, name, limit, moving, running, reason):
        """More transferring jobs than max(limit of the site or 2000, 2 x running) skip a queue, the nucleus's too."""
        queues: dict[str, Any] = {
            "SAT": {"transferringlimit": limit},
            "NUC_Q": {"site": "NUC", "role": "nucleus", "transferringlimit": limit},
        }
        counts = jobs(**{name: {"transferring": moving, "running": running}})
        assert answer(state, queues, statistics=counts).reasons(name) == [reason]

    @says("Production, step 2, t1Weight", points=["broker.one_queue_at_nucleus"])
    def test_t1_weight(self, state):
        """With a t1Weight of -1 all queues associated with the nucleus are used, and no others."""
        queues: dict[str, Any] = {"SAT": {}, "NUC_B": {"site": "NUC", "role": "nucleus"}}
        found = answer(state, queues, {"splitRule": "NF=1,TW=-1"}, statistics=jobs(NUC_Q={"running": 9}))
        assert found.reasons("SAT", "NUC_B", "NUC_Q") == ["t1weight", "", ""]

    @says("Production, step 2, pilots", "Analysis, step 3, pilots", points=["broker.pilots_always"])
    @pytest.mark.parametrize("kind", [{"prodSourceLabel": "test"}, {"site": "SAT"}, user(), {}])
    def test_pilots(self, state, kind):
        """Queues without pilots for 3 hours are skipped."""
        slots = [{"queue": "SAT", "numslots": 5}]
        found = answer(state, SAT, kind, pilots=[{"queue": "SAT", "getJob": 0}], slots=slots)
        assert found.reasons() == ["nopilot"]

    @says("Production, step 2, NW_THRESHOLD", points=["broker.express_from_1000", "broker.network_tolerance"])
    @pytest.mark.parametrize(
        ("priority", "kind", "factor", "reason"),
        [(1000, "simul", 1, ""), (1000, "simul", 1.5, "lowNetworkWeight"), (999, "simul", 1.5, ""),
         (1, "urgent", 1.5, "lowNetworkWeight")],
    )  # fmt: skip
    def test_network_threshold(self, state, priority, kind, factor, reason):
        """Urgent tasks and priority 1000 need a network weight of NW_THRESHOLD x NW_WEIGHT_MULTIPLIER."""
        found = answer(state, {}, {"taskPriority": priority, "processingType": kind},
                       config=setting(jobbroker__NW_WEIGHT_MULTIPLIER=factor))  # fmt: skip
        assert found.reasons("NUC_Q") == [reason], "the nucleus weighs 2.5, and 1.7 x 1.5 is 2.55"

    @says("Production, step 2, whole list", "Analysis, step 3, whole list", points=[
        "broker.work_shortage", "broker.max_io_intensity", "broker.full_chain", "broker.incomplete_input",
        "broker.locks", "broker.local_data_only", "broker.minimum_weight", "broker.type_cap",
    ])  # fmt: skip
    def test_nothing_else_refuses(self, state):
        """Queues are skipped for what the list names and for nothing else."""
        queue = {"pledgedcpu": -1, "params": {"max_io_intensity": 1, "use_only_local_data": True},
                 "catchall": "bareNucleus=only"}  # fmt: skip
        found = answer(
            state, {"SAT": queue}, {"ioIntensity": 100}, inputs=[files(100)], replicas=at(NUC=5),
            metrics=[{"queue": "SAT", "locked": True}],
            config=setting(core__WORK_SHORTAGE=True, jobbroker__MIN_WEIGHT_managed=99),
        )  # fmt: skip
        assert found.reasons("SAT") == [""]
