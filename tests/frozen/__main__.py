"""``python -m tests.frozen [--record] [--count N] [FAMILY...]``: hold all decisions against those recorded.

Prints each case that decides otherwise, and exits with 1 if there is any. ``--count`` bounds the random cases of each
family; with ``--record``, what is decided now is what is held against later.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.frozen.families import FAMILIES

RECORDED = Path(__file__).parent / "decisions.json.gz"


AT_ONCE = 20
"""Number of seeds that one process decides before it gets others."""


def hashes(family: str, seeds: range) -> dict[str, str]:
    """Return a hash of what is decided for each case of *family* with these *seeds*."""
    return {name: hashlib.sha256(text.encode()).hexdigest()[:16] for name, text in FAMILIES[family][0](seeds)}


def main(words: list[str]) -> int:
    """Compare or record; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--count", type=int, default=sys.maxsize)
    parser.add_argument("families", nargs="*", choices=[[], *FAMILIES], metavar="FAMILY")
    chosen = parser.parse_args(words)
    families = chosen.families or list(FAMILIES)
    pieces = [
        (family, range(first, min(first + AT_ONCE, number)))
        for family in families
        for number in [min(FAMILIES[family][1], chosen.count)]
        for first in range(0, number, AT_ONCE)
    ]
    with ProcessPoolExecutor() as processes:
        found = {
            name: value for piece in processes.map(hashes, *zip(*pieces, strict=True)) for name, value in piece.items()
        }
    recorded = json.loads(gzip.decompress(RECORDED.read_bytes())) if RECORDED.exists() else {}
    if chosen.record:
        text = json.dumps({**recorded, **found}, indent=0).encode()
        RECORDED.write_bytes(gzip.compress(text, mtime=0))
        sys.stdout.write(f"{len(found)} decisions recorded\n")
        return 0
    differing = [name for name, value in found.items() if recorded.get(name) != value]
    sys.stdout.write("".join(f"{name} decides otherwise\n" for name in differing))
    sys.stdout.write(f"{len(found)} decisions, {len(differing)} differ\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
