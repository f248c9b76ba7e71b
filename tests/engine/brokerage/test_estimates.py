"""What a job is expected to need: the smallest job of a chunk, its memory, disk and time."""

import pytest
from tests.broker_rules import DOCUMENTED, PANDA

from fairq.engine.brokerage.criteria.memory import job_memory
from fairq.engine.brokerage.criteria.scratch import Scratch, analysis_scratch, production_scratch
from fairq.engine.brokerage.criteria.walltime import job_work, minimum_work, work_within
from fairq.engine.brokerage.criteria.weights import split_job_count
from fairq.engine.brokerage.jobs.atom import Atom, smallest_job
from fairq.engine.brokerage.jobs.tasks import Chunk, Dataset, File, Task

MIB = 2**20


def chunk(*sizes, secondary=(), attributes=""):
    master = Dataset("in", tuple(File(f"f{n}", size * MIB, 10) for n, size in enumerate(sizes)))
    files = tuple(File(f"s{n}", size * MIB, 5) for n, size in enumerate(secondary))
    others = (Dataset("mc", files, attributes=attributes),) if secondary else ()
    return Chunk((master, *others))


def test_the_smallest_job_is_the_largest_of_the_smallest_that_are_possible():
    """Two files a job: 300 + 200 MiB in one job, 400 in the other."""
    assert smallest_job(Task(rules={"NF": "2"}), chunk(300, 200, 400)) == Atom(500 * MIB, 500, 20)


@pytest.mark.parametrize(
    ("rules", "largest"),
    [
        ({"NE": "20"}, Atom(900 * MIB, 900, 30)),
        ({"NE": "20", "MF": "2"}, Atom(500 * MIB, 500, 20)),
        ({"NE": "-1"}, Atom(400 * MIB, 400, 10)),
        ({"NF": "-1"}, Atom(400 * MIB, 400, 10)),
    ],
)
def test_files_without_ranges_are_counted_and_not_their_events(rules, largest):
    assert smallest_job(Task(rules=rules), chunk(300, 200, 400)) == largest
    twice = (File("f", 300 * MIB, 10), File("f", 200 * MIB, 10), File("g", 400 * MIB, 10))
    named_twice = smallest_job(Task(rules=rules), Chunk((Dataset("in", twice),)))
    assert (named_twice.effective_mib, named_twice.events) == (largest.effective_mib, largest.events)


def test_secondary_files_go_with_the_master_files_in_order():
    """One for each: the job of the second file reads 10 and 7 MiB, and a single file goes with the first."""
    one_each = smallest_job(Task(rules={"NF": "1"}), chunk(1, 10, 2, secondary=(1, 7, 9)))
    assert one_each.input_bytes == 17 * MIB
    assert smallest_job(Task(rules={"NF": "1"}), chunk(1, 10, 2, secondary=(100,))).input_bytes == 101 * MIB
    assert split_job_count(Task(rules={"NG": "1"}), chunk(400, 400, 400, 400, secondary=(200,)), 300) == 2
    assert split_job_count(Task(rules={"NG": "1"}), chunk(400, 400, 400, 400, secondary=(200, 200, 200, 200)), 300) == 4


@pytest.mark.parametrize(
    ("attributes", "files", "mib"),
    [
        ("", "1", 30 + 4),
        ("repeat,nosplit", "1", 30 + 15),
        ("ratio=2", "1", 20 + 12),  # nothing is left for the third job
        ("ratio=0.5", "1", 30 + 4),  # one for each job: what is needed is rounded up
        ("ratio=0.5", "2", 30 + 2),  # one for the first two, and the next for the third
        ("np=3", "1", 30),
        ("ratio=2,ru", "1", 30 + 3),  # the third job has the first two again
        ("np=3,ru", "1", 30 + 7),
    ],
)
def test_attributes_of_a_secondary_dataset_say_what_jobs_read_of_it(attributes, files, mib):
    asked = chunk(10, 20, 30, secondary=(1, 2, 4, 8), attributes=attributes)
    assert smallest_job(Task(rules={"NF": files}), asked).input_bytes == mib * MIB


def test_events_are_counted_in_ranges_that_follow_each_other():
    """Three ranges of ten events with a gap behind the second, twenty events a job."""
    ranges = tuple(File("f", 100 * MIB, 100, start, start + 9) for start in (0, 10, 30))
    ranges_chunk = Chunk((Dataset("in", ranges),))
    assert smallest_job(Task(rules={"NE": "20"}), ranges_chunk).events == 20
    assert split_job_count(Task(rules={"NE": "30"}), ranges_chunk, 300) == 2


