"""The processes that watch over runs on this machine: one small supervisor for each, forked from one warm process.

They run as ``python -I -S`` and import the standard library only, all of it before the first fork: an upgrade of
fairq, or a full disk, does not matter to those that are running. They import neither dataclasses nor pathlib, which
would double their memory.
"""
