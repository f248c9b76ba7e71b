"""What fairq decides on many pools, grids and queues as hashes, and what `why` answers as text, before a rebuilding."""
