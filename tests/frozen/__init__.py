"""Hashes of what fairq decides on many pools, grids and queues: they prove that a rebuilding changes no decision."""
