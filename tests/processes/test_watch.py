"""``--watch`` on a real terminal: it draws in place, and q gives the terminal back as it was."""

import os
import pty
import re
import select
import signal
import sys
import termios
import time

OTHER_SCREEN, BACK = "\x1b[?1049h", "\x1b[?1049l"


def on_terminal(words, keys):
    """Run fairq on a terminal, press or send *keys* once it waits; return exit code, output, whether there is echo."""
    command, terminal = pty.openpty()
    process = os.fork()
    if not process:
        os.login_tty(terminal)
        os.environ.update(TERM="xterm", COLUMNS="80", LINES="24")
        os.execv(sys.executable, [sys.executable, "-m", "fairq", *words])
    output, pressed = b"", False
    end = time.monotonic() + 30
    while time.monotonic() < end and not os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        if select.select([command], [], [], 0.2)[0]:
            output += os.read(command, 65536)
        elif b"q ends" in output and not pressed:
            os.kill(process, keys) if isinstance(keys, signal.Signals) else os.write(command, keys)
            pressed = True
    while select.select([command], [], [], 0)[0]:
        output += os.read(command, 65536)
    if time.monotonic() >= end:
        os.kill(process, signal.SIGKILL)
    echo = bool(termios.tcgetattr(terminal)[3] & termios.ECHO)
    os.close(terminal)
    os.close(command)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), output.decode(), echo


def test_a_watched_command_draws_in_place_until_q(run, state):
    assert run("--state", state, "slots", "add", "node").code == 0
    code, output, echo = on_terminal(["--state", str(state), "status", "--watch", "60"], b"q")
    assert (code, echo) == (0, True)
    assert output.startswith(OTHER_SCREEN)
    assert output.endswith(BACK)
    assert "fairq status, every 1m; q ends" in output
    assert "none; 'fairq negotiate' holds one" in output


def test_the_watched_queue_shows_18_jobs_and_their_number_on_a_terminal_of_80_by_24(run, state):
    for number in range(25):
        words = ["submit", "--accounting-group-user", f"user{number}", "--", "/bin/sleep", str(number)]
        assert run("--state", state, *words).code == 0
    _, output, _ = on_terminal(["--state", str(state), "queue", "--watch", "60"], b"q")
    lines = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", output).replace("\r", "").split("\n")

    assert len(lines) == 24
    assert max(map(len, lines)) <= 80
    assert [line.split(".")[0] for line in lines[3:21]] == [str(cluster) for cluster in range(1, 19)]
    assert lines[-2:] == ["... 7 more lines", "25 jobs; 25 idle"]


def test_a_watched_command_that_is_ended_by_a_signal_gives_the_terminal_back(state):
    code, output, echo = on_terminal(["--state", str(state), "status", "--watch", "60"], signal.SIGTERM)
    assert (code, echo) == (-signal.SIGTERM, True)
    assert output.startswith(OTHER_SCREEN)
    assert output.endswith(BACK)


def test_a_watched_command_that_is_stopped_gives_the_terminal_back_until_it_goes_on(state):
    shell, terminal = pty.openpty()
    process = os.fork()
    if not process:
        os.login_tty(terminal)
        os.environ.update(TERM="xterm", COLUMNS="80", LINES="24", PS1="", HISTFILE="")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])

    def shown(until):
        output, end = "", time.monotonic() + 30
        while until not in output and time.monotonic() < end:
            if select.select([shell], [], [], 0.2)[0]:
                output += os.read(shell, 65536).decode()
        assert until in output
        return output

    os.write(shell, f"{sys.executable} -m fairq --state {state} status --watch 60\n".encode())
    shown("q ends")
    os.write(shell, b"\x1a")  # Ctrl-Z
    assert BACK in shown("Stopped")
    os.write(shell, b"fg\n")
    again = shown("q ends")
    assert OTHER_SCREEN in again
    os.write(shell, b"q")
    shown(BACK)
    os.write(shell, b"exit\n")
    os.close(shell)
    os.close(terminal)
    assert os.waitpid(process, 0)[0] == process
