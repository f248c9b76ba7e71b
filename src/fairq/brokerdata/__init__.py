"""What the brokerage's data look like: every kind of record with its columns, told once for all layers."""
