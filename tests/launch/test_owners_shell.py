"""``fairq shell`` in a pool of a host, where jobs run as their owners; see test_owners.py."""

import subprocess

import pytest
from tests.host.verb.host import PYTHON, missing
from tests.launch.owners_host import ANN, BOB, as_user, emptied, owners_host

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing() or "-")


@pytest.fixture
def host():
    with owners_host() as made, emptied(made):
        yield made


_COMMAND = """
import os, sys
sys.path.insert(0, sys.argv[1])
from fairq.launch.supervisor.terminal import listen, take
address, listener = listen()
print(address, flush=True)
while (master := take(listener, bytes(8))) is None:
    pass
os.write(master, b"id -un; tty; ls -l $(tty); exit 4\\n")
try:
    while text := os.read(master, 4096):
        sys.stdout.buffer.write(text)
except OSError:
    pass
"""
"""What ``fairq shell`` does for a user, without a terminal of its own."""


def test_a_shell_runs_as_its_owner_on_a_terminal_of_the_owner(host):
    def waiting(user):
        words = [PYTHON, "-c", _COMMAND, f"{host.directory}/lib"]
        command = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **as_user(user))
        assert command.stdout is not None
        return command, command.stdout.readline().strip()

    command, address = waiting(ANN)
    shell_job = host.submit(ANN, "exec sh", InteractiveJob=True, TerminalAddress=address)
    assert host.ended(shell_job).ended["exit_code"] == 4
    shown = command.communicate()[0]
    assert f"{ANN}\n/dev/pts/" in shown.replace("\r", "")  # a prompt may stand before the name
    assert f"{ANN} " in shown.partition("/dev/pts/")[2]

    of_ann, address = waiting(ANN)
    stolen = host.submit(BOB, "exec sh", InteractiveJob=True, TerminalAddress=address)
    host.ended(stolen)
    assert host.job(stolen) is None, "a job connects to a command of its owner only"
    assert of_ann.poll() is None
    of_ann.kill()
    of_ann.communicate()
    gone = host.submit(ANN, "exec sh", InteractiveJob=True, TerminalAddress=address)
    host.turn()
    assert (host.job(gone), host.launch(gone)) == (None, None)
