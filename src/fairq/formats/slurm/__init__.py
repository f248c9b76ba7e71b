"""What Slurm's commands print: nodes, jobs, accounts, usage and records."""
