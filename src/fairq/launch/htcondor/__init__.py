"""The launcher ``htcondor``: jobs go through the schedd of an HTCondor pool, which matches and runs them."""
