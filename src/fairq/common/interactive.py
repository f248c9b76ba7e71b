"""The attributes of a job that runs on a terminal."""

from __future__ import annotations

INTERACTIVE = "InteractiveJob"
"""True for an interactive job."""

TERMINAL = "TerminalAddress"
"""The address on which the command that waits for the job listens (`fairq.launch.supervisor.terminal`)."""
