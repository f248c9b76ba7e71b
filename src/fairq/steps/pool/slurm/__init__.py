"""A Slurm site as a pool: its nodes, jobs, accounts and usage in HTCondor's terms (docs/slurm-site.md)."""
