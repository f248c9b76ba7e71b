"""The rule points: where a scheme's texts and its program differ. One table per scheme: `htcondor`, `dirac`, `panda`.

A point's name, its value under both sets of rules, its meaning, and what text and program say of it stand there and
nowhere else. The settings, ``config show``, the manual, `docs/differences.md` and the engine's policies come from them.
"""
