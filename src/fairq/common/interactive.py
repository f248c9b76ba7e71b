"""The attributes of a job that runs on a terminal."""

from __future__ import annotations

INTERACTIVE = "InteractiveJob"
"""True for such a job."""

TERMINAL = "TerminalAddress"
"""Where the command listens that waits for the job (`fairq.launch.supervisor.terminal`)."""
