"""``submit`` tells where one job of a cluster may keep the others from being tried."""

import pytest

STATEMENTS = 'requirements = Arch == "A"\nqueue 2\nrequirements = Arch == "B"\nqueue\n'
ITEMS = "request_memory = $(m)\nqueue m in (1G, 2G)\n"
ALIKE = "arguments = 1\nqueue 2\narguments = 2\nqueue\n"
TOLD = "keeps the later ones from being tried in the same pass; set schedd.negotiate_all_jobs_in_cluster = true"


@pytest.mark.parametrize(("text", "told"), [(STATEMENTS, True), (ITEMS, True), (ALIKE, False), ("queue 9\n", False)])
@pytest.mark.parametrize(
    ("setting", "value", "lifts"),
    [
        ("negotiator.skip_by", "cluster", False),
        ("negotiator.skip_by", "autocluster", True),
        ("negotiator.rules", "htcondor", True),
        ("schedd.negotiate_all_jobs_in_cluster", "true", True),
        ("schedd.significant_attributes", "Arch", True),
    ],
)
def test_a_cluster_of_different_jobs(run, state, tmp_path, text, told, setting, value, lifts):
    """Statements or items with different needs, where the rest of the cluster is skipped."""
    description = tmp_path / "jobs.sub"
    description.write_text(f"executable = /bin/true\n{text}")
    assert run("--state", state, "config", "set", setting, value).code == 0
    ended = run("--state", state, "submit", description)
    assert ended.code == 0, ended.err
    assert (TOLD in ended.err) == (told and not lifts)
