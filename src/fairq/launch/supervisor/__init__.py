"""The processes that watch over runs on this machine: one small supervisor per run, forked from one warm process.

They run as ``python -I -S`` and import only the standard library, before the first fork. An upgrade of fairq or a
full disk therefore does not affect running supervisors. They do not import dataclasses or pathlib, which would double
their memory.
"""
