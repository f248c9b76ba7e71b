"""The forms in which CRIC, Rucio and the network monitoring describe a grid, read as records of the brokerage."""
