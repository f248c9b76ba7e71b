"""The worked example: what ``fairq demo`` plays, scene by scene."""

from __future__ import annotations

from typing import NamedTuple


class Scene(NamedTuple):
    """What a scene shows, and the command line (without ``fairq``) that shows it."""

    told: str
    words: tuple[str, ...]


_MONDAY = "2026-01-05T"
_NEXT_MONDAY = "2026-01-12T"


def _scene(told: str, words: str) -> Scene:
    return Scene(told, tuple(words.split()))


SCENES = (
    _scene(
        "A lab has two machines; their 12 cores are the slots of the pool.",
        f"slots add blue --cpus 1 --memory 4096 --count 6 --now {_MONDAY}08:00",
    ),
    _scene(
        "They count as one pool, whatever they are called.",
        f"slots add red --cpus 1 --memory 4096 --count 6 --now {_MONDAY}08:00",
    ),
    _scene(
        "Bob is to get half of what Alice gets: his priority factor is doubled.",
        f"userprio -setfactor bob@lab.example 2000 --now {_MONDAY}08:30",
    ),
    _scene(
        "Both queue more jobs than there are slots.",
        f"submit --accounting-group-user alice --count 30 --now {_MONDAY}09:00 -- /bin/sleep 3600",
    ),
    _scene(
        "Bob's are as many.",
        f"submit --accounting-group-user bob --count 30 --now {_MONDAY}09:01 -- /bin/sleep 3600",
    ),
    _scene(
        "One cycle, as cron runs it every minute: Alice gets 8 slots, Bob 4.",
        f"negotiate --now {_MONDAY}09:05",
    ),
    _scene("What runs, and what waits.", f"queue --now {_MONDAY}12:00"),
    _scene(
        "In the evening the next cycle charges ten hours of use. No slot is free, so nothing is matched.",
        f"negotiate --now {_MONDAY}19:05",
    ),
    _scene(
        "The real priorities have begun to follow the use: 8 and 4 cores, with a half-life of a day.",
        f"userprio -all -allusers --now {_MONDAY}19:10",
    ),
    _scene(
        "Alice's jobs come to an end; her slots are free again.",
        f"finish alice@lab.example --at {_MONDAY}20:00 --now {_MONDAY}20:05",
    ),
    _scene("So do Bob's.", f"finish bob@lab.example --at {_MONDAY}20:00 --now {_MONDAY}20:06"),
    _scene("They give up the rest of their work.", f"remove alice@lab.example bob@lab.example --now {_MONDAY}20:10"),
    _scene(
        "A week without a job: the cycle has nothing to match and says nothing, and priorities decay.",
        f"negotiate --now {_NEXT_MONDAY}20:00",
    ),
    _scene(
        "Seven half-lives on, both are almost as good as new; what they used in all stays on record.",
        f"userprio -all -allusers --now {_NEXT_MONDAY}20:01",
    ),
    _scene(
        "Bob has a paper to finish: his factor goes down to a fifth of Alice's.",
        f"userprio -setfactor bob@lab.example 200 --now {_NEXT_MONDAY}20:02",
    ),
    _scene(
        "Alice queues again,",
        f"submit --accounting-group-user alice --count 30 --now {_NEXT_MONDAY}20:03 -- /bin/sleep 3600",
    ),
    _scene(
        "and so does Bob,",
        f"submit --accounting-group-user bob --count 30 --now {_NEXT_MONDAY}20:04 -- /bin/sleep 3600",
    ),
    _scene("who now gets the larger part.", f"negotiate --now {_NEXT_MONDAY}20:05"),
    _scene("Bob's jobs end, and he leaves the lab:", f"remove bob@lab.example --now {_NEXT_MONDAY}21:00"),
    _scene("his record is deleted,", f"userprio -delete bob@lab.example --now {_NEXT_MONDAY}21:01"),
    _scene("and Alice is the only one left.", f"userprio -allusers --now {_NEXT_MONDAY}21:02"),
    _scene(
        "Every change is on record: when, by whom, of what, by which command, and what stood there before.",
        "state history --limit 4 --af Time User Subject",
    ),
)
"""A day of a small pool, and a day a week later. Times are local."""

SETTINGS = '[accounting]\nuid_domain = "lab.example"\n'
"""The settings file of the scratch pool."""
