"""The data of the pool: queues as CRIC publishes them, their flags, shares, pilots and job counts."""
