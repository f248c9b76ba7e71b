"""The settings of this host's pool: the site file decides; a user's file and variables set a few."""

import pytest

from fairq.settings.host_pool import host_destination, host_settings
from fairq.settings.layers import site_file, user_file


@pytest.fixture
def files():
    site, user = site_file(), user_file()
    for file in (site, user):
        file.parent.mkdir(parents=True, exist_ok=True)
    site.write_text('[pool]\nstate = "/x/pool.db"\nadministrators = ["ann"]\n[groups.physics]\nquota = 3\n')
    return site, user


def test_a_users_file_sets_no_rules(files):
    files[1].write_text(
        '[pool]\nuse = "private"\nadministrators = ["bob"]\nstate = "/y"\n[groups.mine]\nquota = 9\n'
        "[groups.physics]\nquota = 9\n[limits]\nx = 5\n[submit]\ncommand_timeout = 7\n"
    )
    settings = host_settings({})
    assert (settings["pool.administrators"], settings["pool.state"]) == (("ann",), "/x/pool.db")
    assert list(settings.groups) == ["physics"]
    assert settings.groups["physics"].quota == 3
    assert "x" not in settings.limits
    assert (settings["pool.use"], settings["submit.command_timeout"]) == ("private", 7)


def test_variables_set_no_rules(files, tmp_path):
    other = tmp_path / "other.toml"
    other.write_text('[negotiator]\nrules = "htcondor"\n[metrics]\nsubmitters = 3\n')
    variables = {"FAIRQ_POOL_ADMINISTRATORS": "bob", "FAIRQ_POOL_USE": "private", "FAIRQ_CONFIG": str(other)}
    settings = host_settings(variables)
    assert settings["pool.administrators"] == ("ann",)
    assert settings["negotiator.rules"] == "documented"
    assert (settings["pool.use"], settings["metrics.submitters"]) == ("private", 3)


def test_changes_of_rules_go_to_the_site_file(files):
    assert host_destination("pool.use") == files[1]
    assert host_destination("negotiator.rules") == files[0]
