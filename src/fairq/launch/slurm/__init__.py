"""The launcher ``slurm``: a run is a batch job, pinned to the node that fairq chose.

A supervisor, the same as on this machine, runs each job on its node and writes its end into the run's directory, which
the nodes share. Slurm's own record of the job says what is charged.
"""
