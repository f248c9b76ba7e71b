"""What a cycle says of partitionable slots that it matched as a whole."""

from tests.steps.import_cases import dump, job, slot


def test_a_partitionable_slot_that_is_matched_as_a_whole(run, state, tmp_path):
    """The schedd may put more jobs on it than the cycle tells; where fairq carves the slot itself it may not."""
    slots = dump(tmp_path, "slots", slot("slot1@m", PartitionableSlot=True, Cpus=8, Memory=8192, Disk=1000))
    words = ("--state", state, "--config", tmp_path / "c.toml")
    told = []
    for rules in ("htcondor", "documented"):
        (tmp_path / "c.toml").write_text(f'[negotiator]\nrules = "{rules}"\n')
        assert run(*words, "import", "--slots", slots, "--jobs", dump(tmp_path, "jobs", job())).code == 0
        cycle = run(*words, "negotiate", "--dry-run")
        told.append("slot1@m is partitionable: the schedd of the match may start" in cycle.err)
    assert told == [True, False]
