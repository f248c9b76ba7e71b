"""A separate host for tests: this machine with its own /etc, /home and /var/lib, and its own processes.

Users of other tests may have the same numbers: without processes of its own, they would end each other's jobs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_MAKE = """
set -e
mount -t tmpfs tmpfs /mnt
cp -a /etc /mnt/etc
rm -rf /mnt/etc/sudoers.d/fq* /mnt/etc/sudoers.d/fairq /mnt/etc/cron.d/fairq /mnt/etc/xdg/fairq
mount --bind /mnt/etc /etc
mkdir /mnt/up /mnt/work
mount -t overlay -o lowerdir=/usr/lib,upperdir=/mnt/up,workdir=/mnt/work overlay /usr/lib
for place in /home /var/lib /usr/local/bin; do mount -t tmpfs -o mode=755 tmpfs $place; done
mkdir /var/lib/sudo
echo ready
exec sleep 1000000
"""


def missing() -> str:
    """Return why such a host cannot be created, or the empty text."""
    if os.getuid() != 0 or not os.environ.get("FAIRQ_TEST_SUDO"):
        return "needs root, and FAIRQ_TEST_SUDO to be set: it makes users and a rule of sudo"
    if not all(map(shutil.which, ("sudo", "visudo", "useradd", "unshare", "nsenter"))):
        return "needs sudo, useradd, unshare and nsenter"
    python = f"/usr/bin/python3.{sys.version_info.minor}"
    return "" if shutil.which(python) else f"needs {python}"


class World:
    """The host; *process* has its namespaces."""

    def __init__(self, process: int) -> None:
        self._inside = ["nsenter", f"--target={process}", "--mount", "--pid", "--"]

    def run(self, *words: object, user: str = "root", stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a program as *user*, in a login's environment."""
        become = [] if user == "root" else ["runuser", "-u", user, "--"]
        environment = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        if user != "root":
            environment["HOME"] = f"/home/{user}"
        return subprocess.run(
            [*self._inside, *become, *map(str, words)], input=stdin, capture_output=True, text=True, check=False,
            timeout=300, env=environment, cwd="/",
        )  # fmt: skip

    def shell(self, script: str, user: str = "root") -> str:
        """Return the output of the shell *script*, which must succeed."""
        ended = self.run("sh", "-ec", script, user=user)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def python(self, program: str, *words: str) -> Any:
        """Return the JSON that *program* prints, run by the system's Python as root."""
        ended = self.run("/usr/bin/python3", "-I", "-c", program, *words)
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    def create(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run ``fairq pool create`` of the fairq under test, whose directory only root may read."""
        return self.run(sys.executable, "-m", "fairq", "pool", "create", *words)


@contextmanager
def world() -> Iterator[World]:
    """Create the host; end it afterwards."""
    words = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"]
    with subprocess.Popen([*words, "sh", "-c", _MAKE], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield World(int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()))
        finally:
            process.kill()
