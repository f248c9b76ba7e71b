"""A live pool some of whose daemons do not answer: what could not be had is listed, and the exit code says so."""

from types import SimpleNamespace

import pytest
from classad2 import ClassAd

from fairq.errors.pool import IncompleteImportError
from fairq.steps.pool import live

SLOT = ClassAd({"MyType": "Machine", "Name": "slot1@m", "Cpus": 1, "State": "Unclaimed", "Requirements": True})
SCHEDDS = [ClassAd({"MyType": "Scheduler", "Name": name}) for name in ("one", "two")]
JOB = ClassAd({"ClusterId": 1, "ProcId": 0, "Owner": "ann", "User": "ann@x", "JobStatus": 1, "Requirements": True})


class UnreachableError(Exception):
    """The library's own exception."""


class Library:
    """The part of HTCondor's library that is asked, for a pool whose daemons may be *dead*."""

    HTCondorException = UnreachableError
    AdType = SimpleNamespace(Schedd="schedd", Startd="startd", Accounting="accounting")
    DaemonType = SimpleNamespace(Negotiator="negotiator")

    def __init__(self, *dead):
        self._dead = dead

    def query(self, kind):
        if "everything" in self._dead:
            return []
        return {"schedd": SCHEDDS, "startd": [SLOT]}.get(kind, [])

    def locate(self, kind):
        return None if kind in self._dead else ClassAd({"MyAddress": "<127.0.0.1:1>"})

    def Schedd(self, ad):  # noqa: N802 - as the library calls it
        def query():
            if ad["Name"] in self._dead:
                raise UnreachableError("Failed to connect to schedd.")
            return [ClassAd({**JOB, "GlobalJobId": f"{ad['Name']}#1.0#5"})]

        return SimpleNamespace(query=query)

    def RemoteParam(self, negotiator):  # noqa: N802 - as the library calls it
        if "configuration" in self._dead:
            raise UnreachableError("no such daemon")
        return {"GROUP_NAMES": "a"}


def missing(monkeypatch, *dead):
    report = ClassAd({"LastUpdate": 5, "Name1": "ann@x", "Priority1": 0.5, "PriorityFactor1": 1000.0})

    def reported(library, negotiator):
        if "accountant" in dead:
            raise UnreachableError("timed out")
        return report

    monkeypatch.setattr(live, "_report", reported)
    library = Library(*dead)
    bundle = live._Asked(library, library).bundle()
    assert bundle is not None
    return bundle.missing


CASES = [
    ((), []),
    (("negotiator",), ["negotiator:", "accounting:", "configuration:"]),
    (("two",), ["schedd two cannot be queried: failed to connect"]),
    (("accountant",), ["the accountant cannot be queried", "accounting:"]),
    (("configuration",), ["the configuration cannot be queried", "configuration:"]),
    (("everything", "negotiator"), ["negotiator:", "accounting:", "slots:", "jobs:", "configuration:"]),
]


@pytest.mark.parametrize(("dead", "found"), CASES)
def test_what_could_not_be_had_is_listed(monkeypatch, dead, found):
    told = missing(monkeypatch, *dead)
    assert len(told) == len(found)
    assert all(line.startswith(begin) for line, begin in zip(told, found, strict=True)), told


@pytest.mark.parametrize("dead", [(), ("two",), ("negotiator", "one", "two")])
def test_the_exit_code_says_so(run, state, monkeypatch, dead):
    """What could be had is imported all the same."""
    library = Library(*dead)
    monkeypatch.setattr(live, "_report", lambda *_: ClassAd({"LastUpdate": 5, "NumSubmittors": 0}))
    monkeypatch.setattr(live, "ask_pool", lambda pool: live._Asked(library, library).bundle())
    monkeypatch.setenv("XDG_CONFIG_HOME", str(state.parent))
    ended = run("--state", state, "import", "--live")
    assert ended.code == (IncompleteImportError.exit_code if dead else 0), ended.err
    assert ended.out.startswith("imported 1 slot")
    assert ("not imported: schedd two cannot be queried" in ended.err) == ("two" in dead)
    assert run("--state", state, "slots", "--af", "Name").out == "slot1@m\n"
