"""The columns of what the brokerage imports and stores: every kind of record is described once for all layers."""
