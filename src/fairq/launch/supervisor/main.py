"""The warm process: reads runs from stdin, forks a supervisor for each, and answers on stdout how each began.

Each run and each answer is one line of JSON. The process ends at the end of its input; the supervisors continue.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal

from fairq.launch import processes
from fairq.launch.supervisor import cgroup
from fairq.launch.supervisor.watch import supervise, tell

_CHUNK = 65536


def main() -> None:
    """Serve until stdin is closed and every run has begun."""
    _warm_up()
    # The parent may have ignored signals, as nohup does; each supervisor sets its own ignored signals.
    for signal_number in signal.valid_signals():
        if signal.getsignal(signal_number) is signal.SIG_IGN:
            signal.signal(signal_number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.disable()
    gc.freeze()
    partial_line = b""
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    open_answers: set[int] = set()
    is_open = True
    while is_open or open_answers:
        for descriptor, _ in poll.poll():
            text = os.read(descriptor, _CHUNK)
            if descriptor != 0:
                if text:
                    forward(text)
                    continue
                poll.unregister(descriptor)
                os.close(descriptor)
                open_answers.discard(descriptor)
            elif text:
                *lines, partial_line = (partial_line + text).split(b"\n")
                for line in lines:
                    answers = _fork(line, open_answers)
                    poll.register(answers, select.POLLIN | select.POLLHUP)
                    open_answers.add(answers)
            else:
                poll.unregister(0)
                is_open = False


def _warm_up() -> None:
    """Load modules that every supervisor needs, such as file codecs, before the first fork."""
    processes.start_of(os.getpid())
    processes.boot_id()
    json.loads(json.dumps({"warm": [1, 0.5, None, "x"]}))
    cgroup.base("none")


def forward(text: bytes) -> None:
    """Write an answer to stdout, whose reader may be gone."""
    with contextlib.suppress(OSError):
        os.write(1, text)


def _fork(line: bytes, inherited: set[int]) -> int:
    """Fork the supervisor of one run; return the descriptor to read its answer from."""
    reader, writer = os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        tell(writer, {"run": json.loads(line)["run"], "failed": f"fork: {error.strerror}"})
        os.close(writer)
        return reader
    if child == 0:
        os.close(reader)
        for descriptor in inherited:
            os.close(descriptor)
        supervise(json.loads(line), writer)
    os.close(writer)
    return reader


if __name__ == "__main__":
    main()
