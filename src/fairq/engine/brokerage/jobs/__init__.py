"""What one job of a task needs: its smallest size, memory, scratch disk, walltime; and the tasks themselves."""
