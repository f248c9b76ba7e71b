"""The rule points: where a scheme's texts and its program differ. One table per scheme: `htcondor`, `dirac`, `panda`.

Only these tables hold a point's name, its value under both sets of rules, its meaning, and the statements of text and
program. The settings, ``config show``, the manual, `docs/differences.md` and the engine's policies come from them.
"""
