"""What the check of the benchmarks calls worse."""

import json

import pytest
from benchmarks import beside_htcondor, check, growth, htcondor_cycle
from benchmarks.htcondor_cycle import Match


def test_a_ratio_fails_from_three_tenths_more_on_and_a_new_one_never():
    table = {"import": 10.0, "negotiate": 10.0, "gone": 1.0}
    assert check.worse({"import": 12.9, "negotiate": 13.0, "new": 99.0}, table) == ["negotiate"]


def test_a_failure_counts_only_if_a_second_measurement_confirms_it(monkeypatch, capsys):
    table = json.loads(check.TABLE.read_text())
    name = next(iter(table))
    slow = {**table, name: table[name] * 2}
    for second, code in ((table, 0), (slow, 1)):
        measurements = iter([slow, second])
        monkeypatch.setattr(check, "measured", lambda found=measurements: next(found))
        assert check.check() == code
        assert ("WORSE" in capsys.readouterr().out) is bool(code)


def test_the_table_has_every_measure():
    negotiated = [f"negotiate {pool} {rules} : unit" for pool in check.POOLS for rules in check.RULES]
    assert {"--help : unit", *negotiated} <= json.loads(check.TABLE.read_text()).keys()


LOG = """\
11/22/26 17:00:13.130 ---------- Started Negotiation Cycle ----------
11/22/26 17:00:13.437     Request 00001.00900: autocluster 1 (request count 1 of 27)
11/22/26 17:00:13.452       Matched 1.900 ann@test <127.0.0.1:25501?addrs=127.0.0.1-25501&alias=vm> \
preempting none <127.0.0.1:7131> slot1@n000695
11/22/26 17:00:13.452       Successfully matched with slot1@n000695
11/22/26 17:00:13.452       Rejected 2.0 bob@test <127.0.0.1:25501?addrs=127.0.0.1-25501&alias=vm>: no match found
11/22/26 17:00:14.456       Matched 1.900 ann@test <127.0.0.1:25501> preempting none <127.0.0.1:7131> slot1@n000849
11/22/26 17:00:14.630 ---------- Finished Negotiation Cycle ----------
"""


def test_a_log_of_the_real_negotiator_tells_its_matches_and_its_seconds():
    ann = [Match("ann@test", "1.900", slot) for slot in ("slot1@n000695", "slot1@n000849")]
    assert htcondor_cycle.matches(LOG) == ann
    assert htcondor_cycle.seconds(LOG) == pytest.approx(1.5)


def test_cycles_agree_if_equal_requests_of_a_submitter_got_the_same_slots():
    asked = {"1.0": (512, 1), "1.1": (512, 1), "1.2": (1024, 1), "2.0": (512, 1)}
    theirs = [Match("ann@test", "1.0", "a"), Match("ann@test", "1.0", "b"), Match("bob@test", "2.0", "c")]

    def found(*jobs_and_slots):
        owners = {"1": "ann@test", "2": "bob@test"}
        ours = [Match(owners[job[0]], job, slot) for job, slot in jobs_and_slots]
        return str(beside_htcondor.agreement(ours, theirs, asked))

    assert found(("1.0", "a"), ("1.1", "b"), ("2.0", "c")) == "3, all the same"
    assert found(("1.1", "b"), ("1.0", "a"), ("2.0", "c")) == "DIFFER: 3, in another order"
    assert "2 the same slot" in found(("1.0", "a"), ("1.2", "b"), ("2.0", "c"))
    assert found(("1.0", "a"), ("2.0", "c")) == "DIFFER: 2 of fairq, 3 of HTCondor, 2 are the same"


def test_an_ad_is_sent_as_the_collector_reads_it():
    sent = htcondor_cycle.encoded({"Name": "slot1@n1", "Cpus": 1, "Start": True, "Requirements": "/Expr(Start && X)/"})
    number, *lines = sent[:8], *sent[8:].split(b"\0")
    assert int.from_bytes(number, "big") == 4
    assert lines == [
        b'Name = "slot1@n1"', b"Cpus = 1", b"Start = true", b"Requirements = Start && X", b"Machine", b"Job", b""
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "factor"), [((1, 2, 4), "2.0"), ((1, 2, 6), "4.0"), ((1, 1.04, 1.09), "-"), ((1, 0.9, 0.8), "-")]
)
def test_growth_is_what_the_second_doubling_adds_over_the_first(seconds, factor):
    costs = [growth.Cost(cpu, cpu, 50) for cpu in seconds]
    assert growth.row("jobs", (10, 20, 40), "import", costs).endswith(f"| {factor} |")
    assert growth.row("jobs", (10, 20, 40), "import", costs).startswith("| jobs 10 to 40 | import | 1.00 s, 50 MB |")
