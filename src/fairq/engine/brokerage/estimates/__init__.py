"""What one job of a task will need: the smallest job, memory, scratch disk, walltime (reference panda 2)."""
