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

_AT_ONCE = 65536


def main() -> None:
    """Serve until stdin is closed and every run has begun."""
    _warm_up()
    # The parent may have ignored signals, as nohup does; each supervisor sets its own ignored signals.
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.disable()
    gc.freeze()
    waiting = b""
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    open_reports: set[int] = set()
    is_open = True
    while is_open or open_reports:
        for descriptor, _ in poll.poll():
            text = os.read(descriptor, _AT_ONCE)
            if descriptor != 0:
                if text:
                    tell_on(text)
                    continue
                poll.unregister(descriptor)
                os.close(descriptor)
                open_reports.discard(descriptor)
            elif text:
                *lines, waiting = (waiting + text).split(b"\n")
                for line in lines:
                    report = _fork(line, open_reports)
                    poll.register(report, select.POLLIN | select.POLLHUP)
                    open_reports.add(report)
            else:
                poll.unregister(0)
                is_open = False


def _warm_up() -> None:
    """Do once what every supervisor does, to load modules such as file codecs before the first fork."""
    processes.start_of(os.getpid())
    processes.boot_id()
    json.loads(json.dumps({"warm": [1, 0.5, None, "x"]}))
    cgroup.base("none")


def tell_on(text: bytes) -> None:
    """Pass an answer on; the reader may be gone."""
    with contextlib.suppress(OSError):
        os.write(1, text)


def _fork(line: bytes, others: set[int]) -> int:
    """Fork the supervisor of one run; return the descriptor to read its answer from."""
    hear, say = os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        tell(say, {"run": json.loads(line)["run"], "failed": f"fork: {error.strerror}"})
        os.close(say)
        return hear
    if child == 0:
        os.close(hear)
        for descriptor in others:
            os.close(descriptor)
        supervise(json.loads(line), say)
    os.close(say)
    return hear


if __name__ == "__main__":
    main()