@pytest.mark.parametrize(
    ("unit", "base_always", "production", "memory"),
    [
        ("MBPerCore", True, True, (500 + 2000 * 8) * 0.9),
        ("MB", True, True, (500 + 2000) * 0.9),
        ("MBPerCore", False, True, 14850),
        ("MBPerCore", False, False, 14400),
        ("MB", False, True, 1800),
    ],
)
def test_memory_has_a_base_by_the_page_for_every_unit(unit, base_always, production, memory):
    """(base + ram * cores) * 0.9; the code adds the base per core in production alone, and rounds down."""
    need = job_memory(2000, 8, unit, 500, merging=False, base_always=base_always, production=production)
    assert need == pytest.approx(memory)


def test_scratch_holds_input_output_and_working_space():
    """The page expects 500 MB of output in production at least; the code 1500, and adds 300 to working space."""
    task, data = Task(rules={"NF": "1"}, work_disk_count=100, work_disk_unit="MB"), chunk(1000)
    atom = smallest_job(task, data)
    assert production_scratch(task, atom, DOCUMENTED) == Scratch(1600, 600)
    assert production_scratch(task, atom, PANDA) == Scratch(2900, 1900)
    assert analysis_scratch(task, atom, DOCUMENTED, merging=data.is_merging) == Scratch(1100, 100)
    assert analysis_scratch(task, atom, PANDA, merging=data.is_merging) == Scratch(1400, 400)


def test_time_is_compared_as_work():
    """cpuTime * nEvents / (cores * power * efficiency) + base: 8 cores of 10 HS06 at 90 % do 72 a second."""
    task = Task(cpu_time=100, cpu_time_unit="HS06sPerEvent", cpu_efficiency=90, base_walltime=600)
    assert job_work(task, Atom(events=1000)) == 100_000
    assert work_within(1600, task, 8, 10) == 72_000
    assert minimum_work(8) == 8 * 10 * 86400


def test_a_maximum_of_no_files_is_one_file():
    """MF=0 with events, and in splitting: PanDA takes a file before it looks at the maximum."""
    assert smallest_job(Task(rules={"NE": "100", "MF": "0"}), chunk(300, 200, 400)) == Atom(400 * MIB, 400, 10)
    assert split_job_count(Task(rules={"MF": "0"}), chunk(300, 200, 400), 300) == 3


@pytest.mark.parametrize("rules", [{"NF": "0"}, {"NE": "0"}, {"NF": "0", "NE": "10"}])
def test_a_rule_at_0_is_set_and_leaves_the_files_of_a_job_to_their_size(rules):
    """20 GiB less 1,500 MiB for output, and at most MF files or 200."""
    room = 20 * 1024 - 1500
    assert smallest_job(Task(rules=rules), chunk(10_000, room - 10_000, 300)) == Atom(room * MIB, room, 20)
    assert smallest_job(Task(rules=rules), chunk(10_000, room - 9_999, 300)) == Atom(10_000 * MIB, 10_000, 20)
    assert smallest_job(Task(rules=rules | {"MF": "2"}), chunk(1, 2, 4, 3)).input_bytes == 7 * MIB
    assert smallest_job(Task(rules=rules), chunk(15_000, 1, secondary=(3_000, 2_000))).input_bytes == 18_000 * MIB


def test_a_merge_takes_50_files_by_default():
    """A job takes 200."""
    data = chunk(*[1] * 201)
    assert smallest_job(Task(rules={"NE": "1"}), data).events == 2000
    merge = Chunk(data.datasets, is_merging=True)
    assert smallest_job(Task(rules={"ZE": "1"}), merge).events == 500


def test_of_a_name_that_a_job_reads_twice_the_first_size_counts():
    twice = (File("f", 300 * MIB), File("f", 200 * MIB), File("g", 100 * MIB))
    assert smallest_job(Task(rules={"NF": "3"}), Chunk((Dataset("in", twice),))).input_bytes == 400 * MIB


def test_without_ranges_the_events_of_the_first_secondary_dataset_are_counted():
    """Ten events a file, beside master files that are read as a whole: two of them make 20 events."""
    master, first, second = (
        Dataset(name, tuple(File(f"{name}{n}", size * MIB, events) for n in range(4)))
        for name, size, events in (("in", 100, 1000), ("mc", 10, 10), ("hits", 1, 1000))
    )
    asked = Task(rules={"NE": "20"})
    assert smallest_job(asked, Chunk((master, first, second))).input_bytes == 222 * MIB
    assert split_job_count(asked, Chunk((master, first, second)), 300) == 2
    assert smallest_job(asked, Chunk((master,))).input_bytes == 400 * MIB
    ranges = Dataset("in", tuple(File(f"in{n}", 100 * MIB, 5, 0, 4) for n in range(4)))
    assert smallest_job(asked, Chunk((ranges, first))).input_bytes == 440 * MIB
