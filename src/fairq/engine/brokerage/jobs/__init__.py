"""The needs of one job of a task (smallest size, memory, scratch disk, walltime), and the tasks themselves."""
