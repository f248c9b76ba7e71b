"""Launchers, which run jobs: one module each, behind the interface in `fairq.launch.interface`.

A launcher knows runs and processes; it does not know the state, the queue or the engine. The entry point
``fairq.launchers`` registers launchers. This module imports nothing: the supervisors of jobs import this package.
"""
