"""One cycle of the real negotiator beside one of fairq on many random pools (`mixed_pools`).

    python -m tests.engines.explore FOLDER FIRST COUNT

The seeds that differ are printed, each with its first difference, and how many do not. What the real negotiator decided
is kept in FOLDER, with the logs: the same seeds are faster in another run.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import msgspec
from tests.engines.ad_pool import AdPool, Held, hold
from tests.engines.beside import decided
from tests.engines.htcondor_pool import missing
from tests.engines.mixed_pools import drawn

_LOGGED = {"NEGOTIATOR_DEBUG": "D_MATCH D_FULLDEBUG", "SCHEDD_DEBUG": "D_MATCH D_FULLDEBUG"}


def explore(folder: Path, seeds: range) -> int:
    """Compare the pools of *seeds*; return how many are decided alike."""
    same = 0
    for seed in seeds:
        made, place = drawn(seed), folder / str(seed)
        place.mkdir(parents=True, exist_ok=True)
        held = _held(made, place / "held.json")
        found, real = decided(made, held, place), (held.matches, held.rejections)
        same += found == real
        for kind, ours, theirs in zip(("match", "rejection"), found, real, strict=True):
            longest = max(len(ours), len(theirs))
            differs = (at for at in range(longest) if ours[at : at + 1] != theirs[at : at + 1])
            if (at := next(differs, None)) is not None:
                told = f"fairq {ours[at : at + 1]}, HTCondor {theirs[at : at + 1]}"
                print(f"{seed}: {kind} {at}: {told}", flush=True)
    return same


def _held(made: AdPool, place: Path) -> Held:
    """What the real negotiator decided, now unless *place* has it."""
    if not place.exists():
        logged = AdPool(_LOGGED | dict(made.macros), made.slots, made.submits, made.accounts)
        with tempfile.TemporaryDirectory(prefix="fairq-ads-", dir="/tmp", ignore_cleanup_errors=True) as name:
            Path(name).chmod(0o755)
            held = hold(logged, Path(name) / "htcondor")
        place.write_bytes(msgspec.json.encode(held))
        for daemon, log in held.logs.items():
            place.with_name(f"{daemon}.log").write_text(log)
    return msgspec.json.decode(place.read_bytes(), type=Held)


if __name__ == "__main__":
    _first, _count = map(int, sys.argv[2:])
    if reason := missing():
        sys.exit(reason)
    print(f"{explore(Path(sys.argv[1]), range(_first, _first + _count))} of {_count} are the same")
