"""The unit of work that `check` measures beside each command: a bit of everything that fairq does, in pure Python.

A loop over numbers would not suffice: another processor may run it twice as fast, but start a program, create objects
and write a database only a little faster. So the unit is a separate process that does a bit of each.
"""

from __future__ import annotations

import argparse
import decimal
import email.message
import json
import random
import sqlite3
import typing
from collections import defaultdict

_RECORDS = 5_000

Record = dict[str, typing.Any]


def records(draw: random.Random) -> list[Record]:
    """Draw records like the ads of slots."""
    return [
        {
            "Name": f"slot{number}@host{number % 97}.example.org",
            "Memory": 1024 * draw.randrange(1, 65),
            "LoadAvg": draw.random(),
            "State": "Unclaimed" if number % 3 else "Claimed",
        }
        for number in range(_RECORDS)
    ]


def stored(ads: list[Record]) -> int:
    """Write records to a database, read them in another order, and return how many kinds there are."""
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE slot (name TEXT PRIMARY KEY, memory INTEGER, ad TEXT NOT NULL)")
    database.execute("CREATE INDEX by_memory ON slot (memory)")
    rows = [(ad["Name"], ad["Memory"], json.dumps(ad)) for ad in ads]
    database.executemany("INSERT INTO slot VALUES (?, ?, ?)", rows)
    kinds: dict[tuple[int, str], list[str]] = defaultdict(list)
    for name, memory, text in database.execute("SELECT name, memory, ad FROM slot ORDER BY memory, name"):
        kinds[memory, json.loads(text)["State"]].append(name)
    best = sorted(kinds.items(), key=lambda kind: (-len(kind[1]), kind[0]))
    return sum(rank * len(names) for rank, (_, names) in enumerate(best))


def main() -> None:
    """Do the work; nothing depends on its result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sum", type=decimal.Decimal)
    parser.parse_args([])
    email.message.Message()
    stored(records(random.Random(20_261_123)))


if __name__ == "__main__":
    main()
