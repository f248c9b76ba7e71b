"""The part of a host's pool that runs as root: it starts decided runs as the owners of their jobs.

It takes no argument, no input and no variable from its caller. A helper with the rights of the pool's account reads
the state and describes the decided runs; root checks every field, and the owner's account, before it forks a
supervisor. It uses the standard library only, because supervisors are forked from it. docs/pool.md gives the reasons.
"""
