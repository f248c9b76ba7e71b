"""The scenes of ``fairq demo``."""

from __future__ import annotations

from fairq.steps.demo_scene import Demo, scene

_MONDAY = "2026-01-05T"
_NEXT_MONDAY = "2026-01-12T"


SCENES = (
    scene(
        "A lab has two machines with 6 cores each; their 12 cores are the slots of the pool.",
        f"slots add blue --cpus 1 --memory 4096 --count 6 --now {_MONDAY}08:00",
    ),
    scene(
        "The second machine joins the same pool.",
        f"slots add red --cpus 1 --memory 4096 --count 6 --now {_MONDAY}08:00",
    ),
    scene(
        "Bob gets half of Alice's share: double his priority factor.",
        f"userprio -setfactor bob@lab.example 2000 --now {_MONDAY}08:30",
    ),
    scene(
        "Alice queues more jobs than there are slots.",
        f"submit --accounting-group-user alice --count 30 --now {_MONDAY}09:00 -- /bin/sleep 3600",
    ),
    scene(
        "Bob queues just as many.",
        f"submit --accounting-group-user bob --count 30 --now {_MONDAY}09:01 -- /bin/sleep 3600",
    ),
    scene(
        "One cycle, as cron runs it every minute: Alice gets 8 slots, Bob 4.",
        f"negotiate --now {_MONDAY}09:05",
    ),
    scene("Show the jobs: matched ones (M) and idle ones (I).", f"queue --now {_MONDAY}12:00"),
    scene(
        "In the evening, the next cycle charges ten hours of usage. No slot is free, so no job is matched.",
        f"negotiate --now {_MONDAY}19:05",
    ),
    scene(
        "With a half-life of a day, the real priorities approach the number of cores in use: 8 and 4.",
        f"userprio -all -allusers --now {_MONDAY}19:10",
    ),
    scene(
        "Alice's jobs end; her slots become free.",
        f"finish alice@lab.example --at {_MONDAY}20:00 --now {_MONDAY}20:05",
    ),
    scene("Bob's jobs end as well.", f"finish bob@lab.example --at {_MONDAY}20:00 --now {_MONDAY}20:06"),
    scene("Both remove their remaining jobs.", f"remove alice@lab.example bob@lab.example --now {_MONDAY}20:10"),
    scene(
        "After a week without jobs, an idle cycle prints nothing; priorities decay.",
        f"negotiate --now {_NEXT_MONDAY}20:00",
    ),
    scene(
        "After seven half-lives, priorities are almost back to the minimum; the accumulated usage stays.",
        f"userprio -all -allusers --now {_NEXT_MONDAY}20:01",
    ),
    scene(
        "Bob has a deadline: an administrator lowers his factor to a fifth of Alice's.",
        f"userprio -setfactor bob@lab.example 200 --now {_NEXT_MONDAY}20:02",
    ),
    scene(
        "Alice queues jobs again.",
        f"submit --accounting-group-user alice --count 30 --now {_NEXT_MONDAY}20:03 -- /bin/sleep 3600",
    ),
    scene(
        "Bob queues as many.",
        f"submit --accounting-group-user bob --count 30 --now {_NEXT_MONDAY}20:04 -- /bin/sleep 3600",
    ),
    scene("Now Bob gets the larger share.", f"negotiate --now {_NEXT_MONDAY}20:05"),
    scene("Bob leaves the lab: remove his jobs.", f"remove bob@lab.example --now {_NEXT_MONDAY}21:00"),
    scene("Delete his record.", f"userprio -delete bob@lab.example --now {_NEXT_MONDAY}21:01"),
    scene("Only Alice has a record now.", f"userprio -allusers --now {_NEXT_MONDAY}21:02"),
    scene(
        "The history records every change, and the command that made it.",
        "state history --limit 4 --af Subject Command",
    ),
)
"""A day of a small pool, and a day a week later. Times are local."""

SETTINGS = '[accounting]\nuid_domain = "lab.example"\n'
"""The settings file of the scratch pool."""

DEMO = Demo(SCENES, "queue", SETTINGS)
