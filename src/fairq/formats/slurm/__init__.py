"""The output of Slurm's commands: nodes, jobs, accounts, usage and records."""
