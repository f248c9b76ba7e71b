"""What one job of a task will need: the smallest job, memory, scratch disk, walltime (docs/panda.md, Estimates)."""
