"""Pools and tasks with holes and nonsense in them are brokered all the same: every queue gets its answer."""

import pytest
from msgspec.structs import replace
from tests.broker_rules import DOCUMENTED, PANDA
from tests.engine.brokerage.pools import TASK, ask, at, chunk, pool, queue, task

from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File, Task
from fairq.engine.brokerage.pool.config import Config
from fairq.engine.brokerage.pool.world import Queue, World

WORLDS = {
    "nothing": World(),
    "a queue of a name alone": World(queues={"A": Queue("A")}),
    "a queue without storage": World(queues={"A": queue("A")}),
    "settings of 0": pool(config=Config({"jobbroker.NQUEUED_SAT_CAP": 0, "jobbroker.NW_QUEUE_IMPORTANCE": 5})),
    "a unified queue without numbers": pool(queue("U", capability="ucore", corecount=0, maxrss=None, minrss=None)),
}
HS06 = {"cpu_time": 5, "cpu_time_unit": "HS06sPerEvent"}
TASKS = {
    "ordinary": TASK,
    "empty": Task(),
    "without share, type and nucleus": task(gshare=None, resource_type=None, nucleus=None, current_priority=100),
    "rules that are no numbers": task(trans_home="", architecture="((", rules={"NF": "x", "TW": "y"}),
    "no time, no version": task(trans_home="Athena", architecture="", cpu_time_unit="HS06sPerEvent"),
    "numbers below zero": task(architecture="{bad", trans_home="Athena-1", ram_count=-5, core_count=-1, **HS06),
    "no efficiency": task(cpu_efficiency=0, **HS06),
}
CHUNKS = (
    Chunk(),
    chunk(3),
    Chunk((Dataset("d"),)),
    Chunk((Dataset("ds", (File("f0", 0, 0),), site="A"),), is_merging=True),
)


@pytest.mark.parametrize("rules", [DOCUMENTED, PANDA], ids=["documented", "panda"])
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS.keys())
@pytest.mark.parametrize("asked", TASKS.values(), ids=TASKS.keys())
def test_every_queue_gets_its_answer(world, asked, rules):
    for data in CHUNKS:
        for pool_asked in (world, replace(world, replicas=at(NUC=3, A=1, NOWHERE=2))):
            outcome = ask(pool_asked, asked, data, rules)
            chosen = {verdict.queue for verdict in outcome.candidates}
            assert {verdict.queue for verdict in outcome.verdicts() if not verdict.reason} == chosen
