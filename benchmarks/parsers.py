"""Time JSON parsers on the ads of a pool, and fairq's reading of them: ``python -m benchmarks.parsers``.

orjson and msgspec are measured if they are installed.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import pools

from fairq.formats.jobs import read_jobs
from fairq.formats.slots import read_slots
from fairq.formats.source import opened

POOL = "b100000-100000-100"
"""Every slot has its own Memory and Disk; the jobs are in 20,000 clusters."""


def one_by_one(text: str) -> None:
    decode = json.JSONDecoder().raw_decode
    index = text.index("{")
    while index > 0:
        _, end = decode(text, index)
        index = text.find("{", end)


def parsers() -> dict[str, Callable[[str], Any]]:
    decoders: dict[str, Callable[[str], Any]] = {"json, ad by ad": one_by_one, "json": json.loads}
    for name, function in (("orjson", "loads"), ("msgspec.json", "decode")):
        try:
            decode = getattr(import_module(name), function)
        except ImportError:
            continue
        # They refuse text with surrogates, so they get bytes.
        decoders[name] = lambda text, decode=decode: decode(text.encode())
    return decoders


def seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def read(path: Path) -> None:
    with opened(str(path)) as source:
        if path.stem == "slots":
            read_slots(source)
        else:
            read_jobs(source, lambda ad: f"{ad['Owner']}@test", pools.NOW)


def measure(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    size = len(text) / 1e6
    print(f"{path.stem}: {size:.0f} MB")
    readers = {name: partial(decode, text) for name, decode in parsers().items()}
    for name, work in (readers | {"fairq, read and checked": partial(read, path)}).items():
        print(f"  {name:24} {size / seconds(work):6.0f} MB/s")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        pools.make(POOL).write(Path(folder))
        for name in ("slots", "jobs"):
            measure(Path(folder, f"{name}.json"))


if __name__ == "__main__":
    main()
