"""The clock of runs: seconds since 1970 for people, seconds since boot for charges."""

from __future__ import annotations

import time
from functools import cached_property

from msgspec import Struct

from fairq.common.records import Launch
from fairq.launch import processes

_SAME = 5.0
"""Maximum difference in seconds between a command's time and the machine's clock for which the clock is used."""


class Clock(Struct, frozen=True, dict=True):
    """A moment: *now* in whole seconds since 1970, as *boottime* seconds after the *boot* of that name."""

    now: int
    boottime: float
    boot: str

    @classmethod
    def at(cls, now: int) -> Clock:
        """Return the clock of a command whose time is *now*, whatever the machine's clock says."""
        boottime = time.clock_gettime(time.CLOCK_BOOTTIME)
        seconds_since = time.time() - now
        # A command's time is a whole second: shift boottime to it, so that ends are cut to the same seconds.
        return cls(now, boottime - seconds_since if 0 <= seconds_since < _SAME else boottime, processes.boot_id())

    def note_reboot(self, launch: Launch, boot: str) -> None:
        """Compute from the clock the seconds since the match of a run that begins after another *boot*."""
        if boot != launch.boot:
            launch.boot, launch.boottime = boot, self.boottime - (self.now - launch.intended)

    def end_of(self, launch: Launch, ended_boottime: float | None = None, boot: str | None = None) -> int:
        """Return the end of a run, in seconds since 1970, whatever jumps the machine's clock has made.

        Without *ended_boottime* (of that *boot*), it is this moment; after a reboot, it is the boot, which ends every
        run.
        """
        if ended_boottime is not None and boot == launch.boot:
            return launch.intended + max(0, int(ended_boottime - launch.boottime))
        if launch.boot == self.boot:
            return launch.intended + max(0, int(self.boottime - launch.boottime))
        return max(launch.intended, min(self.now, self._booted))

    @cached_property
    def _booted(self) -> int:
        return processes.boot_time()
