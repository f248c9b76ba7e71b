"""docs/operations.md: its units are what systemd reads, and its cron lines run."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fairq.cli.manual import overview as schedule

PAGE = (Path(__file__).parents[1] / "docs" / "operations.md").read_text()
PROGRAM = "/opt/fairq/bin/fairq"


def block(start):
    """The indented block that begins after the line that ends with *start*."""
    text = PAGE.partition(f"{start}\n\n")[2]
    lines = []
    for line in text.split("\n"):
        if line and not line.startswith("    "):
            break
        lines.append(line[4:])
    return "\n".join(lines).strip() + "\n"


def test_the_manual_has_the_same_lines_and_units():
    for name, text in (("fairq.service", schedule.SERVICE), ("fairq.timer", schedule.TIMER)):
        assert block(f"`/etc/systemd/system/{name}`:") == text
    assert block("rotates those in one directory:") == schedule.LOGROTATE
    assert all(f"    {line}\n" in PAGE for line in schedule.CRON)
    manual = (Path(__file__).parents[1] / "man" / "man1" / "fairq.1").read_text()
    for title in ("CRON AND SYSTEMD", "KillMode=process", "OnCalendar=*:0/1", "copytruncate"):
        assert title in manual


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_units(tmp_path):
    for name in ("fairq.service", "fairq.timer"):
        unit = block(f"`/etc/systemd/system/{name}`:")
        (tmp_path / name).write_text(unit.replace(PROGRAM, sys.executable).replace("User=fairq", "User=root"))
    files = [str(tmp_path / name) for name in ("fairq.service", "fairq.timer")]
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *files], capture_output=True, text=True, check=False
    )
    said = [line for line in checked.stderr.splitlines() if "fairq" in line]
    assert (checked.returncode, said) == (0, [])


def test_the_lines_of_cron_run_and_are_quiet_on_success(tmp_path):
    lines = re.findall(r"^    (?:\S+ ){5} *(fairq .*)$", PAGE, re.MULTILINE)
    assert len(lines) == 6
    box = tmp_path / "mail"
    box.write_text('#!/bin/sh\ncat > "$0.box"\n')
    box.chmod(0o755)
    (tmp_path / "pool.db.toml").write_text(f'[mail]\ncommand = "{box}"\n')
    program = f"{sys.executable} -m fairq"
    for line in lines:
        # cron gives a shell what stands before an unescaped percent sign.
        words = (
            line.replace("\\%", "%")
            .replace("fairq", program, 1)
            .replace("/var/lib/prometheus/node-exporter", str(tmp_path))
            .replace("/var/www/pool", str(tmp_path / "page"))
        )
        done = subprocess.run(
            ["/bin/sh", "-c", words],
            capture_output=True,
            text=True,
            env={**os.environ, "HOME": str(tmp_path), "FAIRQ_STATE": str(tmp_path / "pool.db")},
            check=False,
        )
        assert done.returncode == 0, line
        # A report is there to be mailed.
        assert "report" in line or done.stdout + done.stderr == "", line
    assert (tmp_path / "fairq.prom").read_text().startswith("# HELP")
    assert (tmp_path / "page" / "index.html").read_text().startswith("<!DOCTYPE html>")
