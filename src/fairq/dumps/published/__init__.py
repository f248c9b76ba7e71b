"""The forms in which CRIC, Rucio and the network's monitoring publish a grid, read as records of the brokerage."""
