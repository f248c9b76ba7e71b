"""A job finds its X.509 proxy where the submit description has it."""

import pytest


@pytest.mark.parametrize("environment", ["", "environment = X509_USER_PROXY=/other\n"])
def test_a_job_is_told_its_proxy(pool, environment):
    pool.slots(1)
    script = pool.script("#!/bin/sh\necho $X509_USER_PROXY\n")
    (pool.work / "proxy.pem").touch()
    (pool.work / "a.sub").write_text(
        f"executable = {script}\ninitialdir = {pool.work}\n{environment}x509userproxy = proxy.pem\nqueue\n"
    )
    pool.done("submit", pool.work / "a.sub")
    pool.done("run", "--until-idle", "-q")
    assert pool.done("tail", "1.0") == f"{pool.work}/proxy.pem\n"
